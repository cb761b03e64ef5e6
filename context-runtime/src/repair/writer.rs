//! Writing the pieces of a damaged store into a new one.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use context_core::base::limits;
use context_core::memory::{MemoryRecord, MemoryVector};
use context_core::store::{
    Chat, MemoryExpected, MemoryWrite, NewBlob, StoredStream, StreamAppend, StreamClaim, StreamEnd,
    StreamState,
};
use context_core::trajectory::RoundRecord;
use context_core::{CancelSignal, ChatRef, Error, ErrorKind, Result, Store, Timestamp};
use context_store_kit::salvage::{Loss, LostKind, SalvageSink, SalvagedPiece};

use super::RepairReport;
use crate::transfer::{BlobRecord, ChatMessageRecord, ChatRecord, ChatWriter};

/// The most bytes of chunks in one append to a stream.
const STREAM_BYTES: usize = 4 << 20;

/// Writes pieces, and collects the report.
pub(super) struct RepairWriter<'a> {
    to: &'a dyn Store,
    /// The same store, for the recorder of rounds.
    #[cfg_attr(not(feature = "trajectory"), expect(dead_code, reason = "rounds need it"))]
    shared: Arc<dyn Store>,
    cancel: &'a CancelSignal,
    chat: Option<(ChatRef, ChatWriter<'a>)>,
    report: RepairReport,
}

impl<'a> RepairWriter<'a> {
    pub(super) fn new(to: &'a dyn Store, shared: Arc<dyn Store>, cancel: &'a CancelSignal) -> Self {
        Self { to, shared, cancel, chat: None, report: RepairReport::default() }
    }

    /// Ends the last chat and returns the report.
    pub(super) async fn finish(mut self) -> Result<RepairReport> {
        self.end_chat().await?;
        Ok(self.report)
    }

    async fn end_chat(&mut self) -> Result<()> {
        let Some((chat, writer)) = self.chat.take() else { return Ok(()) };
        match writer.finish().await {
            Ok(written) => {
                self.report.messages += written.messages;
                self.report.branches += written.branches;
                self.report.changes.extend(written.diagnostics);
                Ok(())
            }
            Err(error) => {
                self.report.chats -= 1;
                self.refused(Loss::new(LostKind::Chat, &chat.chat, "").of_chat(&chat), error)
            }
        }
    }

    async fn begin_chat(&mut self, source: Chat) -> Result<()> {
        self.end_chat().await?;
        self.cancel.check(super::OPERATION)?;
        let chat = source.chat.clone();
        let loss = Loss::new(LostKind::Chat, &chat.chat, "").of_chat(&chat);
        match ChatWriter::create(self.to, chat.clone(), &source).await {
            Ok(Some(writer)) => {
                self.report.chats += 1;
                self.chat = Some((chat, writer));
                Ok(())
            }
            Ok(None) => {
                let why = "a chat of this name was saved before it".to_owned();
                self.report.losses.push(loss.because(why));
                Ok(())
            }
            Err(error) => self.refused(loss, error),
        }
    }

    /// Passes a record on to the chat that is being written, and returns whether it was taken.
    async fn push(&mut self, loss: Loss, record: ChatRecord) -> Result<bool> {
        let Some((chat, writer)) = &mut self.chat else { return Ok(false) };
        let loss = loss.of_chat(chat);
        match writer.push(record).await {
            Ok(()) => Ok(true),
            Err(error) => self.refused(loss, error).map(|()| false),
        }
    }

    /// Reports a piece as lost that the new store refuses, and returns any other failure.
    fn refused(&mut self, loss: Loss, error: Error) -> Result<()> {
        match error.kind() {
            ErrorKind::Invalid | ErrorKind::Corrupt | ErrorKind::NotFound | ErrorKind::Conflict => {
                let why = format!("the new store refuses it: {}", error.message());
                self.report.losses.push(loss.because(why));
                Ok(())
            }
            _ => Err(error),
        }
    }

    async fn blob(&mut self, new: NewBlob, used_at: Timestamp) -> Result<()> {
        let id = context_core::base::BlobId::of(&new.bytes);
        let record = BlobRecord::new(new.bytes, new.media_type, new.at, used_at);
        let loss = Loss::new(LostKind::Blob, id, "");
        let has_blobs = self.to.blobs().is_some();
        let taken = self.push(loss, ChatRecord::Blob(record)).await?;
        self.report.blobs += u64::from(taken && has_blobs);
        Ok(())
    }

    async fn stream(&mut self, stream: StoredStream, chunks: Vec<Bytes>) -> Result<()> {
        let Some((chat, _)) = &self.chat else { return Ok(()) };
        let chat = chat.clone();
        let loss = Loss::new(LostKind::Stream, &stream.id, "").of_chat(&chat);
        match self.write_stream(&chat, stream, chunks).await {
            Ok(true) => self.report.streams += 1,
            Ok(false) => {
                let why = "the new store keeps no streams".to_owned();
                self.report.losses.push(loss.because(why));
            }
            Err(error) => self.refused(loss, error)?,
        }
        Ok(())
    }

    /// Writes a stream with the calls that its writer made.
    async fn write_stream(
        &self,
        chat: &ChatRef,
        stream: StoredStream,
        chunks: Vec<Bytes>,
    ) -> Result<bool> {
        let Some(streams) = self.to.streams() else { return Ok(false) };
        let StoredStream { id, state, created_at, started_at, updated_at, .. } = stream;
        let _ = streams.create_stream(chat, &id, created_at).await?;
        if let Some(started_at) = started_at {
            let writer = stream.writer.unwrap_or_else(|| "repair".into());
            let _ = streams
                .claim_stream(chat, &id, &StreamClaim::new(writer.clone(), started_at))
                .await?;
            let lost = stream.chunks.saturating_sub(chunks.len() as u64);
            let mut offset = 0;
            let mut left = &chunks[..];
            while !left.is_empty() {
                let mut bytes = 0;
                let fits = |chunk: &&Bytes| {
                    bytes += chunk.len();
                    bytes <= STREAM_BYTES
                };
                let count = left.iter().take(limits::MAX_PAGE).take_while(fits).count().max(1);
                let (now, rest) = left.split_at(count);
                let append = StreamAppend::new(writer.clone(), offset, now.to_vec(), updated_at);
                let _ = streams.append_stream(chat, &id, append).await?;
                offset += count as u64;
                left = rest;
            }
            let end = match state {
                _ if lost > 0 => Some(StreamEnd::Failed(format!("{lost} chunks are lost"))),
                StreamState::Completed => Some(StreamEnd::Completed),
                StreamState::Failed => Some(StreamEnd::Failed(stream.error.unwrap_or_default())),
                _ => None,
            };
            if let Some(end) = end {
                let at = stream.finished_at.unwrap_or(updated_at);
                let append = StreamAppend::new(writer.clone(), offset, Vec::<Bytes>::new(), at);
                let _ = streams.append_stream(chat, &id, append.end(end)).await?;
            } else if state == StreamState::Cancelled {
                let at = stream.finished_at.unwrap_or(updated_at);
                let append = StreamAppend::new(writer, offset, Vec::<Bytes>::new(), at);
                let _ = streams.append_stream(chat, &id, append.end(StreamEnd::Cancelled)).await?;
            }
        }
        if let Some(at) = stream
            .cancel_requested_at
            .filter(|_| !state.is_final())
            .or(stream.cancel_requested_at.filter(|_| started_at.is_none()))
        {
            let _ = streams.cancel_stream(chat, &id, at).await?;
        }
        Ok(true)
    }

    async fn round(&mut self, record: RoundRecord) -> Result<()> {
        self.end_chat().await?;
        let user = record.head.round.agent.user.clone();
        let loss = Loss::new(LostKind::Round, &record.head.round, "").of_user(&user);
        match self.write_round(record).await {
            Ok(None) => self.report.rounds += 1,
            Ok(Some(why)) => self.report.losses.push(loss.because(why)),
            Err(error) => self.refused(loss, error)?,
        }
        Ok(())
    }

    /// Writes a round, or returns the reason why it cannot be written.
    #[cfg(feature = "trajectory")]
    async fn write_round(&self, record: RoundRecord) -> Result<Option<&'static str>> {
        use context_trajectory::{RoundImported, Trajectories};
        if self.to.trajectories().is_none() {
            return Ok(Some("the new store keeps no rounds"));
        }
        let trajectories = Trajectories::new(Arc::clone(&self.shared)).map_err(Error::from)?;
        match trajectories.import(&record).await.map_err(Error::from)? {
            RoundImported::Taken => Ok(Some("it cannot be written from its nodes")),
            _ => Ok(None),
        }
    }

    #[cfg(not(feature = "trajectory"))]
    async fn write_round(&self, _record: RoundRecord) -> Result<Option<&'static str>> {
        Ok(Some("this program was built without trajectories"))
    }

    async fn memory(
        &mut self,
        record: MemoryRecord,
        words: Option<String>,
        vector: Option<MemoryVector>,
    ) -> Result<()> {
        self.end_chat().await?;
        let user = record.scope.user.clone();
        let loss = Loss::new(LostKind::Memory, &record.id, "").of_user(&user);
        let Some(memories) = self.to.memories() else {
            let why = "the new store keeps no memories".to_owned();
            self.report.losses.push(loss.because(why));
            return Ok(());
        };
        let words = words.unwrap_or_else(|| words_of(&record.text));
        let mut write = MemoryWrite::new(record, words).expected(MemoryExpected::Anything);
        write.vector = vector;
        match memories.write_memories(&[write]).await {
            Ok(_) => self.report.memories += 1,
            Err(error) => self.refused(loss, error)?,
        }
        Ok(())
    }
}

/// Returns the words of a text, as memory providers choose them.
#[cfg(feature = "memory")]
fn words_of(text: &str) -> String {
    context_memory::words::index_words(text)
}

#[cfg(not(feature = "memory"))]
fn words_of(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words = words.take(limits::MAX_MEMORY_WORDS).map(str::to_lowercase);
    words.collect::<Vec<_>>().join(" ")
}

#[async_trait]
impl SalvageSink for RepairWriter<'_> {
    async fn take(&mut self, piece: SalvagedPiece) -> Result<()> {
        match piece {
            SalvagedPiece::Chat(chat) => self.begin_chat(chat).await,
            SalvagedPiece::Branch(branch) => {
                let loss = Loss::new(LostKind::Branch, &branch.name, "");
                self.push(loss, ChatRecord::Branch(branch)).await.map(drop)
            }
            SalvagedPiece::Checkpoint(checkpoint) => {
                let loss = Loss::new(LostKind::Checkpoint, &checkpoint.name, "");
                let taken = self.push(loss, ChatRecord::Checkpoint(checkpoint)).await?;
                self.report.checkpoints += u64::from(taken);
                Ok(())
            }
            SalvagedPiece::Fragment(fragment) => {
                let name = fragment.id.as_ref().map(ToString::to_string).unwrap_or_default();
                let loss = Loss::new(LostKind::Fragment, name, "");
                let taken = self.push(loss, ChatRecord::Fragment(fragment)).await?;
                self.report.fragments += u64::from(taken);
                Ok(())
            }
            SalvagedPiece::Blob(new, used_at) => self.blob(new, used_at).await,
            SalvagedPiece::Message { node, parent, revisions } => {
                let loss = Loss::new(LostKind::Message, &node.id, "");
                let record = ChatMessageRecord::new(node, parent, revisions);
                let taken = self.push(loss, ChatRecord::Message(record)).await?;
                if taken {
                    let now = self.chat.as_ref().map_or(0, |(_, writer)| writer.messages());
                    self.cancel.report("message", self.report.messages + now);
                }
                Ok(())
            }
            SalvagedPiece::Stream(stream, chunks) => self.stream(stream, chunks).await,
            SalvagedPiece::Round(record) => self.round(*record).await,
            SalvagedPiece::Memory { record, words, vector } => {
                self.memory(*record, words, vector).await
            }
            _ => Ok(()),
        }
    }

    fn lose(&mut self, loss: Loss) {
        self.report.losses.push(loss);
    }
}
