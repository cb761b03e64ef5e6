//! Conversions of values in rows and runs.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use context_core::{MessageId, Node};
use context_store_kit::pack;
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::error::{Fault, Result};

pub(crate) const MISSING: &str = "messages of the chain are missing";

/// Converts a number of places to a length.
pub(crate) fn length(places: i64) -> Result<usize> {
    usize::try_from(places).map_err(|_| Fault::Corrupt("runs of messages overlap", None))
}

/// Returns the bytes of a row without copying them. The bytes keep the row alive.
pub(crate) fn blob(row: PgRow, column: usize) -> Result<Bytes> {
    struct Column(PgRow, usize);

    impl AsRef<[u8]> for Column {
        fn as_ref(&self) -> &[u8] {
            self.0.try_get(self.1).expect("decoded before")
        }
    }

    row.try_get::<&[u8], _>(column)?;
    Ok(Bytes::from_owner(Column(row, column)))
}

/// Reads a text that is stored as bytes, because PostgreSQL's text type cannot hold a NUL.
pub(crate) fn text(row: &PgRow, column: usize) -> Result<&str> {
    utf8(row.try_get(column)?)
}

/// Reads an optional text that is stored as bytes.
pub(crate) fn optional_text(row: &PgRow, column: usize) -> Result<Option<&str>> {
    row.try_get::<Option<&[u8]>, _>(column)?.map(utf8).transpose()
}

/// Reads a text for a finding of the check, even if it is not valid UTF-8. Invalid bytes are
/// replaced.
pub(crate) fn lossy_text(row: &PgRow, column: usize) -> Result<Cow<'_, str>> {
    Ok(String::from_utf8_lossy(row.try_get(column)?))
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| Fault::Corrupt("a text is not UTF-8", None))
}

/// Reads an id from a row.
pub(crate) fn message_id(row: &PgRow, column: usize) -> Result<Option<MessageId>> {
    Ok(optional_text(row, column)?.map(MessageId::from))
}

/// Returns ids as an array to bind.
pub(crate) fn ids<'a>(ids: impl Iterator<Item = &'a MessageId>) -> Vec<&'a [u8]> {
    ids.map(|id| id.as_str().as_bytes()).collect()
}

/// Returns the `n`th node of a packed run, from 0.
pub(crate) fn nth(run: &Bytes, n: i64) -> Result<Arc<Node>> {
    let (_, rest) = pack::split_at(run, length(n)?)?;
    let (record, _) = pack::split_at(&rest, 1)?;
    let node = pack::unpack(&record)?.pop();
    node.ok_or(Fault::Corrupt(MISSING, None))
}

/// Returns the total weight of nodes.
pub(crate) fn weight<'a>(nodes: impl IntoIterator<Item = &'a Arc<Node>>) -> i64 {
    nodes.into_iter().fold(0, |sum: i64, node| sum.saturating_add_unsigned(node.weight()))
}
