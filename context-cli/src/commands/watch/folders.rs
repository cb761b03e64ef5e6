//! The folders in which coding agents keep their sessions.

use std::path::PathBuf;

use crate::error::Failure;

/// The folders within the home folder.
const KNOWN: [&str; 7] = [
    ".claude/projects",
    ".codex/sessions",
    ".gemini/tmp",
    ".pi/agent/sessions",
    ".local/share/goose/sessions",
    ".openhands/conversations",
    ".config/io.datasette.llm",
];

/// Returns those of the known folders that exist, or an error that lists the known ones.
pub(super) fn known() -> Result<Vec<PathBuf>, Failure> {
    let home = std::env::home_dir().unwrap_or_default();
    let folders: Vec<_> = KNOWN.iter().map(|folder| home.join(folder)).collect();
    let existing: Vec<_> = folders.into_iter().filter(|folder| folder.is_dir()).collect();
    if existing.is_empty() {
        let known: Vec<_> = KNOWN.iter().map(|folder| format!("~/{folder}")).collect();
        return Err(Failure::Usage(format!(
            "name the folders to watch; none of the usual ones exists: {}",
            known.join(", ")
        )));
    }
    Ok(existing)
}
