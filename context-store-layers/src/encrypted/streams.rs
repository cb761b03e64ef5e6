//! Streams: chunks and errors are encrypted. States, writers, counts and times are not.

use async_trait::async_trait;
use bytes::Bytes;
use context_core::base::StreamId;
use context_core::base::sealed::RECORD_BYTES;
use context_core::store::{
    Cursor, Page, StoredStream, StreamAppend, StreamClaim, StreamEnd, StreamOutcome, StreamPart,
    StreamPrune, StreamStore, StreamWatch, StreamsPruned,
};
use context_core::{ChatRef, Result, Timestamp};

use super::associated_data::AssociatedData;
use super::keys::EncryptionKey;
use super::layer::Layer;
use super::record::{SealError, seal, seal_text};

#[async_trait]
impl StreamStore for Layer {
    async fn create_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> Result<StreamOutcome> {
        let done = self.streams()?.create_stream(chat, id, at).await?;
        self.open_outcome("create_stream", chat, done)
    }

    async fn claim_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        claim: &StreamClaim,
    ) -> Result<StreamOutcome> {
        let done = self.streams()?.claim_stream(chat, id, claim).await?;
        self.open_outcome("claim_stream", chat, done)
    }

    async fn append_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        append: StreamAppend,
    ) -> Result<StreamOutcome> {
        const OPERATION: &str = "append_stream";
        append.check(chat, id)?;
        let (streams, sealer) = (self.streams()?, self.sealer_to_write(&chat.user)?);
        let ring = &sealer.ring;
        let sealed = seal_append(ring.current(), chat, id, &append);
        let mut done = streams.append_stream(chat, id, sealed).await?;
        if let StreamOutcome::Refused(stream) = &done
            && append.offset < stream.chunks
        {
            // The append may repeat one that was encrypted before the keys were changed.
            for older in ring.older() {
                let sealed = seal_append(older, chat, id, &append);
                done = streams.append_stream(chat, id, sealed).await?;
                if done.is_done() {
                    break;
                }
            }
        }
        self.open_outcome(OPERATION, chat, done)
    }

    async fn cancel_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> Result<StoredStream> {
        let stream = self.streams()?.cancel_stream(chat, id, at).await?;
        self.open_stream("cancel_stream", chat, stream)
    }

    async fn reopen_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        run: u32,
        at: Timestamp,
    ) -> Result<StreamOutcome> {
        let done = self.streams()?.reopen_stream(chat, id, run, at).await?;
        self.open_outcome("reopen_stream", chat, done)
    }

    async fn stream(&self, chat: &ChatRef, id: &StreamId) -> Result<Option<StoredStream>> {
        let stream = self.streams()?.stream(chat, id).await?;
        stream.map(|stream| self.open_stream("stream", chat, stream)).transpose()
    }

    async fn read_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        offset: u64,
        limit: usize,
    ) -> Result<Option<StreamPart>> {
        const OPERATION: &str = "read_stream";
        let Some(part) = self.streams()?.read_stream(chat, id, offset, limit).await? else {
            return Ok(None);
        };
        let mut chunks = Vec::with_capacity(part.chunks.len());
        for (i, chunk) in (0..).zip(&part.chunks) {
            let at = part.offset.saturating_add(i);
            let opened = self.open_chunk(chat, id, at, chunk);
            chunks.push(
                opened.map_err(|error| {
                    error.of(OPERATION, "stream", id.as_str()).with("offset", at)
                })?,
            );
        }
        let stream = self.open_stream(OPERATION, chat, part.stream)?;
        Ok(Some(StreamPart::new(stream, part.offset, chunks)))
    }

    async fn streams(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<StoredStream>> {
        let Page { items, next } = Layer::streams(self)?.streams(chat, limit, after).await?;
        let items: Result<_> =
            items.into_iter().map(|stream| self.open_stream("streams", chat, stream)).collect();
        Ok(Page { items: items?, next })
    }

    async fn remove_stream(&self, chat: &ChatRef, id: &StreamId) -> Result<bool> {
        self.streams()?.remove_stream(chat, id).await
    }

    async fn prune_streams(&self, prune: &StreamPrune) -> Result<StreamsPruned> {
        let mut pruned = self.streams()?.prune_streams(prune).await?;
        pruned.bytes = without_marks(pruned.bytes, pruned.chunks);
        Ok(pruned)
    }

    async fn watch_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
    ) -> Result<Option<Box<dyn StreamWatch>>> {
        self.streams()?.watch_stream(chat, id).await
    }
}

impl Layer {
    pub(super) fn open_chunk(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        offset: u64,
        chunk: &Bytes,
    ) -> Result<Bytes, SealError> {
        let sealer = self.sealer(&chat.user).map_err(|_| SealError::Keys)?;
        match sealer.open(&AssociatedData::chunk(chat, id, offset), chunk) {
            Err(SealError::Plain) if self.allow_plain => Ok(chunk.clone()),
            opened => opened.map(Bytes::from),
        }
    }

    fn open_stream(
        &self,
        operation: &'static str,
        chat: &ChatRef,
        mut stream: StoredStream,
    ) -> Result<StoredStream> {
        stream.bytes = without_marks(stream.bytes, stream.chunks);
        if let Some(error) = &stream.error {
            let sealer = self.sealer(&chat.user)?;
            let opened = sealer.open_text(&AssociatedData::stream_error(chat, &stream.id), error);
            stream.error =
                Some(opened.map_err(|error| error.of(operation, "stream", stream.id.as_str()))?);
        }
        Ok(stream)
    }

    fn open_outcome(
        &self,
        operation: &'static str,
        chat: &ChatRef,
        outcome: StreamOutcome,
    ) -> Result<StreamOutcome> {
        let open = |stream| self.open_stream(operation, chat, stream);
        Ok(match outcome {
            StreamOutcome::Applied(stream) => StreamOutcome::Applied(open(stream)?),
            StreamOutcome::Replayed(stream) => StreamOutcome::Replayed(open(stream)?),
            StreamOutcome::Refused(stream) => StreamOutcome::Refused(open(stream)?),
            // A new outcome must be decrypted as well.
            other => StreamOutcome::Refused(open(other.stream().clone())?),
        })
    }
}

fn seal_append(
    key: &EncryptionKey,
    chat: &ChatRef,
    id: &StreamId,
    append: &StreamAppend,
) -> StreamAppend {
    // The caller's offset may be any number.
    let data = |i: u64| AssociatedData::chunk(chat, id, append.offset.saturating_add(i));
    let chunks: Vec<_> =
        (0..).zip(&append.chunks).map(|(i, chunk)| seal(key, &data(i), chunk)).collect();
    let sealed = StreamAppend::new(append.writer.clone(), append.offset, chunks, append.at);
    match &append.end {
        None => sealed,
        Some(StreamEnd::Failed(error)) => sealed.end(StreamEnd::Failed(seal_text(
            key,
            &AssociatedData::stream_error(chat, id),
            error,
        ))),
        Some(end) => sealed.end(end.clone()),
    }
}

fn without_marks(bytes: u64, chunks: u64) -> u64 {
    bytes.saturating_sub(chunks * RECORD_BYTES as u64)
}
