//! Internal failures of the store, and their conversion to the store error.

use std::fmt;

use context_core::{Error, ErrorKind, Retry};
use context_store_kit::pack::UnpackError;

/// A failure inside the store, before the failed operation is known.
#[derive(Debug)]
pub(crate) enum Fault {
    /// An error of the driver.
    Driver(sqlx::Error),
    /// An error that is already in its public form.
    Public(Error),
    /// The database holds data that this program never writes.
    Corrupt(&'static str, Option<UnpackError>),
    /// There was no answer within the configured time.
    TimedOut,
    /// A write through a read-only handle.
    ReadOnly,
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
            Self::TimedOut => {
                Error::new(ErrorKind::Timeout, operation, "the server did not answer in time")
            }
            Self::ReadOnly => {
                Error::new(ErrorKind::Unsupported, operation, "the store was opened read-only")
            }
            Self::Driver(error) => driver_error(operation, error),
        }
    }

    /// Whether a unique index rejected the statement, or an append found another head (such an
    /// append divides by zero).
    pub(crate) fn is_refusal(&self) -> bool {
        self.has_code(|code| matches!(code, "23505" | "22012"))
    }

    /// Whether the server answered with an SQLSTATE of this kind.
    fn has_code(&self, matches_code: impl FnOnce(&str) -> bool) -> bool {
        matches!(self, Self::Driver(error) if code(error).as_deref().is_some_and(matches_code))
    }

    /// Whether the database does not exist.
    pub(crate) fn database_is_missing(&self) -> bool {
        self.has_code(|code| code == "3D000")
    }

    /// Whether the role may not do this.
    pub(crate) fn lacks_privilege(&self) -> bool {
        self.has_code(|code| code == "42501")
    }

    /// Whether a table of this name has other columns than expected.
    pub(crate) fn is_foreign_table(&self) -> bool {
        self.has_code(|code| code.starts_with("42") && code != "42501")
    }

    /// Whether the database exists already, possibly created at the same moment.
    pub(crate) fn database_exists(&self) -> bool {
        self.has_code(|code| matches!(code, "42P04" | "23505"))
    }

    /// Whether the connection can be used again. It can after an error that the server reported.
    pub(crate) fn keeps_connection(&self) -> bool {
        match self {
            Self::Driver(sqlx::Error::Database(error)) => {
                !error.code().is_some_and(|code| code.starts_with("08") || code.starts_with("57P"))
            }
            Self::Driver(
                sqlx::Error::ColumnDecode { .. }
                | sqlx::Error::Decode(_)
                | sqlx::Error::ColumnIndexOutOfBounds { .. },
            ) => true,
            Self::Driver(_) | Self::TimedOut => false,
            Self::Public(_) | Self::Corrupt(..) | Self::ReadOnly => true,
        }
    }
}

fn code(error: &sqlx::Error) -> Option<String> {
    Some(error.as_database_error()?.code()?.into_owned())
}

fn driver_error(operation: &'static str, error: sqlx::Error) -> Error {
    use ErrorKind::{Bug, Corrupt, Invalid, NotFound, Timeout, Unavailable, Unsupported};
    let code = code(&error);
    let (kind, retry, message) = match code.as_deref() {
        Some("40001" | "40P01") => {
            (Unavailable, Retry::Safe, "the transaction conflicts with another one")
        }
        Some("55P03" | "57014") => {
            (Timeout, Retry::Safe, "the server cancelled a statement that waited too long")
        }
        Some("57P04") => (Unavailable, Retry::Never, "the database was dropped"),
        Some("08004") => (Unavailable, Retry::Never, "the server rejects the connection"),
        Some("53400") => {
            (Unavailable, Retry::Never, "a configured limit of the server was reached")
        }
        Some("58030" | "58P01") => {
            (Unavailable, Retry::Never, "the server cannot access its files")
        }
        Some("57P01" | "57P02" | "57P03" | "57P05") => {
            (Unavailable, Retry::Safe, "the server is stopping or starting")
        }
        Some("25006") => (Unavailable, Retry::Never, "the server is read-only"),
        Some("53100") => (Unavailable, Retry::Never, "the server's disk is full"),
        Some("42501") => (Unavailable, Retry::Never, "the role lacks a required privilege"),
        Some("3D000") if operation == "open" => {
            (NotFound, Retry::Never, "the database does not exist")
        }
        Some("3D000") => {
            (Unavailable, Retry::Never, "the database of the store does not exist any more")
        }
        Some("2200H") => (
            Unavailable,
            Retry::Never,
            "the store has no number left for another chat, branch or blob",
        ),
        Some("3F000" | "42P01") => {
            (Unavailable, Retry::Never, "the schema of the store does not exist any more")
        }
        Some("0A000") => (Unsupported, Retry::Never, "the server does not support a statement"),
        Some("XX001" | "XX002") => (Corrupt, Retry::Never, "the database is damaged"),
        Some(code) if code.starts_with("08") => {
            (Unavailable, Retry::Safe, "the connection to the server was lost")
        }
        Some(code) if code.starts_with("28") => {
            (Unavailable, Retry::Never, "the server rejects the role or its password")
        }
        Some(code) if code.starts_with("53") => {
            (Unavailable, Retry::Safe, "the server is out of resources")
        }
        Some(_) => (Bug, Retry::Never, "a statement failed"),
        None => match &error {
            // A socket without permission, an invalid address, an untrusted certificate.
            sqlx::Error::Io(io)
                if matches!(
                    io.kind(),
                    std::io::ErrorKind::PermissionDenied
                        | std::io::ErrorKind::InvalidInput
                        | std::io::ErrorKind::InvalidData
                        | std::io::ErrorKind::Unsupported
                ) =>
            {
                (Unavailable, Retry::Never, "these connection settings cannot work")
            }
            sqlx::Error::Configuration(_) => {
                (Invalid, Retry::Never, "the connection settings are invalid")
            }
            sqlx::Error::Io(_) | sqlx::Error::Protocol(_) => {
                (Unavailable, Retry::Safe, "the server cannot be reached")
            }
            sqlx::Error::Tls(_) => (Unavailable, Retry::Never, "the encrypted connection failed"),
            sqlx::Error::PoolTimedOut => {
                (Timeout, Retry::Safe, "no connection became available within the connect timeout")
            }
            sqlx::Error::PoolClosed => (Unavailable, Retry::Never, "the pool is closed"),
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => {
                (Corrupt, Retry::Never, "a stored value has an unexpected type")
            }
            _ => (Bug, Retry::Never, "a statement failed"),
        },
    };
    Error::new(kind, operation, message).with_retry(retry).with_source(Cause::of(&error))
}

/// The driver's error, without the values of the statement.
struct Cause {
    text: String,
}

impl Cause {
    fn of(error: &sqlx::Error) -> Self {
        let text = match error.as_database_error() {
            Some(database) => {
                let code = database.code().unwrap_or_default();
                format!("{} (SQLSTATE {code})", database.message())
            }
            None => error.to_string(),
        };
        Self { text }
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Cause {}

/// Returns the error for a cursor that does not belong to this listing.
pub(crate) fn bad_cursor(operation: &'static str) -> Error {
    Error::invalid(operation, "the cursor is not one of this listing")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PostgresConfig;
    use crate::connections::{Pool, Work};

    /// Error codes of the server are converted to these kinds.
    #[tokio::test]
    #[ignore = "needs PostgreSQL; `cargo xtask test` runs it"]
    async fn codes_of_the_server_are_kinds_of_ours() {
        use ErrorKind::{Bug, Corrupt, Timeout, Unavailable, Unsupported};
        let url = context_conformance::server_url("CONTEXT_TEST_POSTGRES_URL");
        let pool = Pool::new(&PostgresConfig::from_url(&url).unwrap().connections(1));
        let codes = [
            ("40001", Unavailable, Retry::Safe, true),
            ("40P01", Unavailable, Retry::Safe, true),
            ("57P01", Unavailable, Retry::Safe, false),
            ("08006", Unavailable, Retry::Safe, false),
            ("53300", Unavailable, Retry::Safe, true),
            ("53100", Unavailable, Retry::Never, true),
            ("53400", Unavailable, Retry::Never, true),
            ("28000", Unavailable, Retry::Never, true),
            ("28P01", Unavailable, Retry::Never, true),
            ("3D000", Unavailable, Retry::Never, true),
            ("3F000", Unavailable, Retry::Never, true),
            ("42501", Unavailable, Retry::Never, true),
            ("25006", Unavailable, Retry::Never, true),
            ("58030", Unavailable, Retry::Never, true),
            ("08004", Unavailable, Retry::Never, false),
            ("57P03", Unavailable, Retry::Safe, false),
            ("57P04", Unavailable, Retry::Never, false),
            ("0A000", Unsupported, Retry::Never, true),
            ("2200H", Unavailable, Retry::Never, true),
            ("57014", Timeout, Retry::Safe, true),
            ("55P03", Timeout, Retry::Safe, true),
            ("XX001", Corrupt, Retry::Never, true),
            ("22012", Bug, Retry::Never, true),
        ];
        for (code, kind, retry, leaves) in codes {
            let mut session = pool.begin(Work::Maintain, None).await.unwrap();
            let raise = format!(
                "DO $$ BEGIN RAISE EXCEPTION 'said' USING ERRCODE = '{code}', DETAIL = 'hunter2', HINT = 'hunter2'; END $$"
            );
            let result =
                sqlx::raw_sql(sqlx::AssertSqlSafe(raise)).execute(session.connection()).await;
            let fault = session.end(result.map_err(Fault::from)).await.unwrap_err();
            assert_eq!(fault.keeps_connection(), leaves, "{code}");
            let error = fault.during("test");
            assert_eq!((error.kind(), error.retry()), (kind, retry), "{code}");
            let shown = format!("{error} {error:?} {:?}", std::error::Error::source(&error));
            assert!(shown.contains(code) && !shown.contains("hunter2"), "{shown}");
        }
        pool.close().await.unwrap();
    }
}
