//! Streams: answers in flight, kept chunk by chunk, so that a reader who lost the connection goes
//! on where they were.

mod life;

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::base::{StreamId, StreamWriter, limits, sealed};
use crate::store::{Cursor, Page};
use crate::{ChatId, ChatRef, Result, Timestamp, UserId};

pub use life::AppendPlace;

/// Where a stream is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StreamState {
    /// Nobody writes it yet.
    Queued,
    /// A writer has claimed it.
    Running,
    /// It ended well.
    Completed,
    /// It ended with an error.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl StreamState {
    /// Whether no chunk follows any more.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Queued, Self::Running, Self::Completed, Self::Failed, Self::Cancelled];
        all.into_iter().find(|state| state.as_str() == name)
    }
}

/// A stream as it is stored, without its chunks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StoredStream {
    /// Unique in its chat.
    pub id: StreamId,
    /// Where it is in its life.
    pub state: StreamState,
    /// How often it was begun anew: chunks of another run are others.
    pub run: u32,
    /// Who claimed it last.
    pub writer: Option<StreamWriter>,
    /// How many chunks there are; the offset of the next one.
    pub chunks: u64,
    /// How many bytes they have together.
    pub bytes: u64,
    /// What went wrong, if it failed.
    pub error: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When this run was first claimed.
    pub started_at: Option<Timestamp>,
    /// When somebody first asked to cancel this run.
    pub cancel_requested_at: Option<Timestamp>,
    /// When this run ended.
    pub finished_at: Option<Timestamp>,
    /// When it was last written to; never goes backwards.
    pub updated_at: Timestamp,
}

/// A claim to be the one who writes a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamClaim {
    /// Who. A name that nobody else uses: who claims again under the same name, after a lost reply,
    /// has still won.
    pub writer: StreamWriter,
    /// Takes a running stream over from a writer who was not heard of after this.
    pub idle_since: Option<Timestamp>,
    /// Now.
    pub at: Timestamp,
}

impl StreamClaim {
    /// Claims a stream that nobody writes.
    pub fn new(writer: impl Into<StreamWriter>, at: Timestamp) -> Self {
        Self { writer: writer.into(), idle_since: None, at }
    }

    /// Takes it over if its writer was not heard of after this.
    #[must_use]
    pub fn take_over(mut self, idle_since: Timestamp) -> Self {
        self.idle_since = Some(idle_since);
        self
    }

    /// Refuses bad names.
    pub fn check(&self, chat: &ChatRef, stream: &StreamId) -> Result<()> {
        const OPERATION: &str = "claim_stream";
        limits::check_stream(OPERATION, chat, stream)?;
        limits::check_id(OPERATION, "writer", self.writer.as_str())
    }
}

/// How a stream ends.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamEnd {
    /// Well.
    Completed,
    /// With this error, for people.
    Failed(String),
    /// Because it was asked to.
    Cancelled,
}

impl StreamEnd {
    /// The state it leaves.
    pub fn state(&self) -> StreamState {
        match self {
            Self::Completed => StreamState::Completed,
            Self::Failed(_) => StreamState::Failed,
            Self::Cancelled => StreamState::Cancelled,
        }
    }
}

/// What a writer adds. `Debug` shows how many chunks, not which.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamAppend {
    /// Who writes.
    pub writer: StreamWriter,
    /// The offset of the first chunk: how many there are before it.
    pub offset: u64,
    /// The chunks; none to say that the writer is still there.
    pub chunks: Vec<Bytes>,
    /// Ends the stream behind them, in the same transaction.
    pub end: Option<StreamEnd>,
    /// Now.
    pub at: Timestamp,
}

impl StreamAppend {
    /// Adds chunks from an offset on.
    pub fn new(
        writer: impl Into<StreamWriter>,
        offset: u64,
        chunks: impl IntoIterator<Item = impl Into<Bytes>>,
        at: Timestamp,
    ) -> Self {
        let chunks = chunks.into_iter().map(Into::into).collect();
        Self { writer: writer.into(), offset, chunks, end: None, at }
    }

    /// Ends the stream behind them.
    #[must_use]
    pub fn end(mut self, end: StreamEnd) -> Self {
        self.end = Some(end);
        self
    }

    /// How many bytes the chunks have.
    pub fn bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.len() as u64).sum()
    }

    /// Refuses bad names, too many chunks and too large ones.
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

/// What became of a change of a stream. Each holds the stream as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub enum StreamOutcome {
    /// It was written.
    Applied(StoredStream),
    /// It had been written before, by a call whose reply was lost; nothing was written now.
    Replayed(StoredStream),
    /// Nothing was written: another writer has it, it has ended, or it is elsewhere.
    Refused(StoredStream),
}

impl StreamOutcome {
    /// The stream, whatever became of the change.
    pub fn stream(&self) -> &StoredStream {
        let (Self::Applied(stream) | Self::Replayed(stream) | Self::Refused(stream)) = self;
        stream
    }

    /// Whether what was asked for is in the store.
    pub fn is_done(&self) -> bool {
        !matches!(self, Self::Refused(_))
    }
}

/// A part of a stream, read in one consistent state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamPart {
    /// The stream. If it has ended and the part reaches its last chunk, nothing follows.
    pub stream: StoredStream,
    /// The offset of the first chunk.
    pub offset: u64,
    /// The chunks, without a gap.
    pub chunks: Vec<Bytes>,
}

impl StreamPart {
    /// Chunks of a stream from an offset on.
    pub fn new(stream: StoredStream, offset: u64, chunks: Vec<Bytes>) -> Self {
        Self { stream, offset, chunks }
    }

    /// Where to read on.
    pub fn next(&self) -> u64 {
        self.offset + self.chunks.len() as u64
    }

    /// Whether nothing follows.
    pub fn is_last(&self) -> bool {
        self.stream.state.is_final() && self.next() >= self.stream.chunks
    }
}

/// Which streams are removed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamPrune {
    /// Whose.
    pub user: UserId,
    /// Of one chat; of all, if there is none.
    pub chat: Option<ChatId>,
    /// Those that ended then or before.
    pub finished_until: Timestamp,
    /// Also those that have not ended and were last written to then or before.
    pub idle_since: Option<Timestamp>,
}

impl StreamPrune {
    /// What ended then or before.
    pub fn new(user: impl Into<UserId>, finished_until: Timestamp) -> Self {
        Self { user: user.into(), chat: None, finished_until, idle_since: None }
    }

    /// Of this chat alone.
    #[must_use]
    pub fn of_chat(mut self, chat: impl Into<ChatId>) -> Self {
        self.chat = Some(chat.into());
        self
    }

    /// Also what its writer has left behind.
    #[must_use]
    pub fn abandoned(mut self, idle_since: Timestamp) -> Self {
        self.idle_since = Some(idle_since);
        self
    }

    /// Whether a stream goes.
    pub fn takes(&self, stream: &StoredStream) -> bool {
        match stream.finished_at {
            Some(at) => at <= self.finished_until,
            None => self.idle_since.is_some_and(|since| stream.updated_at <= since),
        }
    }

    /// Refuses a bad user or chat.
    pub fn check(&self) -> Result<()> {
        const OPERATION: &str = "prune_streams";
        limits::check_id(OPERATION, "user", self.user.as_str())?;
        self.chat.iter().try_for_each(|chat| limits::check_id(OPERATION, "chat", chat.as_str()))
    }
}

/// What a removal of streams did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StreamsPruned {
    /// How many streams are gone.
    pub streams: u64,
    /// How many chunks they had.
    pub chunks: u64,
    /// How many bytes those had.
    pub bytes: u64,
}

impl StreamsPruned {
    /// Counts one more.
    pub fn count(&mut self, stream: &StoredStream) {
        self.streams += 1;
        self.chunks += stream.chunks;
        self.bytes += stream.bytes;
    }
}

/// Keeps answers in flight.
///
/// A stream belongs to a chat and goes with it. One writer at a time appends to it; chunks are
/// numbered from 0 without a gap, and any number of readers begin at any of them. What a chunk is,
/// the caller decides: an event, a line, some bytes.
///
/// A chat that does not exist is [`NotFound`](crate::ErrorKind::NotFound) for every call, a stream
/// that does not exist is so for those that change one. Streams are no change of the chat:
/// [`Chat::updated_at`](crate::store::Chat::updated_at) stays.
///
/// Contract with implementors, beside that of [`Store`](crate::Store): each call is one
/// transaction; what a call does to a stream is what the methods of [`StoredStream`] do; every
/// change may be sent again after a lost reply, and is then [`Replayed`](StreamOutcome::Replayed)
/// or changes nothing. A reader never sees an end before the chunks that stand before it.
#[async_trait]
pub trait StreamStore: Send + Sync {
    /// Creates a stream that waits for its writer. One that exists is left unchanged:
    /// [`Replayed`](StreamOutcome::Replayed).
    async fn create_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> Result<StreamOutcome>;

    /// Claims a stream: of all who do, one wins. [`Refused`](StreamOutcome::Refused) if it runs
    /// under another writer, or has ended.
    async fn claim_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        claim: &StreamClaim,
    ) -> Result<StreamOutcome>;

    /// Adds chunks at the end, and may end the stream. [`Refused`](StreamOutcome::Refused) if the
    /// writer is not the one who claimed it, or the offset is not where the stream ends.
    async fn append_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        append: StreamAppend,
    ) -> Result<StreamOutcome>;

    /// Asks for an end. A stream that waits for its writer is cancelled, one that runs notes that
    /// it was asked: its writer sees it with the next append. One that has ended stays as it is.
    async fn cancel_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> Result<StoredStream>;

    /// Begins a stream that has ended anew, without chunks; `run` is the one that the caller has
    /// seen. [`Refused`](StreamOutcome::Refused) if it has not ended, or is of another run.
    async fn reopen_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        run: u32,
        at: Timestamp,
    ) -> Result<StreamOutcome>;

    /// A stream, if there is one.
    async fn stream(&self, chat: &ChatRef, id: &StreamId) -> Result<Option<StoredStream>>;

    /// Reads chunks from an offset on: at most `limit` (from 1 to [`limits::MAX_PAGE`]), and of at
    /// most [`limits::MAX_STREAM_PAGE_BYTES`] together, but at least one if there is one. Behind
    /// the end there are none.
    async fn read_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        offset: u64,
        limit: usize,
    ) -> Result<Option<StreamPart>>;

    /// The streams of a chat, ordered by id, page by page (`limit` from 1 to [`limits::MAX_PAGE`]).
    async fn streams(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<StoredStream>>;

    /// Removes a stream with its chunks. False if there was none.
    async fn remove_stream(&self, chat: &ChatRef, id: &StreamId) -> Result<bool>;

    /// Removes streams that ended long ago.
    async fn prune_streams(&self, prune: &StreamPrune) -> Result<StreamsPruned>;
}
