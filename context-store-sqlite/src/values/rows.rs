//! Conversions of values in rows and runs.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use context_core::{Error, ErrorKind, MessageId, Metadata, Node};
use context_store_kit::pack;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::error::{Fault, Result};

pub(crate) const MISSING: &str = "messages of the chain are missing";

/// Converts a number of places to a length.
pub(crate) fn length(places: i64) -> Result<usize> {
    usize::try_from(places).map_err(|_| Fault::Corrupt("runs of messages overlap", None))
}

/// Returns a blob of a row without copying it. The bytes keep the row alive.
pub(crate) fn blob(row: SqliteRow, column: usize) -> Result<Bytes> {
    struct Column(SqliteRow, usize);

    impl AsRef<[u8]> for Column {
        fn as_ref(&self) -> &[u8] {
            self.0.try_get(self.1).expect("decoded before")
        }
    }

    row.try_get::<&[u8], _>(column)?;
    Ok(Bytes::from_owner(Column(row, column)))
}

/// Returns the `n`th node of a packed run, from 0.
pub(crate) fn nth(run: &Bytes, n: i64) -> Result<Arc<Node>> {
    let (_, rest) = pack::split_at(run, length(n)?)?;
    let (record, _) = pack::split_at(&rest, 1)?;
    let node = pack::unpack(&record)?.pop();
    node.ok_or(Fault::Corrupt(MISSING, None))
}

/// Reads an id from a row.
pub(crate) fn message_id(row: &SqliteRow, column: usize) -> Result<Option<MessageId>> {
    Ok(row.try_get::<Option<&str>, _>(column)?.map(MessageId::from))
}

/// Returns ids as a JSON list for `json_each`, or `None` if an id has a NUL, because SQLite's JSON
/// ends a text at a NUL.
pub(crate) fn json_ids<'a>(ids: impl Iterator<Item = &'a MessageId> + Clone) -> Option<String> {
    if ids.clone().any(|id| id.as_str().contains('\0')) {
        return None;
    }
    serde_json::to_string(&ids.map(MessageId::as_str).collect::<Vec<_>>()).ok()
}

/// Returns numbers as a JSON list for `json_each`.
pub(crate) fn json_numbers<T: fmt::Display>(numbers: impl Iterator<Item = T>) -> String {
    let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
    format!("[{}]", numbers.join(","))
}

/// Returns metadata in its stored form, JSON text.
pub(crate) fn metadata_text(metadata: &Metadata) -> Result<String> {
    serde_json::to_string(metadata).map_err(|error| {
        Error::new(ErrorKind::Bug, "write", "metadata cannot be written as json")
            .with_source(error)
            .into()
    })
}

pub(crate) fn metadata_from(text: &str) -> Result<Metadata> {
    serde_json::from_str(text).map_err(|_| Fault::Corrupt("metadata is not json", None))
}
