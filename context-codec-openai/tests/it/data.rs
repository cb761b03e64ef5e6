//! Recorded data, if it is present.

use std::fs;
use std::path::{Path, PathBuf};

use context_simulator::recordings::{self, Exchange};

pub(crate) fn folder() -> Option<PathBuf> {
    recordings::folder().map(|folder| folder.join("data"))
}

/// Returns the recorded exchanges in this form.
pub(crate) fn exchanges(form: &str) -> Option<Vec<Exchange>> {
    folder().map(|folder| recordings::exchanges(&folder.join("pydantic-ai-cassettes"), form))
}

/// Returns the files of a folder with this extension.
pub(crate) fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
    files.sort();
    files
}
