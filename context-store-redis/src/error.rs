//! Internal failures of the store, and their conversion to the store error.

use context_core::{Error, ErrorKind, Retry};
use context_store_kit::pack::UnpackError;
use redis::{ErrorKind as DriverKind, RedisError, ServerErrorKind};

/// A failure inside the store, before the failed operation is known.
#[derive(Debug)]
pub(crate) enum Fault {
    /// An error of the driver or the server.
    Driver(RedisError),
    /// An error that is already in its public form.
    Public(Error),
    /// The server holds data that this program never writes.
    Corrupt(&'static str, Option<UnpackError>),
    /// Other writers were faster at every attempt.
    Contended,
    /// A write through a read-only handle.
    ReadOnly,
}

pub(crate) type Result<T, E = Fault> = std::result::Result<T, E>;

impl From<RedisError> for Fault {
    fn from(error: RedisError) -> Self {
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
            Self::Contended => {
                let message = "other writers changed the data first at every attempt";
                Error::new(ErrorKind::Unavailable, operation, message).with_retry(Retry::Safe)
            }
            Self::ReadOnly => {
                Error::new(ErrorKind::Unsupported, operation, "the store was opened read-only")
            }
            Self::Driver(error) => driver_error(operation, error),
        }
    }
}

fn driver_error(operation: &'static str, error: RedisError) -> Error {
    use ErrorKind::{Bug, Corrupt, Invalid, Timeout, Unavailable};
    use Retry::{Never, Safe};
    let (kind, retry, message) = match error.kind() {
        DriverKind::Server(kind) => match kind {
            ServerErrorKind::BusyLoading => (Unavailable, Safe, "the server is loading its data"),
            ServerErrorKind::ClusterDown => (Unavailable, Safe, "the cluster is down"),
            ServerErrorKind::TryAgain | ServerErrorKind::Moved | ServerErrorKind::Ask => {
                (Unavailable, Safe, "the cluster is moving keys between its nodes")
            }
            ServerErrorKind::MasterDown => (Unavailable, Safe, "the server has lost its master"),
            ServerErrorKind::ReadOnly => {
                (Unavailable, Safe, "the server is a replica that cannot be written to")
            }
            ServerErrorKind::NoPerm => {
                (Unavailable, Never, "the user of the server has no permission for this command")
            }
            ServerErrorKind::NoScript => (Unavailable, Safe, "the server no longer has the script"),
            ServerErrorKind::ResponseError => of_code(error.detail().unwrap_or_default()),
            _ => (Bug, Never, "a command failed"),
        },
        DriverKind::Extension => of_code(error.code().unwrap_or_default()),
        DriverKind::Io if is_permanent(&error) => {
            (Unavailable, Never, "the system refuses a connection to this address")
        }
        DriverKind::Io if error.is_timeout() => {
            (Timeout, Safe, "the server did not answer in time")
        }
        DriverKind::Io => (Unavailable, Safe, "the server cannot be reached"),
        DriverKind::ClusterConnectionNotFound => {
            (Unavailable, Safe, "no node of the cluster can be reached")
        }
        DriverKind::AuthenticationFailed => {
            (Unavailable, Never, "the server did not accept the login")
        }
        DriverKind::InvalidClientConfig => (Invalid, Never, "the address cannot be used"),
        DriverKind::RESP3NotSupported => {
            (Invalid, Never, "the server does not support this version of the protocol")
        }
        DriverKind::Parse => (Unavailable, Safe, "the answer of the server cannot be parsed"),
        DriverKind::UnexpectedReturnType => {
            (Corrupt, Never, "a stored value has another type than this program writes")
        }
        _ => (Bug, Never, "a command failed"),
    };
    let error =
        Error::new(kind, operation, message).with_retry(retry).with_source(Cause::of(&error));
    if message == OUT_OF_MEMORY.2 { error.with("limit", "maxmemory") } else { error }
}

/// Whether the connection can never succeed: a socket without permission, an invalid address, an
/// untrusted certificate.
fn is_permanent(error: &RedisError) -> bool {
    use std::io::ErrorKind::{InvalidData, InvalidInput, PermissionDenied, Unsupported};
    // The driver keeps the cause in an `Arc`.
    type Shared = std::sync::Arc<dyn std::error::Error + Send + Sync>;
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<Shared>());
    let io = cause.and_then(|cause| cause.downcast_ref::<std::io::Error>());
    io.is_some_and(|io| {
        matches!(io.kind(), InvalidData | InvalidInput | PermissionDenied | Unsupported)
    })
}

const OUT_OF_MEMORY: (ErrorKind, Retry, &str) =
    (ErrorKind::Unavailable, Retry::Never, "the server has no memory left");

/// Classifies errors that the driver does not know by name. Errors inside a script are texts that
/// begin with the code.
fn of_code(text: &str) -> (ErrorKind, Retry, &'static str) {
    use ErrorKind::{Bug, Corrupt, Invalid, Unavailable};
    let is = |code: &str| text.split(|c: char| !c.is_ascii_uppercase()).any(|word| word == code);
    if is("OOM") {
        OUT_OF_MEMORY
    } else if is("BUSY") {
        (Unavailable, Retry::Safe, "the server is busy with a script")
    } else if is("MISCONF") {
        (Unavailable, Retry::Never, "the server cannot save its data and rejects writes")
    } else if is("NOREPLICAS") {
        (Unavailable, Retry::Safe, "the server has too few replicas to accept writes")
    } else if is("READONLY") {
        (Unavailable, Retry::Safe, "the server is a replica that cannot be written to")
    } else if is("UNKILLABLE") {
        (Unavailable, Retry::Safe, "the server is busy with a script")
    } else if is("NOPERM") {
        (Unavailable, Retry::Never, "the user of the server has no permission for this command")
    } else if is("NOAUTH") || is("WRONGPASS") || is("NOPROTO") || is("DENIED") {
        (Unavailable, Retry::Never, "the server did not accept the login")
    } else if text.contains("DB index is out of range") {
        (Invalid, Retry::Never, "the server has no database of this number")
    } else if is("WRONGTYPE") {
        (Corrupt, Retry::Never, "a stored value has another type than this program writes")
    } else {
        (Bug, Retry::Never, "a command failed")
    }
}

/// The driver's error without the server's text, which may repeat arguments and thereby content.
#[derive(Debug, thiserror::Error)]
#[error("{category}{}", .code.as_ref().map(|code| format!(" {code}")).unwrap_or_default())]
struct Cause {
    category: String,
    code: Option<String>,
    #[source]
    source: Option<std::io::Error>,
}

impl Cause {
    fn of(error: &RedisError) -> Self {
        let server = matches!(error.kind(), DriverKind::Server(_) | DriverKind::Extension);
        let io = error.is_io_error() && !server;
        Self {
            category: error.category().to_owned(),
            code: error.code().filter(|_| server).map(ToOwned::to_owned),
            source: io.then(|| std::io::Error::other(error.to_string())),
        }
    }
}

/// Returns the error for a cursor that does not belong to this listing.
pub(crate) fn bad_cursor(operation: &'static str) -> Error {
    Error::invalid(operation, "the cursor is not one of this listing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: &str, detail: &str, expected: (ErrorKind, Retry)) -> Error {
        let reply = format!("-{code} {detail}\r\n");
        let value = redis::parse_redis_value(reply.as_bytes()).unwrap();
        let error = value.extract_error().unwrap_err();
        let error = Fault::from(error).during("commit");
        assert_eq!((error.kind(), error.retry()), expected, "{error:?}");
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        error
    }

    #[test]
    fn what_passes_is_safe_to_try_again() {
        use ErrorKind::{Bug, Unavailable};
        for code in
            ["LOADING", "CLUSTERDOWN", "TRYAGAIN", "READONLY", "MASTERDOWN", "BUSY", "NOREPLICAS"]
        {
            check(code, "the secret", (Unavailable, Retry::Safe));
        }
        let error = check(
            "OOM",
            "command not allowed when used memory > 'maxmemory'.",
            (Unavailable, Retry::Never),
        );
        assert_eq!(error.get("limit"), Some("maxmemory"));
        let script = "Error running script: @user_script:3: OOM command not allowed, secret";
        check("ERR", script, (Unavailable, Retry::Never));
        check(
            "ERR",
            "unknown command 'EVALSHA', with args beginning with: 'secret'",
            (Bug, Retry::Never),
        );
        check("NOAUTH", "Authentication required", (Unavailable, Retry::Never));
    }

    /// Error codes of the server are converted to these kinds.
    #[test]
    fn codes_of_the_server_are_kinds_of_ours() {
        use ErrorKind::{Bug, Corrupt, Invalid, Unavailable};
        use Retry::{Never, Safe};
        let table = [
            (
                "WRONGPASS",
                "invalid username-password pair or user is disabled.",
                Unavailable,
                Never,
            ),
            ("NOAUTH", "Authentication required.", Unavailable, Never),
            ("NOPERM", "this user has no permissions to run the 'set' command", Unavailable, Never),
            ("DENIED", "Redis is running in protected mode", Unavailable, Never),
            ("ERR", "DB index is out of range", Invalid, Never),
            ("ERR", "unknown command 'EVALSHA'", Bug, Never),
            (
                "WRONGTYPE",
                "Operation against a key holding the wrong kind of value",
                Corrupt,
                Never,
            ),
            ("OOM", "command not allowed when used memory > 'maxmemory'.", Unavailable, Never),
            ("MISCONF", "Redis is configured to save RDB snapshots", Unavailable, Never),
            ("LOADING", "Redis is loading the dataset in memory", Unavailable, Safe),
            ("MASTERDOWN", "Link with MASTER is down", Unavailable, Safe),
            ("CLUSTERDOWN", "The cluster is down", Unavailable, Safe),
            ("TRYAGAIN", "Multiple keys request during rehashing of slot", Unavailable, Safe),
            ("NOREPLICAS", "Not enough good replicas to write.", Unavailable, Safe),
            ("BUSY", "Redis is busy running a script", Unavailable, Safe),
            ("READONLY", "You can't write against a read only replica.", Unavailable, Safe),
        ];
        for (code, detail, kind, retry) in table {
            check(code, detail, (kind, retry));
        }
    }

    #[test]
    fn what_the_system_refuses_for_good_is_not_tried_again() {
        use std::io::{Error as Io, ErrorKind as Kind};
        for kind in [Kind::PermissionDenied, Kind::InvalidInput, Kind::InvalidData] {
            let error = Fault::from(RedisError::from(Io::from(kind))).during("open");
            assert_eq!(
                (error.kind(), error.retry()),
                (ErrorKind::Unavailable, Retry::Never),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn a_lost_connection_is_unavailable_and_silence_a_timeout() {
        use std::io::{Error as Io, ErrorKind as Kind};
        let error = |kind: Kind| Fault::from(RedisError::from(Io::from(kind))).during("chain");
        assert_eq!(error(Kind::ConnectionReset).kind(), ErrorKind::Unavailable);
        assert_eq!(error(Kind::TimedOut).kind(), ErrorKind::Timeout);
        assert_eq!(error(Kind::BrokenPipe).retry(), Retry::Safe);
    }
}
