//! Reading an answer: what is there, and then what comes.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use context_core::base::{StreamId, limits};
use context_core::store::{StoredStream, StreamState};
use context_core::{ChatRef, Store};
use futures_util::{Stream, stream};
use tokio::time::sleep;

use super::ability;
use super::error::StreamError;
use super::trying::persistently;

/// How long to wait before asking again, as long as nothing comes: twice as long each time, up to
/// the longest.
const SHORTEST: Duration = Duration::from_millis(25);
const LONGEST: Duration = Duration::from_millis(500);

/// A chunk of a stream. `Debug` shows how long it is, not what it says.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chunk {
    /// Which: whoever has it reads on at the next one.
    pub offset: u64,
    /// What it says.
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
/// It asks the store again and again, after 25 ms at first and half a second at last, and holds a
/// page of chunks at most.
pub struct AnswerReader {
    store: Arc<dyn Store>,
    chat: ChatRef,
    id: StreamId,
    /// The offset of the next chunk that is given.
    offset: u64,
    /// The run whose chunks these are, as soon as it is known.
    run: Option<u32>,
    ready: VecDeque<Bytes>,
    /// The stream as it was last heard of.
    stream: Option<StoredStream>,
    /// Whether what is ready is all that follows.
    is_last: bool,
    pause: Duration,
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
            pause: SHORTEST,
        }
    }

    /// Reads this run alone, as somebody must who goes on at an offset of it:
    /// [`StreamError::BegunAnew`] if it is another by now.
    #[must_use]
    pub fn of_run(mut self, run: u32) -> Self {
        self.run = Some(run);
        self
    }

    /// The offset of the next chunk.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The run that is read, as soon as something was read.
    pub fn run(&self) -> Option<u32> {
        self.run
    }

    /// The stream as it was last heard of: behind the end, how it has ended.
    pub fn stream(&self) -> Option<&StoredStream> {
        self.stream.as_ref()
    }

    /// The next chunk, as soon as there is one. Nothing behind the last one of a stream that ended
    /// well or was cancelled. A future that is dropped has taken no chunk.
    ///
    /// [`StreamError::Failed`] behind the last chunk of an answer that failed;
    /// [`StreamError::Missing`] if there is no such stream, [`StreamError::Vanished`] and
    /// [`StreamError::BegunAnew`] if it is gone since.
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
            let found = self.read().await?;
            if !found && !self.is_last {
                let pause = self.pause;
                self.pause = (pause * 2).min(LONGEST);
                sleep(pause).await;
            }
        }
    }

    /// The chunks as a stream, which ends behind the first error.
    pub fn into_stream(self) -> impl Stream<Item = Result<Chunk, StreamError>> + Send {
        stream::try_unfold(self, |mut reader| async move {
            Ok(reader.next().await?.map(|chunk| (chunk, reader)))
        })
    }

    /// Reads a page; whether there was a chunk in it.
    async fn read(&mut self) -> Result<bool, StreamError> {
        let streams = ability(&*self.store)?;
        let read = || streams.read_stream(&self.chat, &self.id, self.offset, limits::MAX_PAGE);
        let stream = || self.id.clone();
        let Some(part) = persistently(read).await? else {
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
