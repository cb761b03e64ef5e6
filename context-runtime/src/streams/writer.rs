//! Writing an answer while it comes.

use std::fmt::{self, Display};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use context_core::base::{StreamId, StreamWriter, limits};
use context_core::store::{StoredStream, StreamAppend, StreamClaim, StreamEnd, StreamOutcome};
use context_core::{ChatRef, Clock, ErrorKind, Store, Timestamp};
use futures_util::{Stream, StreamExt};
use tokio::time::timeout;

use super::error::StreamError;
use super::trying::persistently;
use super::{Streams, ability};

/// How an answer is written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriteOptions {
    /// How many chunks wait at most until they are stored together; at most [`limits::MAX_PAGE`].
    pub chunks: usize,
    /// How many bytes wait at most.
    pub bytes: usize,
    /// How long a chunk waits at most, as far as something is pushed meanwhile;
    /// [`AnswerWriter::write_all`] looks by itself.
    pub delay: Duration,
    /// How often [`AnswerWriter::write_all`] says that it is still there, and hears of a wish to
    /// cancel, while nothing comes.
    pub heartbeat: Duration,
    /// Takes a stream over whose writer was not heard of for so long. Longer than that writer's
    /// heartbeat.
    pub take_over: Option<Duration>,
    /// The writer's name; a fresh one if there is none. Whoever comes back under the same name is
    /// the same writer, so no two may use one at once.
    pub writer: Option<StreamWriter>,
}

impl Default for WriteOptions {
    /// Stores 20 chunks, 64 KiB or what has come within 100 ms at once; a heartbeat each second;
    /// takes nothing over.
    fn default() -> Self {
        Self {
            chunks: 20,
            bytes: 64 << 10,
            delay: Duration::from_millis(100),
            heartbeat: Duration::from_secs(1),
            take_over: None,
            writer: None,
        }
    }
}

impl WriteOptions {
    /// Stores each chunk at once.
    #[must_use]
    pub fn immediate(mut self) -> Self {
        self.chunks = 1;
        self
    }

    /// Takes a stream over whose writer was not heard of for so long.
    #[must_use]
    pub fn take_over(mut self, idle: Duration) -> Self {
        self.take_over = Some(idle);
        self
    }

    /// Writes under this name.
    #[must_use]
    pub fn writer(mut self, name: impl Into<StreamWriter>) -> Self {
        self.writer = Some(name.into());
        self
    }
}

/// What is wanted of a writer next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum Demand {
    /// More chunks.
    More,
    /// An end: somebody has asked to cancel. The writer decides when, with
    /// [`StreamEnd::Cancelled`].
    Stop,
}

/// Writes a stream. Made by [`Streams::write`].
///
/// What waits is stored when it is much or has waited long, with [`flush`](Self::flush), and at the
/// end. A call that fails, or whose future is dropped, loses nothing: the next one sends what was
/// under way again, and the store knows what it has. A writer that is dropped without an
/// [`end`](Self::end) leaves the stream running, for somebody to take over; if chunks go with it, a
/// warning is traced.
pub struct AnswerWriter {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    chat: ChatRef,
    writer: StreamWriter,
    options: WriteOptions,
    /// The stream as it was last heard of.
    stream: StoredStream,
    /// The offset of the first chunk that is not known to be stored.
    offset: u64,
    /// Sent, and not known to be stored: sent again as it is before anything else.
    in_flight: Option<StreamAppend>,
    waiting: Vec<Bytes>,
    bytes: usize,
    /// Since when the oldest waits.
    since: Option<Timestamp>,
}

impl Drop for AnswerWriter {
    /// Says that chunks go with the writer. A stream that is left running is no loss: somebody may
    /// take it over.
    fn drop(&mut self) {
        let sent = self.in_flight.as_ref().map_or(0, |append| append.chunks.len());
        let chunks = sent + self.waiting.len();
        if chunks > 0 && !self.stream.state.is_final() {
            tracing::warn!(
                chat = %self.chat.chat,
                stream = %self.stream.id,
                chunks,
                "a writer is dropped with chunks that are not known to be stored: call `flush` or `end` before"
            );
        }
    }
}

impl fmt::Debug for AnswerWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("AnswerWriter");
        shown
            .field("chat", &self.chat)
            .field("stream", &self.stream.id)
            .field("offset", &self.offset);
        shown.field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}

impl AnswerWriter {
    pub(super) async fn open(
        streams: &Streams,
        id: StreamId,
        options: WriteOptions,
    ) -> Result<Self, StreamError> {
        let Streams { store, chat, clock, ids } = streams;
        let open = ability(&**store)?;
        let now = clock.now();
        let writer = options.writer.clone().unwrap_or_else(|| ids.next_id().into());
        let mut claim = StreamClaim::new(writer.clone(), now);
        if let Some(idle) = options.take_over {
            claim = claim.take_over(before(now, idle));
        }
        let _created = persistently(|| open.create_stream(chat, &id, now)).await?;
        let stream = match persistently(|| open.claim_stream(chat, &id, &claim)).await? {
            StreamOutcome::Applied(stream) | StreamOutcome::Replayed(stream) => stream,
            refused => return Err(refusal(refused.stream())),
        };
        Ok(Self {
            store: Arc::clone(store),
            clock: Arc::clone(clock),
            chat: chat.clone(),
            writer,
            options,
            offset: stream.chunks,
            stream,
            in_flight: None,
            waiting: Vec::new(),
            bytes: 0,
            since: None,
        })
    }

    /// How many chunks are known to be stored: at first, where somebody else has stopped.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The stream as it was last heard of.
    pub fn stream(&self) -> &StoredStream {
        &self.stream
    }

    /// Takes the next chunk, and stores what waits if it is much or has waited long.
    ///
    /// [`ErrorKind::Invalid`] for a chunk above [`limits::MAX_CHUNK_BYTES`], which is not taken,
    /// and if the stream would become too long: then what waits is dropped, and the stream can
    /// still be ended.
    pub async fn push(&mut self, chunk: impl Into<Bytes>) -> Result<Demand, StreamError> {
        let chunk = chunk.into();
        let now = self.clock.now();
        if chunk.len() > limits::MAX_CHUNK_BYTES {
            // It is refused here, so that it does not take others along.
            StreamAppend::new(self.writer.clone(), self.offset, [chunk.clone()], now)
                .check(&self.chat, &self.stream.id)?;
        }
        if self.stream.state.is_final() {
            return Err(refusal(&self.stream));
        }
        self.bytes += chunk.len();
        self.waiting.push(chunk);
        let since = *self.since.get_or_insert(now);
        let is_due = since <= before(now, self.options.delay);
        if is_due || self.waiting.len() >= self.options.chunks || self.bytes >= self.options.bytes {
            return self.flush().await;
        }
        Ok(self.demand())
    }

    /// Stores what waits.
    pub async fn flush(&mut self) -> Result<Demand, StreamError> {
        while self.in_flight.is_some() || !self.waiting.is_empty() {
            self.send(None).await?;
        }
        Ok(self.demand())
    }

    /// Stores what waits, or says that the writer is still there.
    pub async fn beat(&mut self) -> Result<Demand, StreamError> {
        if self.in_flight.is_none() && self.waiting.is_empty() && !self.stream.state.is_final() {
            self.send(None).await?;
        }
        self.flush().await
    }

    /// Stores what waits and ends the stream. May be called again if it fails; of several ends the
    /// first counts. What an error says is cut at [`limits::MAX_TITLE_BYTES`].
    pub async fn end(&mut self, end: StreamEnd) -> Result<StoredStream, StreamError> {
        let end = match end {
            StreamEnd::Failed(mut error) => {
                error.truncate(error.floor_char_boundary(limits::MAX_TITLE_BYTES));
                StreamEnd::Failed(error)
            }
            end => end,
        };
        while !self.stream.state.is_final() {
            self.send(Some(&end)).await?;
        }
        Ok(self.stream.clone())
    }

    /// Writes all that a source gives, and ends as it ends: well, or with its error's text. If
    /// somebody asks to cancel, the source is dropped.
    pub async fn write_all<E: Display>(
        mut self,
        source: impl Stream<Item = Result<impl Into<Bytes>, E>>,
    ) -> Result<StoredStream, StreamError> {
        let mut source = pin!(source);
        loop {
            let idle = self.in_flight.is_none() && self.waiting.is_empty();
            let wait = if idle { self.options.heartbeat } else { self.options.delay };
            let demand = match timeout(wait, source.next()).await {
                Err(_) => self.beat().await?,
                Ok(Some(Ok(chunk))) => self.push(chunk).await?,
                Ok(Some(Err(error))) => {
                    return self.end(StreamEnd::Failed(error.to_string())).await;
                }
                Ok(None) => return self.end(StreamEnd::Completed).await,
            };
            if demand == Demand::Stop {
                return self.end(StreamEnd::Cancelled).await;
            }
        }
    }

    fn demand(&self) -> Demand {
        if self.stream.cancel_requested_at.is_some() { Demand::Stop } else { Demand::More }
    }

    /// Sends what is under way, else the next of what waits, with the end behind the last of it.
    async fn send(&mut self, end: Option<&StreamEnd>) -> Result<(), StreamError> {
        let append = match self.in_flight.take() {
            Some(append) => append,
            None => self.next_append(end),
        };
        // From here on the future may be dropped.
        let append = self.in_flight.insert(append);
        let streams = ability(&*self.store)?;
        let sent =
            persistently(|| streams.append_stream(&self.chat, &self.stream.id, append.clone()))
                .await;
        match sent {
            Ok(StreamOutcome::Applied(stream) | StreamOutcome::Replayed(stream)) => {
                self.offset += append.chunks.len() as u64;
                self.stream = stream;
                self.in_flight = None;
                Ok(())
            }
            Ok(refused) => Err(refusal(refused.stream())),
            Err(error) => {
                if error.kind() == ErrorKind::Invalid {
                    (self.in_flight, self.since, self.bytes) = (None, None, 0);
                    self.waiting.clear();
                }
                Err(error.into())
            }
        }
    }

    fn next_append(&mut self, end: Option<&StreamEnd>) -> StreamAppend {
        let rest = self.waiting.split_off(self.waiting.len().min(limits::MAX_PAGE));
        let chunks = std::mem::replace(&mut self.waiting, rest);
        self.bytes = self.waiting.iter().map(Bytes::len).sum();
        let now = self.clock.now();
        self.since = (!self.waiting.is_empty()).then_some(now);
        let append = StreamAppend::new(self.writer.clone(), self.offset, chunks, now);
        match end.filter(|_| self.waiting.is_empty()) {
            Some(end) => append.end(end.clone()),
            None => append,
        }
    }
}

/// What a refusal means: the stream has ended, or another writer has it.
fn refusal(stream: &StoredStream) -> StreamError {
    let id = stream.id.clone();
    if stream.state.is_final() {
        StreamError::Ended { stream: id }
    } else {
        StreamError::Taken { stream: id }
    }
}

/// The time so long before.
fn before(at: Timestamp, by: Duration) -> Timestamp {
    let by = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(at.as_micros().saturating_sub(by))
}
