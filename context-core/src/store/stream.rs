//! Streams: answers in flight, stored chunk by chunk, so that a reader that lost its connection can
//! resume.

mod transitions;
mod watch;

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::base::{StreamId, StreamWriter, limits, sealed};
use crate::store::{Cursor, Page};
use crate::{ChatId, ChatRef, Result, Timestamp, UserId};

pub use transitions::AppendPosition;
pub use watch::StreamWatch;

/// The state of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StreamState {
    /// No writer has claimed the stream yet.
    Queued,
    /// A writer has claimed it.
    Running,
    /// The stream ended successfully.
    Completed,
    /// The stream ended with an error.
    Failed,
    /// The stream was cancelled.
    Cancelled,
}

impl StreamState {
    /// Returns whether the stream has ended and no chunk can follow.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Parses the stable name.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Queued, Self::Running, Self::Completed, Self::Failed, Self::Cancelled];
        all.into_iter().find(|state| state.as_str() == name)
    }
}

/// A stored stream, without its chunks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StoredStream {
    /// The id, unique in its chat.
    pub id: StreamId,
    /// The state.
    pub state: StreamState,
    /// Number of times the stream was reopened. Chunks of different runs are unrelated.
    pub run: u32,
    /// The last writer that claimed the stream.
    pub writer: Option<StreamWriter>,
    /// Number of chunks, which is the offset of the next one.
    pub chunks: u64,
    /// Total size of the chunks in bytes.
    pub bytes: u64,
    /// The error, if the stream failed.
    pub error: Option<String>,
    /// The creation time.
    pub created_at: Timestamp,
    /// The time when this run was first claimed.
    pub started_at: Option<Timestamp>,
    /// The time of the first cancel request of this run.
    pub cancel_requested_at: Option<Timestamp>,
    /// The time when this run ended.
    pub finished_at: Option<Timestamp>,
    /// The time of the last write. Never goes backwards.
    pub updated_at: Timestamp,
}

/// A claim to be the writer of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamClaim {
    /// The writer, under a name that no other writer uses. A repeated claim under the same name,
    /// after a lost reply, still succeeds.
    pub writer: StreamWriter,
    /// If set, the claim takes over a running stream whose writer has not written since this time.
    pub idle_since: Option<Timestamp>,
    /// The current time.
    pub at: Timestamp,
}

impl StreamClaim {
    /// Creates a claim for a stream without a writer.
    pub fn new(writer: impl Into<StreamWriter>, at: Timestamp) -> Self {
        Self { writer: writer.into(), idle_since: None, at }
    }

    /// Takes the stream over if its writer has not written since this time.
    #[must_use]
    pub fn take_over(mut self, idle_since: Timestamp) -> Self {
        self.idle_since = Some(idle_since);
        self
    }

    /// Refuses invalid names.
    pub fn check(&self, chat: &ChatRef, stream: &StreamId) -> Result<()> {
        const OPERATION: &str = "claim_stream";
        limits::check_stream(OPERATION, chat, stream)?;
        limits::check_id(OPERATION, "writer", self.writer.as_str())
    }
}

/// The end of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamEnd {
    /// A successful end.
    Completed,
    /// A failure with a human-readable error.
    Failed(String),
    /// An end because of a cancel request.
    Cancelled,
}

impl StreamEnd {
    /// Returns the final state of the stream.
    pub fn state(&self) -> StreamState {
        match self {
            Self::Completed => StreamState::Completed,
            Self::Failed(_) => StreamState::Failed,
            Self::Cancelled => StreamState::Cancelled,
        }
    }
}

/// Chunks that a writer appends. `Debug` shows the number of chunks, not their bytes.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamAppend {
    /// The writer.
    pub writer: StreamWriter,
    /// The offset of the first chunk: the number of chunks before it.
    pub offset: u64,
    /// The chunks. Empty for a heartbeat of the writer.
    pub chunks: Vec<Bytes>,
    /// Ends the stream after the chunks, in the same transaction.
    pub end: Option<StreamEnd>,
    /// The current time.
    pub at: Timestamp,
}

impl StreamAppend {
    /// Creates an append of chunks at an offset.
    pub fn new(
        writer: impl Into<StreamWriter>,
        offset: u64,
        chunks: impl IntoIterator<Item = impl Into<Bytes>>,
        at: Timestamp,
    ) -> Self {
        let chunks = chunks.into_iter().map(Into::into).collect();
        Self { writer: writer.into(), offset, chunks, end: None, at }
    }

    /// Ends the stream after the chunks.
    #[must_use]
    pub fn end(mut self, end: StreamEnd) -> Self {
        self.end = Some(end);
        self
    }

    /// Returns the total size of the chunks in bytes.
    pub fn bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.len() as u64).sum()
    }

    /// Refuses invalid names, too many chunks, and chunks or an error over their limits.
    pub fn check(&self, chat: &ChatRef, stream: &StreamId) -> Result<()> {
        const OPERATION: &str = "append_stream";
        limits::check_stream(OPERATION, chat, stream)?;
        limits::check_id(OPERATION, "writer", self.writer.as_str())?;
        limits::check_length(
            OPERATION,
            "chunks of an append",
            self.chunks.len(),
            limits::MAX_PAGE,
        )?;
        let longest =
            self.chunks.iter().map(|chunk| sealed::chunk_length(chunk)).max().unwrap_or_default();
        limits::check_length(OPERATION, "chunk", longest, limits::MAX_CHUNK_BYTES)?;
        let error = if let Some(StreamEnd::Failed(error)) = &self.end {
            sealed::text_length(error)
        } else {
            0
        };
        limits::check_length(OPERATION, "error", error, limits::MAX_TITLE_BYTES)
    }
}

impl fmt::Debug for StreamAppend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { writer, offset, chunks, end, at } = self;
        let mut shown = f.debug_struct("StreamAppend");
        shown.field("writer", writer).field("offset", offset).field("chunks", &chunks.len());
        shown.field("end", &end.as_ref().map(StreamEnd::state)).field("at", at).finish()
    }
}

/// The outcome of a change of a stream. Each variant holds the current stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub enum StreamOutcome {
    /// The change was written.
    Applied(StoredStream),
    /// The change had been written before, by a call whose reply was lost. Nothing was written now.
    Replayed(StoredStream),
    /// Nothing was written: another writer owns the stream, the stream has ended, or the offset is
    /// wrong.
    Refused(StoredStream),
}

impl StreamOutcome {
    /// Returns the stream, whatever the outcome.
    pub fn stream(&self) -> &StoredStream {
        let (Self::Applied(stream) | Self::Replayed(stream) | Self::Refused(stream)) = self;
        stream
    }

    /// Returns whether the requested change is in the store.
    pub fn is_done(&self) -> bool {
        !matches!(self, Self::Refused(_))
    }
}

/// A part of a stream, read as one consistent state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamPart {
    /// The stream. If it has ended and the part includes its last chunk, no chunk follows.
    pub stream: StoredStream,
    /// The offset of the first chunk.
    pub offset: u64,
    /// The chunks, without gaps.
    pub chunks: Vec<Bytes>,
}

impl StreamPart {
    /// Creates a part from chunks at an offset.
    pub fn new(stream: StoredStream, offset: u64, chunks: Vec<Bytes>) -> Self {
        Self { stream, offset, chunks }
    }

    /// Returns the offset of the next chunk to read.
    pub fn next(&self) -> u64 {
        self.offset + self.chunks.len() as u64
    }

    /// Returns whether no chunk follows.
    pub fn is_last(&self) -> bool {
        self.stream.state.is_final() && self.next() >= self.stream.chunks
    }
}

/// A filter for the streams to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamPrune {
    /// The owner of the chats.
    pub user: UserId,
    /// The chat to prune. `None`: all chats of the user.
    pub chat: Option<ChatId>,
    /// Streams that ended at or before this time are removed.
    pub finished_until: Timestamp,
    /// If set, unfinished streams that were last written at or before this time are removed, too.
    pub idle_since: Option<Timestamp>,
}

impl StreamPrune {
    /// Selects streams that ended at or before this time.
    pub fn new(user: impl Into<UserId>, finished_until: Timestamp) -> Self {
        Self { user: user.into(), chat: None, finished_until, idle_since: None }
    }

    /// Restricts the removal to one chat.
    #[must_use]
    pub fn of_chat(mut self, chat: impl Into<ChatId>) -> Self {
        self.chat = Some(chat.into());
        self
    }

    /// Includes unfinished streams that their writers have abandoned.
    #[must_use]
    pub fn abandoned(mut self, idle_since: Timestamp) -> Self {
        self.idle_since = Some(idle_since);
        self
    }

    /// Returns whether a stream is removed.
    pub fn takes(&self, stream: &StoredStream) -> bool {
        match stream.finished_at {
            Some(at) => at <= self.finished_until,
            None => self.idle_since.is_some_and(|since| stream.updated_at <= since),
        }
    }

    /// Refuses an invalid user or chat.
    pub fn check(&self) -> Result<()> {
        const OPERATION: &str = "prune_streams";
        limits::check_id(OPERATION, "user", self.user.as_str())?;
        self.chat.iter().try_for_each(|chat| limits::check_id(OPERATION, "chat", chat.as_str()))
    }
}

/// The result of a removal of streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StreamsPruned {
    /// Number of removed streams.
    pub streams: u64,
    /// Number of their chunks.
    pub chunks: u64,
    /// Total size of their chunks in bytes.
    pub bytes: u64,
}

impl StreamsPruned {
    /// Adds a stream to the counts.
    pub fn count(&mut self, stream: &StoredStream) {
        self.streams += 1;
        self.chunks += stream.chunks;
        self.bytes += stream.bytes;
    }
}

/// Stores answers in flight.
///
/// A stream belongs to a chat and is deleted with it. One writer at a time appends to it. Chunks
/// are numbered from 0 without gaps, and any number of readers start at any of them. The caller
/// decides what a chunk is: an event, a line, some bytes.
///
/// A chat that does not exist is [`NotFound`](crate::ErrorKind::NotFound) for every call. A stream
/// that does not exist is `NotFound` for calls that change one. Calls on streams do not change the
/// chat: [`Chat::updated_at`](crate::store::Chat::updated_at) stays.
///
/// Contract with implementors, in addition to that of [`Store`](crate::Store): each call is one
/// transaction. The methods of [`StoredStream`] define the effect of each call. Every change may be
/// repeated after a lost reply, and is then [`Replayed`](StreamOutcome::Replayed) or changes
/// nothing. A reader never sees the end of a stream before the chunks that precede it.
#[async_trait]
pub trait StreamStore: Send + Sync {
    /// Creates a queued stream. An existing stream is left unchanged, and the outcome is
    /// [`Replayed`](StreamOutcome::Replayed).
    async fn create_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> Result<StreamOutcome>;

    /// Claims a stream. Of all claims, one wins. [`Refused`](StreamOutcome::Refused) if another
    /// writer runs the stream, or if it has ended.
    async fn claim_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        claim: &StreamClaim,
    ) -> Result<StreamOutcome>;

    /// Appends chunks, and may end the stream. [`Refused`](StreamOutcome::Refused) if the writer is
    /// not the one that claimed the stream, or if the offset is not the end of the stream.
    async fn append_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        append: StreamAppend,
    ) -> Result<StreamOutcome>;

    /// Requests cancellation. A queued stream is cancelled. A running stream records the request,
    /// and its writer sees it with the next append. A stream that has ended is left unchanged.
    async fn cancel_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> Result<StoredStream>;

    /// Restarts a stream that has ended, without chunks. `run` is the run that the caller has seen.
    /// [`Refused`](StreamOutcome::Refused) if the stream has not ended, or is in another run.
    async fn reopen_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        run: u32,
        at: Timestamp,
    ) -> Result<StreamOutcome>;

    /// Returns a stream, if it exists.
    async fn stream(&self, chat: &ChatRef, id: &StreamId) -> Result<Option<StoredStream>>;

    /// Reads chunks from an offset on: at most `limit` chunks (from 1 to [`limits::MAX_PAGE`]) and
    /// at most [`limits::MAX_STREAM_PAGE_BYTES`] bytes, but at least one chunk if there is one. An
    /// offset past the end reads none.
    async fn read_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        offset: u64,
        limit: usize,
    ) -> Result<Option<StreamPart>>;

    /// Lists the streams of a chat, ordered by id, page by page (`limit` from 1 to
    /// [`limits::MAX_PAGE`]).
    async fn streams(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<StoredStream>>;

    /// Removes a stream with its chunks. Returns false if it did not exist.
    async fn remove_stream(&self, chat: &ChatRef, id: &StreamId) -> Result<bool>;

    /// Removes the streams that the filter selects.
    async fn prune_streams(&self, prune: &StreamPrune) -> Result<StreamsPruned>;

    /// Begins to watch a stream, so that a reader can wait for a change instead of polling. The
    /// stream need not exist, and neither need the chat.
    ///
    /// Returns `None` if this store cannot watch, now or later: the caller polls. Default: `None`.
    /// An error means that the store cannot watch at the moment.
    async fn watch_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
    ) -> Result<Option<Box<dyn StreamWatch>>> {
        let _ = (chat, id);
        Ok(None)
    }
}
