//! Recorded data.

use std::fs;
use std::path::{Path, PathBuf};

use context_simulator::recordings::{self, Exchange};

pub(crate) fn folder() -> PathBuf {
    recordings::folder().expect("test data").join("data")
}

/// Returns the recorded exchanges in this form.
pub(crate) fn exchanges(form: &str) -> Vec<Exchange> {
    recordings::exchanges(&folder().join("pydantic-ai-cassettes"), form)
}

/// Returns the files of a folder with this extension.
pub(crate) fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
    files.sort();
    files
}
