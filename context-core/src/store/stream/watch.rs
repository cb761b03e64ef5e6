//! Watching a stream for changes.

use async_trait::async_trait;

use crate::Result;

/// Waits for changes of one stream. Made by
/// [`StreamStore::watch_stream`](super::StreamStore::watch_stream), and ends when it is dropped.
///
/// A reader begins the watch, reads the stream, and then waits: a change after the beginning of the
/// watch is either seen by the read or ends the wait.
///
/// Contract with implementors: every change of the stream by any handle in any process ends a wait
/// that began before it, or the next one: a change of its state, of its chunks or of a cancel
/// request, a restart, and its removal, also together with its chat. A wait may end without a
/// change. A watch that may miss changes, such as one whose connection broke, returns an error to
/// everyone who waits. The end of a wait needs the writing process to live until it has told the
/// server, so a caller still reads now and then, every half minute, say.
#[async_trait]
pub trait StreamWatch: Send + Sync {
    /// Waits until the stream may have changed since the watch began or since this method last
    /// returned. A dropped future loses no change.
    ///
    /// Returns an error if the watch may miss changes from now on. It is of no more use then: the
    /// caller reads the stream, and begins another watch or polls.
    async fn changed(&mut self) -> Result<()>;
}
