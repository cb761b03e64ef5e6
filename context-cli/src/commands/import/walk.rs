//! The files to import: those named on the command line, and those in named folders.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// The file extensions of transcripts.
const ENDINGS: [&str; 4] = ["json", "jsonl", "ndjson", "traj"];

/// A file to read.
pub(in crate::commands) struct ImportFile {
    pub(in crate::commands) path: PathBuf,
    /// The default chat name of a file in a named folder: its path within the folder, without
    /// extension.
    pub(in crate::commands) name: Option<String>,
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
    /// are skipped.
    pub(in crate::commands) fn of(named: &[PathBuf]) -> Self {
        let mut walk = Self::default();
        for path in named {
            match path.is_dir() {
                true => walk.folder(path),
                false => walk.files.push(ImportFile { path: path.clone(), name: None }),
            }
        }
        walk
    }

    fn folder(&mut self, root: &Path) {
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
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
                let known = ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()));
                match () {
                    () if hidden => self.skipped.push(path),
                    () if is_folder => deeper.push(path),
                    // A file or a link to one. If it cannot be inspected, reading it reports why.
                    () if known
                        && fs::metadata(&path).map_or(true, |metadata| metadata.is_file()) =>
                    {
                        let name = path.strip_prefix(root).unwrap_or(&path).with_extension("");
                        let parts =
                            name.components().map(|part| part.as_os_str().to_string_lossy());
                        let name = parts.collect::<Vec<_>>().join("/");
                        self.files.push(ImportFile { path, name: Some(name) });
                    }
                    () => self.skipped.push(path),
                }
            }
            folders.extend(deeper.into_iter().rev());
        }
    }
}
