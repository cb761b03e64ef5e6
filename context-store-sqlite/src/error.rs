//! Internal failures of the store, and their conversion to the store error.

use context_core::{Error, ErrorKind, Retry};
use context_store_kit::pack::UnpackError;

/// The message of the error for a value whose type differs from the type of its column.
pub(crate) const OTHER_TYPE: &str = "a value is of another type than was written";

/// A failure inside the store, before the failed operation is known.
#[derive(Debug)]
pub(crate) enum Fault {
    /// An error of the driver.
    Driver(sqlx::Error),
    /// An error that is already in its public form.
    Public(Error),
    /// The file holds data that this program never writes.
    Corrupt(&'static str, Option<UnpackError>),
}

pub(crate) type Result<T, E = Fault> = std::result::Result<T, E>;

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Driver(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Public(error)
    }
}

impl From<UnpackError> for Fault {
    fn from(error: UnpackError) -> Self {
        Self::Corrupt("a run of messages cannot be read", Some(error))
    }
}

impl Fault {
    /// Converts the fault to the error of this operation.
    pub(crate) fn during(self, operation: &'static str) -> Error {
        match self {
            Self::Public(error) => error,
            Self::Corrupt(message, source) => {
                let error = Error::new(ErrorKind::Corrupt, operation, message);
                match source {
                    Some(source) => error.with_source(source),
                    None => error,
                }
            }
            Self::Driver(error) => driver_error(operation, error),
        }
    }

    /// Whether a constraint or a trigger of the schema rejected the statement.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Driver(error) if code(error) == Some(CONSTRAINT))
    }

    /// Whether the file has no SQLite header.
    pub(crate) fn is_no_database(&self) -> bool {
        matches!(self, Self::Driver(error) if code(error) == Some(NOTADB))
    }

    /// Whether SQLite reports the file as malformed.
    pub(crate) fn is_malformed(&self) -> bool {
        matches!(self, Self::Driver(error) if code(error) == Some(CORRUPT))
    }

    /// Whether the write failed because the file can only be read.
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self, Self::Driver(error) if code(error) == Some(READONLY))
    }

    /// Whether another connection holds a lock.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Driver(error) if matches!(code(error), Some(BUSY | LOCKED)))
    }
}

// SQLite's primary result codes.
const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const READONLY: i32 = 8;
const IOERR: i32 = 10;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const CANTOPEN: i32 = 14;
const PROTOCOL: i32 = 15;
const TOOBIG: i32 = 18;
const CONSTRAINT: i32 = 19;
const NOTADB: i32 = 26;

fn code(error: &sqlx::Error) -> Option<i32> {
    let code: i32 = error.as_database_error()?.code()?.parse().ok()?;
    // The low byte is the primary code. The other bits are the extended code.
    Some(code & 0xff)
}

fn driver_error(operation: &'static str, error: sqlx::Error) -> Error {
    use ErrorKind::{Bug, Corrupt, Invalid, Unavailable};
    let (kind, retry, message) = match code(&error) {
        Some(BUSY | LOCKED) => (Unavailable, Retry::Safe, "another writer holds the store"),
        Some(PROTOCOL) => (Unavailable, Retry::Safe, "the log changes faster than it can be read"),
        Some(IOERR) => (Unavailable, Retry::Never, "the disk failed"),
        Some(FULL) => (Unavailable, Retry::Never, "the disk is full"),
        Some(READONLY) => (Unavailable, Retry::Never, "the store cannot be written to"),
        Some(CANTOPEN) => (Unavailable, Retry::Never, "the store cannot be opened"),
        Some(CORRUPT) => (Corrupt, Retry::Never, "the file is damaged"),
        Some(NOTADB) => (Corrupt, Retry::Never, "the file is not a SQLite database"),
        Some(TOOBIG) => (Invalid, Retry::Never, "a value is too large for SQLite"),
        Some(_) => (Bug, Retry::Never, "a statement failed"),
        None => match &error {
            sqlx::Error::Io(_) => (Unavailable, Retry::Never, "the store cannot be opened"),
            sqlx::Error::WorkerCrashed => (Unavailable, Retry::Never, "the connection is gone"),
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => {
                (Corrupt, Retry::Never, OTHER_TYPE)
            }
            _ => (Bug, Retry::Never, "a statement failed"),
        },
    };
    Error::new(kind, operation, message).with_retry(retry).with_source(error)
}

/// Returns the error for a cursor that does not belong to this listing.
pub(crate) fn bad_cursor(operation: &'static str) -> Error {
    Error::invalid(operation, "the cursor is not one of this listing")
}
