//! Records in rows, and parameters as JSON lists.

use std::fmt::Write as _;

use context_core::memory::{MemoryRecord, StoredMemory};
use context_core::{Error, ErrorKind};
use serde::de::DeserializeOwned;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::checksums::MEMORY;
use crate::error::{Fault, Result};
use crate::sql::memories as sql;
use crate::sql::run;
use crate::values::numbers::count;
use crate::values::rows::json_numbers;

/// The error for a row of a record that was not requested.
pub(super) const NOT_REQUESTED: Fault =
    Fault::Corrupt("a statement returned a row that was not requested", None);

/// Returns the stored form of a record.
pub(crate) fn body(record: &MemoryRecord) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(record).map_err(|error| {
        Error::new(ErrorKind::Bug, "write_memories", "a memory is not JSON").with_source(error)
    })
}

/// Reads a record from a row that begins with place, version and body.
pub(crate) fn stored_of(row: &SqliteRow) -> Result<StoredMemory> {
    MEMORY.check(row, 0)?;
    let record = serde_json::from_slice(row.try_get(2)?)
        .map_err(|_| Fault::Corrupt("a memory cannot be read", None))?;
    Ok(StoredMemory::new(record, count(row.try_get(1)?)?, count(row.try_get(0)?)?))
}

/// Returns the records at these places, in any order.
pub(super) async fn stored_at(
    connection: &mut SqliteConnection,
    places: impl Iterator<Item = i64>,
) -> Result<Vec<StoredMemory>> {
    let places: Vec<i64> = places.collect();
    let query = sqlx::query(sql::MEMORIES_AT).bind(json_numbers(places.iter()));
    let stored = run(connection, query).await?.iter().map(stored_of).collect::<Result<Vec<_>>>()?;
    if stored.len() != places.len() {
        return Err(Fault::Corrupt("a memory that an index names is missing", None));
    }
    Ok(stored)
}

/// Parses a column that a statement has written as JSON.
pub(super) fn json_of<T: DeserializeOwned>(row: &SqliteRow, column: usize) -> Result<T> {
    serde_json::from_str(row.try_get(column)?)
        .map_err(|_| Fault::Corrupt("a list that a statement returned cannot be read", None))
}

/// Parses the first column of the only row as JSON.
pub(crate) async fn json_answer<T: DeserializeOwned>(
    connection: &mut SqliteConnection,
    query: sqlx::query::Query<'_, sqlx::Sqlite, sqlx::sqlite::SqliteArguments>,
) -> Result<T> {
    let rows = run(connection, query).await?;
    json_of(rows.first().ok_or(Fault::Corrupt("a statement has no answer", None))?, 0)
}

/// Returns the index of an item in the list of parameters.
pub(super) fn index_of(row: &SqliteRow, column: usize) -> Result<usize> {
    usize::try_from(row.try_get::<i64, _>(column)?).map_err(|_| NOT_REQUESTED)
}

/// Returns texts as a JSON list of hexadecimal digits.
pub(super) fn json_texts<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut json = String::from("[");
    for text in texts {
        json.push_str(if json.len() > 1 { ",\"" } else { "\"" });
        hex(text.as_bytes(), &mut json);
        json.push('"');
    }
    json.push(']');
    json
}

/// Returns scopes, each with its parameter, as JSON pairs.
pub(super) fn json_filed<'a>(pairs: impl Iterator<Item = (i64, &'a [u8])>) -> String {
    let mut json = String::from("[");
    for (scope, bytes) in pairs {
        // Writing to a string cannot fail.
        let _ = write!(json, "{}[{scope},\"", if json.len() > 1 { "," } else { "" });
        hex(bytes, &mut json);
        json.push_str("\"]");
    }
    json.push(']');
    json
}

fn hex(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(bytes.len() * 2);
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}
