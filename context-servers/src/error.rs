//! What goes wrong with a server.

use std::error::Error as _;
use std::path::PathBuf;
use std::{fmt, io};

/// What to run to have both servers installed.
pub const INSTALL: &str = "`apt-get install -y --no-install-recommends postgresql redis-server` on Debian and Ubuntu, \
                           `brew install postgresql redis` on macOS";

/// A server could not be found, started, reached or ended.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The program is nowhere.
    #[error("there is no {program} in {}; install it: {INSTALL}", list(searched))]
    NotInstalled {
        /// The program.
        program: &'static str,
        /// Where it was looked for.
        searched: Vec<PathBuf>,
    },
    /// Something of the operating system failed.
    #[error("could not {doing}")]
    Io {
        /// What was tried.
        doing: String,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// The server ended, or did not answer in time.
    #[error("{server} {why}; the end of its log:\n{log}")]
    NotReady {
        /// The server.
        server: &'static str,
        /// What became of it.
        why: String,
        /// The last lines it wrote.
        log: String,
    },
    /// The server answered with an error.
    #[error("{server} refused {what}: {message}")]
    Refused {
        /// The server.
        server: &'static str,
        /// What it was asked.
        what: String,
        /// What it said.
        message: String,
    },
    /// Called by root, and there is nobody else to run a server as.
    #[error("a server does not run as root, and there is neither a user `postgres` nor `nobody`")]
    NoAccount,
    /// No port of this machine is free.
    #[error("no port between {first} and {last} is free")]
    NoPort {
        /// The first that was tried.
        first: u16,
        /// The last.
        last: u16,
    },
}

/// For people: a program whose `main` returns it, or a test that unwraps it, prints its `Debug`.
impl fmt::Debug for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        self.source().map_or(Ok(()), |source| write!(f, "\n  caused by: {source}"))
    }
}

impl ServerError {
    /// For `map_err`: what was tried.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}

fn list(searched: &[PathBuf]) -> String {
    let paths: Vec<_> = searched.iter().map(|path| path.display().to_string()).collect();
    if paths.is_empty() { "any known place".to_owned() } else { paths.join(", ") }
}
