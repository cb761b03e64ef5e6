//! Writing an answer while it is generated.

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
use super::error_part::error_text;
use super::retry::retry;
use super::{Streams, ability};

/// Options of a stream writer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriteOptions {
    /// The maximum number of buffered chunks, which are stored together. At most
    /// [`limits::MAX_PAGE`].
    pub chunks: usize,
    /// The maximum number of buffered bytes.
    pub bytes: usize,
    /// The maximum time a chunk is buffered, checked whenever a chunk is pushed.
    /// [`AnswerWriter::write_all`] checks by itself.
    pub delay: Duration,
    /// The interval at which [`AnswerWriter::write_all`] sends a heartbeat, and sees requests to
    /// cancel, while no chunk arrives.
    pub heartbeat: Duration,
    /// Takes over a stream whose writer has been silent for this long. Must be longer than that
    /// writer's heartbeat.
    pub take_over: Option<Duration>,
    /// The writer's name. Default: a fresh one. A writer that returns under the same name is the
    /// same writer, so a name must not be used by two writers at once.
    pub writer: Option<StreamWriter>,
}

impl Default for WriteOptions {
    /// Returns the defaults: buffers of 20 chunks, 64 KiB or 100 ms, a heartbeat each second, and
    /// no takeover.
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
    /// Stores each chunk immediately.
    #[must_use]
    pub fn immediate(mut self) -> Self {
        self.chunks = 1;
        self
    }

    /// Takes over a stream whose writer has been silent for this long.
    #[must_use]
    pub fn take_over(mut self, idle: Duration) -> Self {
        self.take_over = Some(idle);
        self
    }

    /// Sets the writer's name.
    #[must_use]
    pub fn writer(mut self, name: impl Into<StreamWriter>) -> Self {
        self.writer = Some(name.into());
        self
    }
}

/// The next action that is expected of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum Demand {
    /// More chunks.
    More,
    /// An end: a cancellation was requested, and the writer decides when to end, with
    /// [`StreamEnd::Cancelled`]. Or an [error part](AnswerWriter::push) has ended the stream.
    Stop,
}

/// Writes a stream. Made by [`Streams::write`].
///
/// Buffered chunks are stored when the buffer is full or old enough, with [`flush`](Self::flush),
/// and at the end. A call that fails, or whose future is dropped, loses nothing: the next call
/// sends the in-flight chunks again, and the store recognizes those it has. A writer that is
/// dropped without an [`end`](Self::end) leaves the stream running, so that another writer can take
/// it over. If unsaved chunks are dropped with it, a warning is logged.
pub struct AnswerWriter {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    chat: ChatRef,
    writer: StreamWriter,
    options: WriteOptions,
    /// The state of the stream as last read.
    stream: StoredStream,
    /// The offset of the first chunk that is not known to be stored.
    offset: u64,
    /// Chunks that were sent and are not known to be stored. They are sent again unchanged before
    /// anything else.
    in_flight: Option<StreamAppend>,
    waiting: Vec<Bytes>,
    bytes: usize,
    /// The time at which the oldest buffered chunk was pushed.
    since: Option<Timestamp>,
    /// The end that an error part has decided.
    failure: Option<StreamEnd>,
}

impl Drop for AnswerWriter {
    /// Logs a warning about chunks that are lost with the writer. A stream that is left running is
    /// no loss, because another writer may take it over.
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
        let _created = retry(|| open.create_stream(chat, &id, now)).await?;
        let stream = match retry(|| open.claim_stream(chat, &id, &claim)).await? {
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
            failure: None,
        })
    }

    /// The number of chunks that are known to be stored. After a takeover this is where the
    /// previous writer stopped.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The state of the stream as last read.
    pub fn stream(&self) -> &StoredStream {
        &self.stream
    }

    /// Buffers the next chunk, and stores the buffer if it is full or old enough.
    ///
    /// An error part of the AI SDK's UI message stream, `{"type": "error", "errorText": "…"}`, as
    /// JSON or as a server-sent event of it, is the last chunk: it is stored with the buffer, the
    /// stream ends as failed with its text, and the demand is [`Demand::Stop`]. No other content of
    /// a chunk has a meaning here.
    ///
    /// Returns [`ErrorKind::Invalid`] for a chunk above [`limits::MAX_CHUNK_BYTES`], which is not
    /// buffered, and if the stream would become too long. In the latter case the buffer is dropped,
    /// and the stream can still be ended.
    pub async fn push(&mut self, chunk: impl Into<Bytes>) -> Result<Demand, StreamError> {
        let chunk = chunk.into();
        let now = self.clock.now();
        if chunk.len() > limits::MAX_CHUNK_BYTES {
            // Refused here, so that the other chunks of its batch are not refused with it.
            StreamAppend::new(self.writer.clone(), self.offset, [chunk.clone()], now)
                .check(&self.chat, &self.stream.id)?;
        }
        if self.stream.state.is_final() {
            return Err(refusal(&self.stream));
        }
        self.failure = self.failure.take().or_else(|| Some(failed(error_text(&chunk)?)));
        self.bytes += chunk.len();
        self.waiting.push(chunk);
        let since = *self.since.get_or_insert(now);
        let is_due = since <= before(now, self.options.delay) || self.failure.is_some();
        if is_due || self.waiting.len() >= self.options.chunks || self.bytes >= self.options.bytes {
            return self.flush().await;
        }
        Ok(self.demand())
    }

    /// Stores the buffered chunks.
    pub async fn flush(&mut self) -> Result<Demand, StreamError> {
        while self.in_flight.is_some() || !self.waiting.is_empty() {
            self.send(None).await?;
        }
        Ok(self.demand())
    }

    /// Stores the buffered chunks, or sends a heartbeat.
    pub async fn beat(&mut self) -> Result<Demand, StreamError> {
        if self.in_flight.is_none() && self.waiting.is_empty() && !self.stream.state.is_final() {
            self.send(None).await?;
        }
        self.flush().await
    }

    /// Stores the buffered chunks and ends the stream. May be called again if it fails. Of several
    /// ends the first takes effect. An error message is cut at [`limits::MAX_TITLE_BYTES`].
    pub async fn end(&mut self, end: StreamEnd) -> Result<StoredStream, StreamError> {
        let end = match end {
            StreamEnd::Failed(error) => failed(error),
            end => end,
        };
        while !self.stream.state.is_final() {
            self.send(Some(&end)).await?;
        }
        Ok(self.stream.clone())
    }

    /// Writes all chunks of a source, then ends the stream as completed, or as failed with the
    /// source's error message. A request to cancel drops the source, and so does an error part.
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
        let ends = self.failure.is_some() || self.stream.cancel_requested_at.is_some();
        if ends { Demand::Stop } else { Demand::More }
    }

    /// Sends the in-flight chunks, or else the next batch of the buffer. The last batch carries the
    /// end.
    async fn send(&mut self, end: Option<&StreamEnd>) -> Result<(), StreamError> {
        let append = match self.in_flight.take() {
            Some(append) => append,
            None => self.next_append(end),
        };
        // From here on the future may be dropped.
        let append = self.in_flight.insert(append);
        let streams = ability(&*self.store)?;
        let sent =
            retry(|| streams.append_stream(&self.chat, &self.stream.id, append.clone())).await;
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
        match self.failure.as_ref().or(end).filter(|_| self.waiting.is_empty()) {
            Some(end) => append.end(end.clone()),
            None => append,
        }
    }
}

/// Returns the end of a failed answer, with a message that a store accepts.
fn failed(mut error: String) -> StreamEnd {
    error.truncate(error.floor_char_boundary(limits::MAX_TITLE_BYTES));
    StreamEnd::Failed(error)
}

/// Converts a refusal: the stream has ended, or another writer has it.
fn refusal(stream: &StoredStream) -> StreamError {
    let id = stream.id.clone();
    if stream.state.is_final() {
        StreamError::Ended { stream: id }
    } else {
        StreamError::Taken { stream: id }
    }
}

/// Returns the time `by` earlier.
fn before(at: Timestamp, by: Duration) -> Timestamp {
    let by = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(at.as_micros().saturating_sub(by))
}
