//! Files that are together one session.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;

use crate::error::Failure;
use crate::input::{self, MAX_WHOLE};

/// Reads files that are parts of one text, up to the limit of a whole file.
#[derive(Default)]
pub(super) struct Reader {
    read: u64,
}

impl Reader {
    /// Returns the JSON of a file.
    pub(super) fn json(&mut self, path: &Path) -> Result<String, Failure> {
        let file = input::read(path)?;
        self.read += file.text().len() as u64;
        if self.read > MAX_WHOLE {
            return Err(Failure::TooLarge { file: file.shown().to_owned(), limit: MAX_WHOLE });
        }
        match serde_json::from_str::<IgnoredAny>(file.text()) {
            Ok(_) => Ok(file.text().to_owned()),
            Err(error) => Err(file.syntax_error(file.text(), error).into()),
        }
    }
}

/// Returns the JSON files of a folder in the order of their names.
pub(super) fn json_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |source| Failure::Read { file: folder.display().to_string(), source };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        // Reading a pipe would wait forever.
        if path.extension().is_some_and(|ending| ending == "json") && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns the number of an event in the name of its file: `event-00012-ID.json`, or `12.json` in
/// older versions.
fn number_of(file: &Path) -> Option<u64> {
    let stem = file.file_stem()?.to_str()?;
    let number = stem.strip_prefix("event-").unwrap_or(stem);
    number.split('-').next()?.parse().ok()
}

/// Returns whether a file is one event. A folder of another program may have the same name.
fn is_event(file: &Path) -> bool {
    let fields: HashMap<String, IgnoredAny> = match input::read(file) {
        Ok(file) => serde_json::from_str(file.text()).unwrap_or_default(),
        Err(_) => return false,
    };
    let is_one = ["kind", "action", "observation"].iter().any(|key| fields.contains_key(*key));
    is_one && fields.contains_key("source")
}

/// Returns the files of events in a folder of OpenHands, which has one for each event, in their
/// order. `None` for any other folder.
pub(super) fn events(folder: &Path) -> Option<Vec<PathBuf>> {
    if !folder.ends_with("events") {
        return None;
    }
    let mut files: Vec<_> = json_files(folder)
        .ok()?
        .into_iter()
        .filter_map(|file| Some((number_of(&file)?, file)))
        .collect();
    files.sort();
    let has_events = files.first().is_some_and(|(_, file)| is_event(file));
    has_events.then(|| files.into_iter().map(|(_, file)| file).collect())
}

/// Returns files with one value each as JSON Lines. A value that is not JSON becomes a broken line.
/// If the folder `is_growing`, the last file may be incomplete, and is then left out.
pub(super) fn lines(files: &[PathBuf], is_growing: bool) -> Result<String, Failure> {
    let mut lines = String::new();
    for (index, file) in files.iter().enumerate() {
        let value = input::read_lossy(file)?;
        let is_json = || serde_json::from_str::<IgnoredAny>(value.text()).is_ok();
        if is_growing && index + 1 == files.len() && !is_json() {
            break;
        }
        // In JSON, a line break is white space.
        lines.push_str(value.text().replace(['\n', '\r'], " ").trim());
        lines.push('\n');
        if lines.len() as u64 > MAX_WHOLE {
            return Err(Failure::TooLarge { file: file.display().to_string(), limit: MAX_WHOLE });
        }
    }
    Ok(lines)
}
