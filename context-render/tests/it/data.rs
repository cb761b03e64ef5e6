//! The folder of shared test data, which may be missing.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Returns a folder of the test data.
pub(crate) fn folder(name: &str) -> PathBuf {
    let root = match env::var_os("CONTEXT_TEST_DATA").filter(|folder| !folder.is_empty()) {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"),
    };
    root.join(name)
}

/// Returns the JSON files in a folder and its subfolders, in order.
pub(crate) fn json_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
