//! Message files of other systems.

use std::io;
use std::path::PathBuf;

use context_codec_kit::wire;
use context_core::base::JsonMap;
use context_core::{Error, ErrorKind, Json, Result};

use super::log::blocking;
use super::record::{MessageRecord, RecordKind};
use crate::journal::{failed, read_whole};

const OPERATION: &str = "load_messages";
const MESSAGES: &str = "messages";

/// The content of another system's file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct ImportedMessages {
    /// The records in order, as they were written. Nothing is cleaned.
    pub records: Vec<MessageRecord>,
    /// The items that are not message records. They are left out.
    pub unread: Vec<UnreadRecord>,
    /// The other fields of the file, such as `round_summaries`.
    pub extra: JsonMap,
}

/// An item that is not a message record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnreadRecord {
    /// The position in the list, from 0.
    pub index: usize,
    /// The reason.
    pub problem: ImportProblem,
}

/// The reason why an item is not a message record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportProblem {
    /// The item is not an object.
    #[error("an item must be an object, found {found}")]
    NotAnObject {
        /// The JSON type found.
        found: &'static str,
    },
    /// The item is an object whose keys cannot be read.
    #[error("an item cannot be read")]
    Unreadable,
    /// The item has no type.
    #[error("an item has no type")]
    NoType,
    /// The item has a type that no message has.
    #[error("an item is of the unknown type {name:?}")]
    UnknownType {
        /// The type.
        name: String,
    },
}

/// The reason why a file is not a message file.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The text is not JSON.
    #[error("the text is not JSON")]
    NotJson(#[source] serde_json::Error),
    /// The JSON is neither a list nor an object with a list of messages.
    #[error("messages must be a list, found {found}")]
    NotMessages {
        /// The JSON type found, or "nothing" for an object without messages.
        found: &'static str,
    },
}

context_core::readable_debug!(ImportError);

impl From<ImportError> for Error {
    fn from(error: ImportError) -> Self {
        Self::new(ErrorKind::Corrupt, OPERATION, "the file does not hold messages")
            .with_source(error)
    }
}

/// Parses a message file: an object with a list `messages`, or the bare list of an older version of
/// that format.
pub fn import_messages(text: &str) -> std::result::Result<ImportedMessages, ImportError> {
    let text = text.trim_start_matches('\u{feff}');
    let json: Json = serde_json::from_str(text).map_err(ImportError::NotJson)?;
    let (list, extra) = match wire::kind(&json) {
        "an object" => {
            let mut map: JsonMap = json.parse().map_err(ImportError::NotJson)?;
            let list =
                map.shift_remove(MESSAGES).ok_or(ImportError::NotMessages { found: "nothing" })?;
            (list, map)
        }
        _ => (json, JsonMap::new()),
    };
    if wire::kind(&list) != "a list" {
        return Err(ImportError::NotMessages { found: wire::kind(&list) });
    }
    let items: Vec<Json> = list.parse().map_err(ImportError::NotJson)?;
    let (mut records, mut unread) = (Vec::new(), Vec::new());
    for (index, item) in items.iter().enumerate() {
        match record(item) {
            Ok(record) => records.push(record),
            Err(problem) => unread.push(UnreadRecord { index, problem }),
        }
    }
    Ok(ImportedMessages { records, unread, extra })
}

/// Reads a message file without changing it.
///
/// # Errors
///
/// `NotFound` and `Unavailable` as the system reports them, and `Corrupt` if the content is not a
/// message file.
pub async fn load_messages(path: impl Into<PathBuf>) -> Result<ImportedMessages> {
    let path = path.into();
    blocking(OPERATION, move || {
        let text = String::from_utf8(read_whole(OPERATION, &path)?).map_err(|error| {
            failed(OPERATION, &path, io::Error::new(io::ErrorKind::InvalidData, error))
        })?;
        import_messages(&text).map_err(|error| Error::from(error).with("path", path.display()))
    })
    .await
}

fn record(item: &Json) -> std::result::Result<MessageRecord, ImportProblem> {
    let found = wire::kind(item);
    if found != "an object" {
        return Err(ImportProblem::NotAnObject { found });
    }
    let record = MessageRecord::from_json(item).map_err(|_| ImportProblem::Unreadable)?;
    match record.kind() {
        RecordKind::Other => Err(match record.type_name() {
            Some(name) => ImportProblem::UnknownType { name },
            None => ImportProblem::NoType,
        }),
        _ => Ok(record),
    }
}
