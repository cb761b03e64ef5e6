//! Reading an answer: the stored chunks, then new ones as they arrive.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use context_core::base::{StreamId, limits};
use context_core::store::{StoredStream, StreamState, StreamWatch};
use context_core::{ChatRef, Store};
use futures_util::{Stream, stream};
use tokio::time::{Instant, sleep, timeout};

use super::ability;
use super::error::StreamError;
use super::retry::retry;

/// The wait between polls while no chunk arrives and the store cannot watch the stream. It doubles
/// with each poll, from the shortest to the longest.
const SHORTEST: Duration = Duration::from_millis(25);
const LONGEST: Duration = Duration::from_millis(500);
/// The longest wait for a watch. The writing process may have died before it told of a change.
const LONGEST_WATCH: Duration = Duration::from_secs(30);
/// The wait after a watch failed, before another one begins.
const WATCH_AGAIN: Duration = Duration::from_secs(5);

/// A chunk of a stream. `Debug` shows its length, not its content.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chunk {
    /// The offset of the chunk. A reader continues at the next one.
    pub offset: u64,
    /// The content.
    pub bytes: Bytes,
}

impl fmt::Debug for Chunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunk")
            .field("offset", &self.offset)
            .field("bytes", &self.bytes.len())
            .finish()
    }
}

/// Reads a stream and follows it. Made by [`Streams::follow`](super::Streams::follow).
///
/// The reader holds at most one page of chunks. While it waits, the store wakes it when the stream
/// changes; in addition it reads every 30 seconds. It polls a store that [cannot
/// watch](context_core::store::StreamStore::watch_stream) streams, after 25 ms at first and up to
/// every half second.
pub struct AnswerReader {
    store: Arc<dyn Store>,
    chat: ChatRef,
    id: StreamId,
    /// The offset of the next chunk to return.
    offset: u64,
    /// The run of these chunks, once it is known.
    run: Option<u32>,
    ready: VecDeque<Bytes>,
    /// The state of the stream as last read.
    stream: Option<StoredStream>,
    /// Whether the ready chunks are the last ones.
    is_last: bool,
    watch: WatchState,
    /// Whether the watch has reported no change since the reader read all there was.
    is_current: bool,
    pause: Duration,
}

/// The watch of a reader.
enum WatchState {
    /// The reader has not waited yet.
    NotBegun,
    /// The store wakes the reader.
    Watching(Box<dyn StreamWatch>),
    /// The reader polls until then.
    Failed(Instant),
    /// The reader polls, because the store cannot watch.
    Unavailable,
}

impl fmt::Debug for AnswerReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("AnswerReader");
        shown.field("chat", &self.chat).field("stream", &self.id).field("offset", &self.offset);
        shown.field("ready", &self.ready.len()).finish_non_exhaustive()
    }
}

impl AnswerReader {
    pub(super) fn new(store: Arc<dyn Store>, chat: ChatRef, id: StreamId, offset: u64) -> Self {
        Self {
            store,
            chat,
            id,
            offset,
            run: None,
            ready: VecDeque::new(),
            stream: None,
            is_last: false,
            watch: WatchState::NotBegun,
            is_current: false,
            pause: SHORTEST,
        }
    }

    /// Restricts the reader to this run, as needed to continue at one of its offsets. Another run
    /// is [`StreamError::BegunAnew`].
    #[must_use]
    pub fn of_run(mut self, run: u32) -> Self {
        self.run = Some(run);
        self
    }

    /// The offset of the next chunk.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The run of the chunks, once something was read.
    pub fn run(&self) -> Option<u32> {
        self.run
    }

    /// The state of the stream as last read. After the end it says how the stream ended.
    pub fn stream(&self) -> Option<&StoredStream> {
        self.stream.as_ref()
    }

    /// Returns the next chunk, and waits until there is one. Returns `None` after the last chunk of
    /// a stream that was completed or cancelled. A dropped future has consumed no chunk.
    ///
    /// Returns [`StreamError::Failed`] after the last chunk of an answer that failed,
    /// [`StreamError::Missing`] if the stream does not exist, and [`StreamError::Vanished`] or
    /// [`StreamError::BegunAnew`] if it was removed or restarted since.
    pub async fn next(&mut self) -> Result<Option<Chunk>, StreamError> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                let offset = self.offset;
                self.offset += 1;
                return Ok(Some(Chunk { offset, bytes }));
            }
            if self.is_last {
                return self.ended();
            }
            if !self.is_current {
                let found = self.read().await?;
                if found || self.is_last {
                    continue;
                }
            }
            self.wait().await?;
        }
    }

    /// Waits until the stream may have changed, or until it is time to read again.
    async fn wait(&mut self) -> Result<(), StreamError> {
        if let WatchState::Watching(watch) = &mut self.watch {
            let changed = timeout(LONGEST_WATCH, watch.changed()).await;
            self.is_current = false;
            if let Ok(Err(_)) = changed {
                // Nothing is lost: the next read sees what the watch may have missed.
                self.watch = WatchState::Failed(Instant::now() + WATCH_AGAIN);
            }
            return Ok(());
        }
        let begins = match &self.watch {
            WatchState::NotBegun => true,
            WatchState::Failed(until) => *until <= Instant::now(),
            WatchState::Watching(_) | WatchState::Unavailable => false,
        };
        if begins {
            let streams = ability(&*self.store)?;
            self.watch = match streams.watch_stream(&self.chat, &self.id).await {
                Ok(Some(watch)) => WatchState::Watching(watch),
                Ok(None) => WatchState::Unavailable,
                Err(_) => WatchState::Failed(Instant::now() + WATCH_AGAIN),
            };
            if let WatchState::Watching(_) = self.watch {
                // The stream may have changed between the last read and the begin of the watch.
                return Ok(());
            }
        }
        let pause = self.pause;
        self.pause = (pause * 2).min(LONGEST);
        sleep(pause).await;
        Ok(())
    }

    /// Returns the chunks as a stream that ends after the first error.
    pub fn into_stream(self) -> impl Stream<Item = Result<Chunk, StreamError>> + Send {
        stream::try_unfold(self, |mut reader| async move {
            Ok(reader.next().await?.map(|chunk| (chunk, reader)))
        })
    }

    /// Reads a page. Returns whether it had a chunk.
    async fn read(&mut self) -> Result<bool, StreamError> {
        let streams = ability(&*self.store)?;
        let read = || streams.read_stream(&self.chat, &self.id, self.offset, limits::MAX_PAGE);
        let stream = || self.id.clone();
        let Some(part) = retry(read).await? else {
            return Err(match self.stream {
                None => StreamError::Missing { stream: stream() },
                Some(_) => StreamError::Vanished { stream: stream() },
            });
        };
        let run = part.stream.run;
        if self.run.is_some_and(|known| known != run) {
            return Err(StreamError::BegunAnew { stream: stream(), run });
        }
        self.run = Some(run);
        self.is_last = part.is_last();
        self.is_current =
            matches!(self.watch, WatchState::Watching(_)) && part.next() >= part.stream.chunks;
        self.stream = Some(part.stream);
        self.ready = part.chunks.into();
        let found = !self.ready.is_empty();
        if found {
            self.pause = SHORTEST;
        }
        Ok(found)
    }

    fn ended(&self) -> Result<Option<Chunk>, StreamError> {
        match &self.stream {
            Some(stream) if stream.state == StreamState::Failed => Err(StreamError::Failed {
                stream: self.id.clone(),
                error: stream.error.clone().unwrap_or_default(),
            }),
            _ => Ok(None),
        }
    }
}
