//! The errors of a cell.

use context_core::Error;
use context_servers::ServerError;

/// The reason why a cell has no row.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CellError {
    #[error("{0}")]
    NoServer(String),
    #[error("a server of the test: {0}")]
    Server(ServerError),
    #[error("the store: {0:?}")]
    Store(#[from] Error),
    #[error("the test: {0}")]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Story(String),
}

impl From<ServerError> for CellError {
    fn from(error: ServerError) -> Self {
        let required =
            std::env::var_os("CONTEXT_REQUIRE_SERVICES").is_some_and(|value| !value.is_empty());
        match error {
            ServerError::NotInstalled { .. } if !required => Self::NoServer(error.to_string()),
            error => Self::Server(error),
        }
    }
}
