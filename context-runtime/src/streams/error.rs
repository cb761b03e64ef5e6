//! What can happen to who writes or reads a stream.

use context_core::{Error, StreamId};

/// Why an answer cannot be written or read on.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// From the store.
    #[error(transparent)]
    Store(#[from] Error),
    /// Somebody else writes the stream, or may do so.
    #[error("stream {stream} is in somebody else's hands")]
    Taken {
        /// Which.
        stream: StreamId,
    },
    /// The stream has ended and takes no more chunks.
    #[error("stream {stream} has ended")]
    Ended {
        /// Which.
        stream: StreamId,
    },
    /// There is no such stream, though the chat is there.
    #[error("there is no stream {stream}")]
    Missing {
        /// Which.
        stream: StreamId,
    },
    /// The stream was there and was removed.
    #[error("stream {stream} was removed")]
    Vanished {
        /// Which.
        stream: StreamId,
    },
    /// The stream was begun anew: what was read of it belongs to an earlier run.
    #[error("stream {stream} was begun anew")]
    BegunAnew {
        /// Which.
        stream: StreamId,
        /// The run it is in now.
        run: u32,
    },
    /// The answer failed. All its chunks have been read.
    #[error("stream {stream} failed")]
    Failed {
        /// Which.
        stream: StreamId,
        /// What its writer said about it, for people.
        error: String,
    },
}

context_core::readable_debug!(StreamError);
