//! The error type of this crate.

use std::error::Error as _;
use std::path::PathBuf;
use std::{fmt, io};

/// The commands that install the servers.
pub const INSTALL: &str = "`apt-get install -y --no-install-recommends postgresql redis-server` on Debian and Ubuntu, \
                           `brew install postgresql redis` on macOS; `pip install 'moto[s3]' flask flask-cors` for S3";

/// An error while finding, starting, reaching or ending a server.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The program was not found.
    #[error("there is no {program} in {}; install it: {INSTALL}", list(searched))]
    NotInstalled {
        /// The name of the program.
        program: &'static str,
        /// The folders that were searched.
        searched: Vec<PathBuf>,
    },
    /// A system call failed.
    #[error("could not {doing}")]
    Io {
        /// The attempted action.
        doing: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The server exited, or did not answer in time.
    #[error("{server} {why}; the end of its log:\n{log}")]
    NotReady {
        /// The name of the server.
        server: &'static str,
        /// The state of the server.
        why: String,
        /// The last lines of its log.
        log: String,
    },
    /// The server answered with an error.
    #[error("{server} refused {request}: {message}")]
    Refused {
        /// The name of the server.
        server: &'static str,
        /// The request.
        request: String,
        /// The error message of the server.
        message: String,
    },
    /// The caller is root, and there is no other account to run a server as.
    #[error("a server does not run as root, and there is neither a user `postgres` nor `nobody`")]
    NoAccount,
    /// No port in the range is free.
    #[error("no port between {first} and {last} is free")]
    NoPort {
        /// The first port that was tried.
        first: u16,
        /// The last port that was tried.
        last: u16,
    },
}

/// Formats the error for people, since `main` and `unwrap` print its `Debug` form.
impl fmt::Debug for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        self.source().map_or(Ok(()), |source| write!(f, "\n  caused by: {source}"))
    }
}

impl ServerError {
    /// Returns a function for `map_err` that adds the attempted action.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}

fn list(searched: &[PathBuf]) -> String {
    let paths: Vec<_> = searched.iter().map(|path| path.display().to_string()).collect();
    if paths.is_empty() { "any known place".to_owned() } else { paths.join(", ") }
}
