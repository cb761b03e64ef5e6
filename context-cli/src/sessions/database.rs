//! A SQLite file of another program, of which only some tables and columns are known.

use std::cell::Cell;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Params, Row};
use serde_json::Value;

use crate::error::Failure;
use crate::input::MAX_WHOLE;

/// A row: the values of its columns by name.
pub(super) type Record = serde_json::Map<String, Value>;

/// An open file. Its program may be writing to it: everything is read in one transaction.
pub(super) struct Database {
    connection: Connection,
    /// The name that errors show.
    shown: String,
    /// The number of bytes that may still be read.
    left: Cell<u64>,
}

impl Database {
    /// Opens a file for reading. Nothing is written to it.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let shown = path.display().to_string();
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        let opened = Connection::open_with_flags(uri(path), flags).and_then(|connection| {
            connection.busy_timeout(std::time::Duration::from_secs(5))?;
            // The file of a stranger may define functions and views.
            connection.execute_batch("PRAGMA trusted_schema = OFF; BEGIN")?;
            Ok(connection)
        });
        match opened {
            Ok(connection) => Ok(Self { connection, shown, left: Cell::new(MAX_WHOLE) }),
            Err(error) => Err(failure(&shown, error)),
        }
    }

    /// Returns the name that errors show.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Returns the error for content that contradicts itself.
    pub(super) fn damaged(&self, problem: &'static str) -> Failure {
        Failure::Read { file: self.shown.clone(), source: std::io::Error::other(problem) }
    }

    /// Returns whether there are tables with these columns.
    pub(super) fn has(&self, columns: &[(&str, &str)]) -> Result<bool, Failure> {
        let sql = "SELECT count(*) FROM pragma_table_info(?1) WHERE name LIKE ?2";
        for column in columns {
            let found = self.connection.query_row(sql, *column, |row| row.get::<_, i64>(0));
            if found.map_err(|error| failure(&self.shown, error))? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the rows of a query. Columns that are null are left out.
    pub(super) fn rows(&self, sql: &str, params: impl Params) -> Result<Vec<Record>, Failure> {
        let failed = |error| failure(&self.shown, error);
        let mut query = self.connection.prepare_cached(sql).map_err(failed)?;
        let names: Vec<String> = query.column_names().into_iter().map(str::to_owned).collect();
        let mut rows = query.query(params).map_err(failed)?;
        let mut records = Vec::new();
        while let Some(row) = rows.next().map_err(failed)? {
            records.push(self.record(row, &names)?);
        }
        Ok(records)
    }

    /// Returns the rows of a query by the text of a column. An older file has no such table, and
    /// therefore no rows.
    pub(super) fn grouped(
        &self,
        table: &str,
        sql: &str,
        key: &str,
    ) -> Result<HashMap<String, Vec<Record>>, Failure> {
        let mut groups: HashMap<String, Vec<Record>> = HashMap::new();
        if self.has(&[(table, "%")])? {
            for row in self.rows(sql, [])? {
                groups.entry(key_of(&row, key)).or_default().push(row);
            }
        }
        Ok(groups)
    }

    fn record(&self, row: &Row<'_>, names: &[String]) -> Result<Record, Failure> {
        let mut record = Record::new();
        for (index, name) in names.iter().enumerate() {
            let value = row.get_ref(index).map_err(|error| failure(&self.shown, error))?;
            let (value, bytes) = match value {
                ValueRef::Null => continue,
                ValueRef::Integer(number) => (number.into(), size_of_val(&number)),
                ValueRef::Real(number) => (number.into(), size_of_val(&number)),
                ValueRef::Text(text) => (String::from_utf8_lossy(text).into(), text.len()),
                ValueRef::Blob(bytes) => (BASE64.encode(bytes).into(), bytes.len()),
            };
            // The names count as well: rows without text take room, too.
            let left = self.left.get().checked_sub((name.len() + bytes) as u64);
            let left = left
                .ok_or_else(|| Failure::TooLarge { file: self.shown.clone(), limit: MAX_WHOLE })?;
            self.left.set(left);
            record.insert(name.clone(), value);
        }
        Ok(record)
    }
}

/// The first bytes of every SQLite file.
const START: &[u8; 16] = b"SQLite format 3\0";
/// The place of the number that tells how a file is written to, and the number of those that have a
/// log of changes.
const WRITTEN: (usize, u8) = (18, 2);

/// Returns the first bytes of a SQLite file, or `None` if it is none.
fn start(path: &Path) -> Option<[u8; 20]> {
    let mut start = [0; 20];
    File::open(path).ok()?.read_exact(&mut start).ok()?;
    start.starts_with(START).then_some(start)
}

/// Returns whether a path is that of a SQLite file.
pub(super) fn is_database(path: &Path) -> bool {
    path.is_file() && start(path).is_some()
}

/// Returns the second file of a database, with its newest changes. It exists while a program has
/// the database open and writes a log of changes.
pub(super) fn log_of(path: &Path) -> Option<PathBuf> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    Some(PathBuf::from(log)).filter(|log| log.exists())
}

/// Returns the URI of a database. SQLite creates the log of changes even for a reader, unless it is
/// told that the file does not change. Without a log, nobody has such a file open.
fn uri(path: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut uri = "file:".to_owned();
    for byte in absolute.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => {
                uri.push(char::from(*byte));
            }
            byte => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    let has_log = start(path).is_some_and(|start| start[WRITTEN.0] == WRITTEN.1);
    if has_log && log_of(path).is_none() {
        uri.push_str("?immutable=1");
    }
    uri
}

/// Returns the text of a column, or of its number. Empty if it has neither.
pub(super) fn key_of(row: &Record, column: &str) -> String {
    match row.get(column) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// Returns the text of a column.
pub(super) fn text_of<'a>(row: &'a Record, column: &str) -> Option<&'a str> {
    row.get(column).and_then(Value::as_str)
}

/// Returns the value of a column that contains JSON. Other text is a string.
pub(super) fn parsed(value: Value) -> Value {
    match value {
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        value => value,
    }
}

fn failure(shown: &str, error: rusqlite::Error) -> Failure {
    Failure::Read { file: shown.to_owned(), source: std::io::Error::other(error) }
}
