//! Recorded requests, answers and streams.

use std::fs;
use std::path::Path;

use context_simulator::recordings::{self, Exchange};

/// Returns the recorded exchanges of one client that ask for an answer.
pub(crate) fn exchanges(shared: &Path) -> Vec<Exchange> {
    recordings::exchanges(&shared.join("data/pydantic-ai-cassettes"), "anthropic")
}

/// Returns its recorded exchanges that ask for the number of tokens of a request.
pub(crate) fn counts(shared: &Path) -> Vec<Exchange> {
    recordings::counts(&shared.join("data/pydantic-ai-cassettes"), "anthropic")
}

/// Returns the files below a folder whose names have this ending, by name.
pub(crate) fn files(folder: &Path, extension: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let name =
                path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(extension) {
                found.push((name, fs::read_to_string(path).expect("data can be read")));
            }
        }
    }
    found.sort();
    found
}
