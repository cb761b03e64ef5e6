//! The errors of a transaction, mapped once.

use context_core::{Error, ErrorKind};
use context_store_kit::pack::UnpackError;

/// An error within a transaction.
#[derive(Debug)]
pub(crate) enum Fault {
    /// An error that is already in its public form.
    Public(Error),
    /// An error of the driver.
    Driver(rusqlite::Error),
    /// A stored value that is not the written one.
    Corrupt(&'static str),
}

impl Fault {
    /// Names the operation. The texts of SQLite are about files, tables and columns, and contain no
    /// content.
    pub(crate) fn during(self, operation: &'static str) -> Error {
        match self {
            Self::Public(error) => error,
            Self::Driver(error) => {
                let kind = match error.sqlite_error_code() {
                    Some(
                        rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase,
                    ) => ErrorKind::Corrupt,
                    _ => ErrorKind::Unavailable,
                };
                Error::new(kind, operation, "the file cannot be used").with_source(error)
            }
            Self::Corrupt(problem) => Error::new(ErrorKind::Corrupt, operation, problem),
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Public(error)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Driver(error)
    }
}

impl From<UnpackError> for Fault {
    fn from(_: UnpackError) -> Self {
        Self::Corrupt("a message is damaged")
    }
}

impl From<serde_json::Error> for Fault {
    fn from(_: serde_json::Error) -> Self {
        Self::Corrupt("a stored value is not JSON")
    }
}
