//! Sessions that their programs keep in a database or in several files. They are read as the text
//! of the file that the program would export, and from there on like any file: with the same chats,
//! growth and export.

mod database;
mod folder;
mod goose;
mod llm;
mod opencode;

use std::path::{Path, PathBuf};

use context_runtime::transcript::FileText;
use serde_json::Value;

use self::database::Database;
use self::opencode::SessionFiles;
use crate::error::Failure;
use crate::input::{self, MAX_WHOLE};

/// What a session, or a file with several, is read from.
pub(crate) enum SessionInput {
    /// A file, which may be a database.
    File(PathBuf),
    /// The files of a session of opencode.
    Opencode(SessionFiles),
    /// The files of the events of a conversation of OpenHands, which are in this folder.
    Events(PathBuf),
}

impl SessionInput {
    /// Returns the input of a file, which may be the first one of several.
    pub(crate) fn of_file(path: &Path) -> Self {
        match SessionFiles::of(path) {
            Some(files) => Self::Opencode(files),
            None => Self::File(path.to_owned()),
        }
    }

    /// Returns the input of a folder that is one session as a whole.
    pub(crate) fn of_folder(folder: &Path) -> Option<Self> {
        folder::events(folder).map(|_| Self::Events(folder.to_owned()))
    }

    /// Returns the paths of the files that are read.
    pub(crate) fn paths(&self) -> Result<Vec<PathBuf>, Failure> {
        Ok(match self {
            Self::File(path) => {
                let log = database::log_of(path).filter(|_| database::is_database(path));
                std::iter::once(path.clone()).chain(log).collect()
            }
            Self::Opencode(files) => files.paths()?,
            Self::Events(folder) => folder::events(folder).unwrap_or_default(),
        })
    }

    /// Returns the text. If the file `is_growing`, an incomplete last line of JSON Lines is left
    /// out.
    pub(crate) fn read(&self, path: &Path, is_growing: bool) -> Result<FileText, Failure> {
        let name = |path: &Path| {
            path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let shown = path.display().to_string();
        match self {
            Self::File(path) if database::is_database(path) => {
                let text = exported(&Database::open(path)?)?;
                Ok(FileText::new(name(path), text).shown_as(shown))
            }
            Self::File(path) if is_growing => input::read_growing(path),
            Self::File(path) => input::read_lossy(path),
            Self::Opencode(files) => Ok(FileText::new(name(path), files.text()?).shown_as(shown)),
            Self::Events(folder) => {
                let lines = folder::lines(&folder::events(folder).unwrap_or_default(), is_growing)?;
                Ok(FileText::new("events.jsonl", lines).shown_as(shown))
            }
        }
    }
}

/// Returns the sessions of a database as a list in the form of their export.
fn exported(database: &Database) -> Result<String, Failure> {
    let sessions = if database.has(&llm::COLUMNS)? || database.has(&llm::TREE_COLUMNS)? {
        llm::responses(database)?
    } else if database.has(&opencode::COLUMNS)? {
        opencode::sessions(database)?
    } else if database.has(&goose::COLUMNS)? {
        goose::sessions(database)?
    } else {
        return Err(Failure::UnknownDatabase { file: database.shown().to_owned() });
    };
    let text = Value::from(sessions).to_string();
    match text.len() as u64 > MAX_WHOLE {
        true => Err(Failure::TooLarge { file: database.shown().to_owned(), limit: MAX_WHOLE }),
        false => Ok(text),
    }
}
