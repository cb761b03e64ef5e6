//! The files to import: those named on the command line, and those in named folders.

use std::path::{Path, PathBuf};
use std::{fs, io};

use context_runtime::transcript::FileText;

use super::FileName;
use crate::input;
use crate::sessions::SessionInput;

/// The file extensions of transcripts.
const ENDINGS: [&str; 4] = ["json", "jsonl", "ndjson", "traj"];
/// The file extension of databases. Files of many kinds have it.
const DATABASE: &str = "db";
/// Folders whose files repeat or complete those of sessions, if these folders are beside them.
const PARTS: [(&str, &[&str]); 3] = [
    ("message", &["session", "part"]),
    ("part", &["session", "message"]),
    ("event_cache", &["events"]),
];

/// A file to read, or files that are one session.
pub(in crate::commands) struct ImportFile {
    /// The file, or the folder of the files.
    pub(in crate::commands) path: PathBuf,
    /// The default chat name of a file in a named folder: its path within the folder, without
    /// extension.
    pub(in crate::commands) name: Option<String>,
    /// The file, its session, or the files that are read.
    pub(in crate::commands) input: SessionInput,
}

impl ImportFile {
    /// Returns the name that messages show.
    pub(in crate::commands) fn shown(&self) -> String {
        let file = FileName::of(&self.path).shown;
        match self.input.session() {
            Some(session) => format!("{file} ({session})"),
            None => file,
        }
    }

    /// Returns the name of the file's chat, or the start of its chats' names, which may be given.
    pub(in crate::commands) fn chat_name(&self, given: Option<&str>, text: &FileText) -> String {
        let name = given.map(str::to_owned).or_else(|| self.name.clone());
        match self.input.session() {
            Some(session) => {
                let stem = || self.path.file_stem().unwrap_or_default().to_string_lossy();
                format!("{}/{session}", name.unwrap_or_else(|| stem().into_owned()))
            }
            None => name.unwrap_or_else(|| input::stem(text)),
        }
    }
}

/// The files to read, and those that are skipped.
#[derive(Default)]
pub(in crate::commands) struct Walk {
    pub(in crate::commands) files: Vec<ImportFile>,
    /// Files in folders whose names are not those of transcripts.
    pub(in crate::commands) skipped: Vec<PathBuf>,
    /// Folders that cannot be read.
    pub(in crate::commands) failed: Vec<(PathBuf, io::Error)>,
}

impl Walk {
    /// Finds the files. Folders are walked in name order, files before subfolders. Hidden entries,
    /// links to folders (which could form a cycle), and entries that are neither files nor folders
    /// are skipped. A folder of the events of a conversation is one session, with the name of the
    /// folder around it.
    pub(in crate::commands) fn of(named: &[PathBuf]) -> Self {
        let mut walk = Self::default();
        for path in named {
            match path.is_dir() {
                true => walk.folder(path),
                false => walk.file(path.clone(), None),
            }
        }
        walk
    }

    fn file(&mut self, path: PathBuf, name: Option<String>) {
        let may_have_several =
            name.is_none() || path.extension().is_some_and(|ending| ending == DATABASE);
        let inputs = match may_have_several {
            true => SessionInput::all_of_file(&path),
            false => vec![SessionInput::of_file(&path)],
        };
        let file = |input| ImportFile { path: path.clone(), name: name.clone(), input };
        self.files.extend(inputs.into_iter().map(file));
    }

    fn folder(&mut self, root: &Path) {
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            if let Some(input) = SessionInput::of_folder(&folder) {
                let around = folder.parent().unwrap_or(&folder);
                let name = match around.strip_prefix(root) {
                    Ok(inside) if !inside.as_os_str().is_empty() => name_of(inside),
                    _ => name_of(Path::new(around.file_name().unwrap_or_default())),
                };
                self.files.push(ImportFile { path: folder, name: Some(name), input });
                continue;
            }
            let entries =
                match fs::read_dir(&folder).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
                    Ok(entries) => entries,
                    Err(error) => {
                        self.failed.push((folder, error));
                        continue;
                    }
                };
            let mut paths: Vec<_> = entries.iter().map(fs::DirEntry::path).collect();
            paths.sort();
            let mut deeper = Vec::new();
            for path in paths {
                let hidden =
                    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
                let is_folder = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
                let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
                let known = ending.is_some_and(|ending| match ending.as_str() {
                    DATABASE => SessionInput::is_database(&path),
                    ending => ENDINGS.contains(&ending),
                });
                match () {
                    () if hidden => self.skipped.push(path),
                    () if is_folder && is_part(&path) => {}
                    () if is_folder => deeper.push(path),
                    // A file or a link to one. If it cannot be inspected, reading it reports why.
                    () if known
                        && fs::metadata(&path).map_or(true, |metadata| metadata.is_file()) =>
                    {
                        let name = path.strip_prefix(root).unwrap_or(&path).with_extension("");
                        self.file(path, Some(name_of(&name)));
                    }
                    () => self.skipped.push(path),
                }
            }
            folders.extend(deeper.into_iter().rev());
        }
    }
}

/// Returns a path as a chat name.
fn name_of(path: &Path) -> String {
    let parts = path.components().map(|part| part.as_os_str().to_string_lossy());
    parts.collect::<Vec<_>>().join("/")
}

/// Returns whether the files of a folder are read with those of the folder beside it, if at all.
fn is_part(folder: &Path) -> bool {
    let has = |beside: &&str| folder.parent().is_some_and(|around| around.join(beside).is_dir());
    PARTS.iter().any(|(part, beside)| folder.ends_with(part) && beside.iter().all(has))
}
