//! What can happen to who writes or reads a stream.

use context_core::Error;
use context_core::base::StreamId;
use context_core::base::shown::shown;

/// Why an answer cannot be written or read on.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// From the store.
    #[error(transparent)]
    Store(#[from] Error),
    /// Somebody else writes the stream, or may do so.
    #[error("stream {} is in somebody else's hands", shown(.stream))]
    Taken {
        /// Which.
        stream: StreamId,
    },
    /// The stream has ended and takes no more chunks.
    #[error("stream {} has ended", shown(.stream))]
    Ended {
        /// Which.
        stream: StreamId,
    },
    /// There is no such stream, though the chat is there.
    #[error("there is no stream {}", shown(.stream))]
    Missing {
        /// Which.
        stream: StreamId,
    },
    /// The stream was there and was removed.
    #[error("stream {} was removed", shown(.stream))]
    Vanished {
        /// Which.
        stream: StreamId,
    },
    /// The stream was begun anew: what was read of it belongs to an earlier run.
    #[error("stream {} was begun anew", shown(.stream))]
    BegunAnew {
        /// Which.
        stream: StreamId,
        /// The run it is in now.
        run: u32,
    },
    /// The answer failed. All its chunks have been read.
    #[error("stream {} failed", shown(.stream))]
    Failed {
        /// Which.
        stream: StreamId,
        /// What its writer said about it, for people.
        error: String,
    },
}

context_core::readable_debug!(StreamError);
