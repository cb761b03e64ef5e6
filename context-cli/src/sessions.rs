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

/// The place that a session, or a list of sessions, is read from.
pub(crate) enum SessionInput {
    /// A file, which may be a database.
    File(PathBuf),
    /// A session in a database with several.
    Session { database: PathBuf, id: String },
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

    /// Returns whether a path is that of a SQLite file.
    pub(crate) fn is_database(path: &Path) -> bool {
        database::is_database(path)
    }

    /// Returns the inputs of a file: one for each session if its program names them.
    pub(crate) fn all_of_file(path: &Path) -> Vec<Self> {
        // If the database cannot be read, reading it as a whole reports why.
        let ids = match database::is_database(path) {
            true => ids(path).unwrap_or_default(),
            false => Vec::new(),
        };
        if ids.is_empty() {
            return vec![Self::of_file(path)];
        }
        let session = |id| Self::Session { database: path.to_owned(), id };
        ids.into_iter().map(session).collect()
    }

    /// Returns the name of a session within a file.
    pub(crate) fn session(&self) -> Option<&str> {
        match self {
            Self::Session { id, .. } => Some(id),
            _ => None,
        }
    }

    /// Returns the input of a folder that is one session as a whole.
    pub(crate) fn of_folder(folder: &Path) -> Option<Self> {
        folder::events(folder).map(|_| Self::Events(folder.to_owned()))
    }

    /// Returns the paths of the files that are read.
    pub(crate) fn paths(&self) -> Result<Vec<PathBuf>, Failure> {
        Ok(match self {
            Self::File(path) | Self::Session { database: path, .. } => {
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
                let text = exported(&Database::open(path)?, None)?;
                Ok(FileText::new(name(path), text).shown_as(shown))
            }
            Self::Session { database, id } => {
                let text = exported(&Database::open(database)?, Some(id))?;
                Ok(FileText::new(format!("{id}.json"), text).shown_as(format!("{shown} ({id})")))
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

/// Returns the names of the sessions in a database, oldest first. None if its program does not name
/// them, or has no table for them.
fn ids(path: &Path) -> Result<Vec<String>, Failure> {
    let database = Database::open(path)?;
    let sql = match Program::of(&database)? {
        Some(Program::Opencode) => opencode::IDS,
        Some(Program::Goose) => goose::IDS,
        Some(Program::Llm) | None => return Ok(Vec::new()),
    };
    Ok(database.rows(sql, [])?.iter().map(|row| database::key_of(row, "id")).collect())
}

/// A program with a database.
enum Program {
    Llm,
    Opencode,
    Goose,
}

impl Program {
    fn of(database: &Database) -> Result<Option<Self>, Failure> {
        Ok(if database.has(&llm::COLUMNS)? || database.has(&llm::TREE_COLUMNS)? {
            Some(Self::Llm)
        } else if database.has(&opencode::COLUMNS)? {
            Some(Self::Opencode)
        } else if database.has(&goose::COLUMNS)? {
            Some(Self::Goose)
        } else {
            None
        })
    }
}

/// Returns the sessions of a database, or only one of them, as a list in the form of their export.
fn exported(database: &Database, session: Option<&str>) -> Result<String, Failure> {
    let file = || database.shown().to_owned();
    let sessions = match Program::of(database)? {
        Some(Program::Llm) => llm::responses(database)?,
        Some(Program::Opencode) => opencode::sessions(database, session)?,
        Some(Program::Goose) => goose::sessions(database, session)?,
        None => return Err(Failure::UnknownDatabase { file: file() }),
    };
    let text = Value::from(sessions).to_string();
    match text.len() as u64 > MAX_WHOLE {
        true => Err(Failure::TooLarge { file: file(), limit: MAX_WHOLE }),
        false => Ok(text),
    }
}
