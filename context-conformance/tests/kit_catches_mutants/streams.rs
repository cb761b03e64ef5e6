//! Mutants of streams.

use async_trait::async_trait;
use bytes::Bytes;
use context_core::base::StreamId;
use context_core::store::{
    Cursor, Page, StoredStream, StreamAppend, StreamClaim, StreamEnd, StreamOutcome, StreamPart,
    StreamPrune, StreamStore, StreamWatch, StreamsPruned,
};
use context_core::{ChatRef, Result, Store, Timestamp};
use context_store_inmem::InMemoryStore;

use crate::fault::Fault;
use crate::mutant::{BrokenStore, MOST_TURNS, lock};

impl BrokenStore {
    fn flow(&self) -> &dyn StreamStore {
        self.inner.streams().expect("the reference store keeps streams")
    }

    /// Changes an append into one that the store accepts.
    async fn bent(&self, chat: &ChatRef, id: &StreamId, append: &mut StreamAppend) -> Result<()> {
        let Some(stream) = self.flow().stream(chat, id).await? else { return Ok(()) };
        match self.fault {
            Fault::TakesChunksBehindGaps if append.offset > stream.chunks => {
                append.offset = stream.chunks
            }
            Fault::WritesReplaysTwice if append.offset < stream.chunks => {
                append.offset = stream.chunks
            }
            Fault::LetsOldWritersGoOn => {
                if let Some(writer) = stream.writer {
                    append.writer = writer;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

#[async_trait]
impl StreamStore for BrokenStore {
    async fn create_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> Result<StreamOutcome> {
        if self.is(Fault::CreatingBeginsAnew) {
            self.flow().remove_stream(chat, id).await?;
        }
        self.flow().create_stream(chat, id, at).await
    }

    async fn claim_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        claim: &StreamClaim,
    ) -> Result<StreamOutcome> {
        let outcome = self.flow().claim_stream(chat, id, claim).await?;
        match outcome {
            StreamOutcome::Refused(stream)
                if self.is(Fault::HasTwoWriters) && !stream.state.is_final() =>
            {
                Ok(StreamOutcome::Applied(stream))
            }
            outcome => Ok(outcome),
        }
    }

    async fn append_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        mut append: StreamAppend,
    ) -> Result<StreamOutcome> {
        self.bent(chat, id, &mut append).await?;
        if self.is(Fault::EndsBeforeTheLastChunks) && append.end.is_some() {
            let place = (chat.clone(), id.clone());
            lock(&self.ending).insert(place.clone(), (append.end.clone(), false));
            // Wait until a reader has seen the end, if there is a reader.
            for _ in 0..MOST_TURNS {
                if lock(&self.ending).get(&place).is_none_or(|(_, seen)| *seen) {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        let outcome = self.flow().append_stream(chat, id, append.clone()).await?;
        if self.is(Fault::ReplaysOtherChunks)
            && let StreamOutcome::Refused(stream) = &outcome
            && append.end.is_none()
            && append.offset + (append.chunks.len() as u64) <= stream.chunks
        {
            return Ok(StreamOutcome::Replayed(stream.clone()));
        }
        Ok(outcome)
    }

    async fn cancel_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> Result<StoredStream> {
        let stream = self.flow().cancel_stream(chat, id, at).await?;
        if self.is(Fault::CancellingEndsWhatRuns)
            && let Some(writer) = stream.writer.clone()
        {
            let none: [Bytes; 0] = [];
            let end = StreamAppend::new(writer, stream.chunks, none, at).end(StreamEnd::Cancelled);
            return Ok(self.flow().append_stream(chat, id, end).await?.stream().clone());
        }
        Ok(stream)
    }

    async fn reopen_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        run: u32,
        at: Timestamp,
    ) -> Result<StreamOutcome> {
        let seen = self.flow().stream(chat, id).await?.map_or(run, |stream| stream.run);
        let run = if self.is(Fault::BeginsAnyRunAnew) { seen } else { run };
        self.flow().reopen_stream(chat, id, run, at).await
    }

    async fn stream(&self, chat: &ChatRef, id: &StreamId) -> Result<Option<StoredStream>> {
        self.flow().stream(chat, id).await
    }

    async fn read_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        offset: u64,
        limit: usize,
    ) -> Result<Option<StreamPart>> {
        let mut part = self.flow().read_stream(chat, id, offset, limit).await?;
        if let Some((Some(end), seen)) = lock(&self.ending).get_mut(&(chat.clone(), id.clone()))
            && let Some(part) = &mut part
        {
            part.stream.state = end.state();
            *seen = true;
        }
        if self.is(Fault::LosesEmptyChunks)
            && let Some(part) = &mut part
        {
            part.chunks.retain(|chunk| !chunk.is_empty());
        }
        Ok(part)
    }

    async fn streams(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<StoredStream>> {
        self.flow().streams(chat, limit, after).await
    }

    async fn remove_stream(&self, chat: &ChatRef, id: &StreamId) -> Result<bool> {
        self.flow().remove_stream(chat, id).await
    }

    async fn prune_streams(&self, prune: &StreamPrune) -> Result<StreamsPruned> {
        let mut prune = prune.clone();
        if self.is(Fault::PrunesWhatRuns) {
            prune = prune.clone().abandoned(prune.finished_until);
        }
        self.flow().prune_streams(&prune).await
    }
    async fn watch_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
    ) -> Result<Option<Box<dyn StreamWatch>>> {
        if self.is(Fault::WatchesTooLate) {
            let late = LateWatch {
                store: self.inner.clone(),
                chat: chat.clone(),
                id: id.clone(),
                inner: None,
            };
            return Ok(Some(Box::new(late)));
        }
        self.flow().watch_stream(chat, id).await
    }
}

/// A watch that sees no change before its first wait.
struct LateWatch {
    store: InMemoryStore,
    chat: ChatRef,
    id: StreamId,
    inner: Option<Box<dyn StreamWatch>>,
}

#[async_trait]
impl StreamWatch for LateWatch {
    async fn changed(&mut self) -> Result<()> {
        if self.inner.is_none() {
            let streams = self.store.streams().expect("the reference store keeps streams");
            self.inner = streams.watch_stream(&self.chat, &self.id).await?;
        }
        self.inner.as_mut().expect("the reference store can watch").changed().await
    }
}
