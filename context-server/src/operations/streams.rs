//! Answers in flight: written chunk by chunk, and followed.

use std::sync::Arc;

use context_runtime::StreamId;
use context_runtime::store::{
    StoredStream, StreamAppend, StreamClaim, StreamEnd, StreamOutcome, StreamStore,
};
use context_runtime::streams::{AnswerReader, Streams};
use context_runtime::{Error, ErrorKind, limits};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Operations;
use crate::OperationError;

/// Chunks to append to a stream.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct WriteStream {
    /// The name of the writer. A stream has one writer until it ends.
    pub writer: String,
    /// The number of chunks before these. A repetition at the same offset changes nothing.
    pub offset: u64,
    /// The chunks.
    #[serde(default)]
    pub chunks: Vec<String>,
    /// Ends the stream after the chunks.
    pub end: Option<EndOfStream>,
}

/// The end of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EndOfStream {
    /// A successful end.
    #[schema(title = "Completed")]
    Completed,
    /// An end because of a cancel request.
    #[schema(title = "Cancelled")]
    Cancelled,
    /// A failure, with its error.
    #[schema(title = "Failed")]
    Failed(String),
}

/// The state of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct StreamProgress {
    /// `queued`, `running`, `completed`, `failed` or `cancelled`.
    pub state: &'static str,
    /// The number of chunks, which is the offset of the next one.
    pub chunks: u64,
    /// Whether a reader has asked to cancel: the writer should end the stream.
    pub cancel_requested: bool,
    /// The error, if the stream failed.
    pub error: Option<String>,
}

impl From<&StoredStream> for StreamProgress {
    fn from(stream: &StoredStream) -> Self {
        Self {
            state: stream.state.as_str(),
            chunks: stream.chunks,
            cancel_requested: stream.cancel_requested_at.is_some(),
            error: stream.error.clone(),
        }
    }
}

impl Operations {
    /// Appends chunks to a stream, which is created if it does not exist, and may end it.
    pub async fn write_stream(
        &self,
        chat: &str,
        stream: &str,
        write: WriteStream,
    ) -> Result<StreamProgress, OperationError> {
        self.check_writable()?;
        let (chat, id) = (self.checked(chat)?, StreamId::from(stream));
        limits::check_id("stream", "stream", stream)?;
        let streams = self.stream_store()?;
        let now = self.clock.now();
        if write.offset == 0 {
            // The first chunks claim the stream. Each of the three writes may be repeated.
            let _ = streams.create_stream(&chat, &id, now).await?;
            let claim = StreamClaim::new(write.writer.as_str(), now);
            let _ = streams.claim_stream(&chat, &id, &claim).await?;
        }
        let mut append = StreamAppend::new(write.writer, write.offset, write.chunks, now);
        append.end = write.end.map(|end| match end {
            EndOfStream::Completed => StreamEnd::Completed,
            EndOfStream::Cancelled => StreamEnd::Cancelled,
            EndOfStream::Failed(error) => StreamEnd::Failed(error),
        });
        match streams.append_stream(&chat, &id, append).await? {
            StreamOutcome::Applied(stored) | StreamOutcome::Replayed(stored) => {
                Ok(StreamProgress::from(&stored))
            }
            refused => {
                let stored = refused.stream();
                let text = "another writer has the stream, it has ended, or the offset is wrong";
                Err(Error::new(ErrorKind::Conflict, "stream", text)
                    .with("stream", stream)
                    .with("state", stored.state.as_str())
                    .with("chunks", stored.chunks)
                    .into())
            }
        }
    }

    /// Returns the state of a stream.
    pub async fn stream(&self, chat: &str, stream: &str) -> Result<StreamProgress, OperationError> {
        let (chat, id) = (self.checked(chat)?, StreamId::from(stream));
        limits::check_id("stream", "stream", stream)?;
        let found = self.stream_store()?.stream(&chat, &id).await?;
        let found = found.ok_or_else(|| Error::not_found("stream", "stream", stream))?;
        Ok(StreamProgress::from(&found))
    }

    /// Asks for the end of a stream.
    pub async fn cancel_stream(
        &self,
        chat: &str,
        stream: &str,
    ) -> Result<StreamProgress, OperationError> {
        self.check_writable()?;
        let (chat, id) = (self.checked(chat)?, StreamId::from(stream));
        limits::check_id("stream", "stream", stream)?;
        let cancelled = self.stream_store()?.cancel_stream(&chat, &id, self.clock.now()).await?;
        Ok(StreamProgress::from(&cancelled))
    }

    /// Returns a reader that follows a stream, which must exist, from an offset.
    pub async fn follow_stream(
        &self,
        chat: &str,
        stream: &str,
        offset: u64,
    ) -> Result<AnswerReader, OperationError> {
        let _exists = self.stream(chat, stream).await?;
        let (store, chat) = (Arc::clone(&self.store), self.checked(chat)?);
        let streams = Streams::new(store, chat, Arc::clone(&self.clock), Arc::clone(&self.ids));
        Ok(streams.follow(stream, offset))
    }

    fn stream_store(&self) -> Result<&dyn StreamStore, OperationError> {
        self.store.streams().ok_or(OperationError::Missing { ability: "streams" })
    }
}
