//! Answers in flight: written chunk by chunk while they come, read by whoever wants them, from
//! wherever they were.
//!
//! [`Streams`] are the streams of one chat;
//! [`ContextEngine::streams`](crate::ContextEngine::streams) has those of its chat. An
//! [`AnswerWriter`] claims a stream and appends to it, an [`AnswerReader`] replays it from an
//! offset on and then follows. Both may be in different processes, as far as the store is shared.
//! What a chunk is, the caller decides: an event as it is sent to a browser, a line, some bytes.
//!
//! What a writer has acknowledged is stored. What it still holds, at most [`WriteOptions::chunks`]
//! chunks, goes with its process; whoever claims the stream after it goes on at the offset that is
//! stored, without a gap. Nothing here removes streams: [`StreamStore::prune_streams`] does, when
//! the program says so.
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
mod reader;
mod trying;
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
    /// The streams of a chat, with the time and the names of writers from elsewhere.
    pub fn new(
        store: Arc<dyn Store>,
        chat: ChatRef,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
    ) -> Self {
        Self { store, chat, clock, ids }
    }

    /// Creates a stream, unless it is there, and claims it. One that somebody has begun is gone on
    /// with, at [`AnswerWriter::offset`].
    ///
    /// [`StreamError::Taken`] if somebody else writes it, [`StreamError::Ended`] if it has ended.
    pub async fn write(
        &self,
        stream: impl Into<StreamId>,
        options: WriteOptions,
    ) -> Result<AnswerWriter, StreamError> {
        AnswerWriter::open(self, stream.into(), options).await
    }

    /// Reads a stream from an offset on, and follows it. Nothing is asked of the store yet.
    pub fn follow(&self, stream: impl Into<StreamId>, offset: u64) -> AnswerReader {
        AnswerReader::new(Arc::clone(&self.store), self.chat.clone(), stream.into(), offset)
    }

    /// Makes a stream known that somebody will write later, so that readers find it. True if it is
    /// new.
    pub async fn register(&self, stream: impl Into<StreamId>) -> Result<bool> {
        let outcome =
            self.open()?.create_stream(&self.chat, &stream.into(), self.clock.now()).await?;
        Ok(matches!(outcome, StreamOutcome::Applied(_)))
    }

    /// Asks for an end: a stream that waits for its writer is cancelled, one that is written ends
    /// when its writer hears of it.
    pub async fn cancel(&self, stream: impl Into<StreamId>) -> Result<StoredStream> {
        self.open()?.cancel_stream(&self.chat, &stream.into(), self.clock.now()).await
    }

    /// Begins a stream that has ended anew, without its chunks. `run` is the one the caller has
    /// seen.
    ///
    /// [`StreamError::Taken`] if it has not ended, [`StreamError::BegunAnew`] if somebody else has
    /// reopened it.
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

    /// The columns of a stream.
    pub async fn get(&self, stream: impl Into<StreamId>) -> Result<Option<StoredStream>> {
        self.open()?.stream(&self.chat, &stream.into()).await
    }

    fn open(&self) -> Result<&dyn StreamStore> {
        ability(&*self.store)
    }
}

/// The store's streams, which not every store has.
fn ability(store: &dyn Store) -> Result<&dyn StreamStore> {
    store.streams().ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "streams", "this store keeps no streams")
            .with("store", store.info().name)
    })
}
