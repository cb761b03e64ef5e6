//! Answers in flight: written chunk by chunk while they are generated, and read from any offset.
//!
//! [`Streams`] are the streams of one chat.
//! [`ContextEngine::streams`](crate::ContextEngine::streams) returns those of its chat. An
//! [`AnswerWriter`] claims a stream and appends to it. An [`AnswerReader`] replays it from an
//! offset and then follows it. Both may be in different processes, if these share the store. The
//! caller decides what a chunk is: an event as it is sent to a browser, a line, some bytes. One
//! content has a meaning: an [error part](AnswerWriter::push) ends the stream as failed.
//!
//! Chunks that a writer has acknowledged are stored. Buffered chunks, at most
//! [`WriteOptions::chunks`], are lost with the process. The next writer that claims the stream
//! continues at the stored offset, without a gap. This module removes no streams. Call
//! [`StreamStore::prune_streams`] for that.
//!
//! # An answer that survives a reconnect
//!
//! ```
//! use context_runtime::streams::{Demand, WriteOptions};
//! use context_runtime::{ContextEngine, store::StreamEnd};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let store = context_runtime::open("mem:").await?;
//! # if store.streams().is_none() { return Ok(()); }
//! let chat = ContextEngine::builder(store).user("ada").chat("lisbon").open().await?;
//! let streams = chat.streams();
//!
//! let mut answer = streams.write("answer-1", WriteOptions::default()).await?;
//! for event in ["Window", " or", " aisle?"] {
//!     if answer.push(event).await? == Demand::Stop {
//!         break; // somebody has asked to cancel
//!     }
//! }
//! answer.flush().await?;
//!
//! let mut reader = streams.follow("answer-1", 0);
//! let first = reader.next().await?.ok_or("a chunk")?;
//! assert_eq!((first.offset, &*first.bytes), (0, b"Window".as_slice()));
//! drop(reader); // the connection is lost here; the browser knows the last offset it has seen
//!
//! let mut reader = streams.follow("answer-1", first.offset + 1);
//! answer.end(StreamEnd::Completed).await?;
//! let mut rest = Vec::new();
//! while let Some(chunk) = reader.next().await? {
//!     rest.extend_from_slice(&chunk.bytes);
//! }
//! assert_eq!(rest, b" or aisle?");
//! # Ok(())
//! # }
//! ```

mod error;
mod error_part;
mod reader;
mod retry;
mod writer;

use std::fmt;
use std::sync::Arc;

use context_core::base::StreamId;
use context_core::store::{StoredStream, StreamOutcome, StreamStore};
use context_core::{ChatRef, Clock, Error, ErrorKind, IdGenerator, Result, Store};

pub use self::error::StreamError;
pub use self::reader::{AnswerReader, Chunk};
pub use self::writer::{AnswerWriter, Demand, WriteOptions};

/// The streams of one chat.
#[derive(Clone)]
pub struct Streams {
    store: Arc<dyn Store>,
    chat: ChatRef,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
}

impl fmt::Debug for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams").field("chat", &self.chat).finish_non_exhaustive()
    }
}

impl Streams {
    /// Creates the handle for the streams of a chat, with a clock and a generator of writer names.
    pub fn new(
        store: Arc<dyn Store>,
        chat: ChatRef,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
    ) -> Self {
        Self { store, chat, clock, ids }
    }

    /// Creates a stream if it does not exist, and claims it. A stream that another writer began is
    /// continued at [`AnswerWriter::offset`].
    ///
    /// Returns [`StreamError::Taken`] if another writer has it, and [`StreamError::Ended`] if it
    /// has ended.
    pub async fn write(
        &self,
        stream: impl Into<StreamId>,
        options: WriteOptions,
    ) -> Result<AnswerWriter, StreamError> {
        AnswerWriter::open(self, stream.into(), options).await
    }

    /// Returns a reader that reads a stream from an offset and follows it. Does not access the
    /// store yet.
    pub fn follow(&self, stream: impl Into<StreamId>, offset: u64) -> AnswerReader {
        AnswerReader::new(Arc::clone(&self.store), self.chat.clone(), stream.into(), offset)
    }

    /// Creates a stream that will be written later, so that readers find it. Returns whether it is
    /// new.
    pub async fn register(&self, stream: impl Into<StreamId>) -> Result<bool> {
        let outcome =
            self.open()?.create_stream(&self.chat, &stream.into(), self.clock.now()).await?;
        Ok(matches!(outcome, StreamOutcome::Applied(_)))
    }

    /// Requests the end of a stream. A stream that waits for its writer is cancelled. A stream that
    /// is being written ends when its writer sees the request.
    pub async fn cancel(&self, stream: impl Into<StreamId>) -> Result<StoredStream> {
        self.open()?.cancel_stream(&self.chat, &stream.into(), self.clock.now()).await
    }

    /// Restarts a stream that has ended, without its chunks. `run` is the run that the caller has
    /// seen.
    ///
    /// Returns [`StreamError::Taken`] if it has not ended, and [`StreamError::BegunAnew`] if
    /// another caller has reopened it.
    pub async fn reopen(
        &self,
        stream: impl Into<StreamId>,
        run: u32,
    ) -> Result<StoredStream, StreamError> {
        let stream = stream.into();
        match self.open()?.reopen_stream(&self.chat, &stream, run, self.clock.now()).await? {
            StreamOutcome::Applied(stream) | StreamOutcome::Replayed(stream) => Ok(stream),
            refused if refused.stream().run != run => {
                Err(StreamError::BegunAnew { stream, run: refused.stream().run })
            }
            _ => Err(StreamError::Taken { stream }),
        }
    }

    /// Returns the state of a stream, or `None` if it does not exist.
    pub async fn get(&self, stream: impl Into<StreamId>) -> Result<Option<StoredStream>> {
        self.open()?.stream(&self.chat, &stream.into()).await
    }

    fn open(&self) -> Result<&dyn StreamStore> {
        ability(&*self.store)
    }
}

/// Returns the stream ability of a store, which not every store has.
fn ability(store: &dyn Store) -> Result<&dyn StreamStore> {
    store.streams().ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "streams", "this store keeps no streams")
            .with("store", store.info().name)
    })
}
