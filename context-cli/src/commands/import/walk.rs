//! The files to import: those named on the command line, and those in named folders.

use std::path::{Path, PathBuf};
use std::{fs, io};

use context_runtime::transcript::FileText;

use super::{FileName, patterns};
use crate::error::Failure;
use crate::sessions::SessionInput;
use crate::{input, missing};

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
    /// Entries of folders that are not transcripts by their names or kinds, with the reason.
    pub(in crate::commands) skipped: Vec<(PathBuf, &'static str)>,
    /// Files, folders and patterns that cannot be read.
    pub(in crate::commands) failed: Vec<(PathBuf, Failure)>,
}

impl Walk {
    /// Finds the files. Folders are walked in name order, files before subfolders. Hidden entries,
    /// links to folders (which could form a cycle), and entries that are neither files nor folders
    /// are skipped. A folder of the events of a conversation is one session, with the name of the
    /// folder around it. A name with `*`, `?` or `[` of no file is a pattern. Calls `progress` for
    /// each entry.
    pub(in crate::commands) fn of(named: &[PathBuf], progress: impl FnMut()) -> Self {
        let mut walker = Walker { walk: Self::default(), progress };
        for path in named {
            match fs::metadata(path) {
                Ok(metadata) if metadata.is_dir() => walker.folder(path, path),
                Err(error) if error.kind() == io::ErrorKind::NotFound && !input::is_stdin(path) => {
                    match path.to_str().filter(|text| patterns::is_pattern(text)) {
                        Some(pattern) => walker.pattern(pattern),
                        None => walker.fail(path, missing::unreadable(path, error)),
                    }
                }
                // If a file cannot be inspected, reading it reports why.
                _ => walker.file(path.clone(), None),
            }
        }
        walker.walk
    }
}

/// A walk that is under way.
struct Walker<F> {
    walk: Walk,
    progress: F,
}

impl<F: FnMut()> Walker<F> {
    fn fail(&mut self, path: &Path, failure: Failure) {
        self.walk.failed.push((path.to_owned(), failure));
    }

    fn skip(&mut self, path: PathBuf, reason: &'static str) {
        self.walk.skipped.push((path, reason));
    }

    fn file(&mut self, path: PathBuf, name: Option<String>) {
        let may_have_several =
            name.is_none() || path.extension().is_some_and(|ending| ending == DATABASE);
        let inputs = match may_have_several {
            true => SessionInput::all_of_file(&path),
            false => vec![SessionInput::of_file(&path)],
        };
        let file = |input| ImportFile { path: path.clone(), name: name.clone(), input };
        self.walk.files.extend(inputs.into_iter().map(file));
    }

    /// Reads what matches a pattern like the entries of the folder before its first wildcard. Of a
    /// folder that matches, everything is read once, whatever else matches in it.
    fn pattern(&mut self, pattern: &str) {
        let found = match patterns::expand(pattern) {
            Ok(found) => found,
            Err(failure) => return self.fail(Path::new(pattern), failure),
        };
        let root = patterns::root(pattern);
        for (path, error) in found.unreadable {
            self.fail(&path, Failure::Read { file: path.display().to_string(), source: error });
        }
        let mut walked: Vec<PathBuf> = Vec::new();
        for path in found.paths {
            (self.progress)();
            if walked.iter().any(|folder| path.starts_with(folder)) {
                continue;
            }
            if path.is_dir() {
                self.folder(&root, &path);
                walked.push(path);
            } else {
                self.entry(&root, path, found.names_ending);
            }
        }
    }

    /// Reads the files of a folder and its subfolders. Chats are named by the path within `root`.
    fn folder(&mut self, root: &Path, folder: &Path) {
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            if let Some(input) = SessionInput::of_folder(&folder) {
                let around = folder.parent().unwrap_or(&folder);
                let name = match around.strip_prefix(root) {
                    Ok(inside) if !inside.as_os_str().is_empty() => name_of(inside),
                    _ => name_of(Path::new(around.file_name().unwrap_or_default())),
                };
                self.walk.files.push(ImportFile { path: folder, name: Some(name), input });
                continue;
            }
            let entries =
                match fs::read_dir(&folder).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
                    Ok(entries) => entries,
                    Err(source) => {
                        let file = folder.display().to_string();
                        self.fail(&folder, Failure::Read { file, source });
                        continue;
                    }
                };
            let mut paths: Vec<_> = entries.iter().map(fs::DirEntry::path).collect();
            paths.sort();
            let deeper = paths.into_iter().filter_map(|path| self.entry(root, path, false));
            folders.extend(deeper.collect::<Vec<_>>().into_iter().rev());
        }
    }

    /// Adds or skips an entry of a folder, or returns it if it is a folder. A file whose name has
    /// another ending than transcripts is read if the ending `is_named`.
    fn entry(&mut self, root: &Path, path: PathBuf, is_named: bool) -> Option<PathBuf> {
        (self.progress)();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let is_link = path.is_symlink();
        let metadata = fs::metadata(&path);
        let is_folder = metadata.as_ref().is_ok_and(fs::Metadata::is_dir);
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let is_transcript = |ending: &str| match ending {
            DATABASE => SessionInput::is_database(&path),
            ending => ENDINGS.contains(&ending),
        };
        match metadata {
            _ if hidden && !is_named => self.skip(path, "hidden"),
            _ if is_folder && is_link && contains(&path) => {
                let source = io::Error::other("a link to a folder that it is in");
                self.fail(&path, Failure::Read { file: path.display().to_string(), source });
            }
            _ if is_folder && is_link => self.skip(path, "a link to a folder"),
            _ if is_folder && is_part(&path) => {}
            _ if is_folder => return Some(path),
            Ok(metadata) if !metadata.is_file() => {
                let is_expected =
                    is_named || ending.as_deref().is_some_and(|e| ENDINGS.contains(&e));
                match is_expected {
                    // Reading a pipe would wait, possibly forever.
                    true => {
                        let source = io::Error::other("a pipe or device; name it to read it");
                        let file = path.display().to_string();
                        self.fail(&path, Failure::Read { file, source });
                    }
                    false => self.skip(path, "a pipe or device"),
                }
            }
            _ if is_named || ending.as_deref().is_some_and(is_transcript) => {
                let name = path.strip_prefix(root).unwrap_or(&path).with_extension("");
                self.file(path, Some(name_of(&name)));
            }
            _ => self.skip(path, "not a transcript"),
        }
        None
    }
}

/// Returns whether a link to a folder leads to a folder around it.
fn contains(link: &Path) -> bool {
    let around = link.parent().map(|around| match around.as_os_str().is_empty() {
        true => Path::new("."),
        false => around,
    });
    let around = around.and_then(|around| around.canonicalize().ok());
    let target = link.canonicalize().ok();
    around.zip(target).is_some_and(|(around, target)| around.starts_with(target))
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
