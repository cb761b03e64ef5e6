//! The errors of writing and reading streams.

use context_core::base::StreamId;
use context_core::base::display::shown;
use context_core::{Error, ErrorKind};

/// The reason why an answer cannot be written or read.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] Error),
    /// Another writer has the stream, or may take it.
    #[error("stream {} belongs to another writer", shown(.stream))]
    Taken {
        /// The stream.
        stream: StreamId,
    },
    /// The stream has ended and accepts no more chunks.
    #[error("stream {} has ended", shown(.stream))]
    Ended {
        /// The stream.
        stream: StreamId,
    },
    /// The stream does not exist, but the chat does.
    #[error("there is no stream {}", shown(.stream))]
    Missing {
        /// The stream.
        stream: StreamId,
    },
    /// The stream existed and was removed.
    #[error("stream {} was removed", shown(.stream))]
    Vanished {
        /// The stream.
        stream: StreamId,
    },
    /// The stream was restarted: the chunks read so far belong to an earlier run.
    #[error("stream {} was started again", shown(.stream))]
    BegunAnew {
        /// The stream.
        stream: StreamId,
        /// Its current run.
        run: u32,
    },
    /// The answer failed. All its chunks have been read.
    #[error("stream {} failed", shown(.stream))]
    Failed {
        /// The stream.
        stream: StreamId,
        /// The writer's error message, as text for people.
        error: String,
    },
}

context_core::readable_debug!(StreamError);

impl From<StreamError> for Error {
    /// Converts to the common error type. The stream's error is among the sources.
    fn from(error: StreamError) -> Self {
        let kind = match &error {
            StreamError::Missing { .. } | StreamError::Vanished { .. } => ErrorKind::NotFound,
            StreamError::Store(_) | StreamError::Failed { .. } => ErrorKind::Unavailable,
            StreamError::Taken { .. }
            | StreamError::Ended { .. }
            | StreamError::BegunAnew { .. } => ErrorKind::Conflict,
        };
        match error {
            StreamError::Store(error) => error,
            error => Self::new(kind, "stream", error.to_string()).with_source(error),
        }
    }
}
