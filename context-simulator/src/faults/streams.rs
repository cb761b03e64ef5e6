//! The stream calls of the fault-injecting store.

use std::sync::Arc;

use async_trait::async_trait;
use context_core::base::StreamId;
use context_core::store::{
    Cursor, Page, StoredStream, StreamAppend, StreamClaim, StreamOutcome, StreamPart, StreamPrune,
    StreamStore, StreamWatch, StreamsPruned,
};
use context_core::{ChatRef, Result, Timestamp};

use super::plan::Operation;
use super::store::{FaultInjector, PlannedFaults, lacks};

impl FaultInjector {
    fn stream_store(&self) -> Result<&dyn StreamStore> {
        self.inner.streams().ok_or_else(|| lacks("streams"))
    }
}

#[async_trait]
impl StreamStore for FaultInjector {
    async fn create_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> Result<StreamOutcome> {
        self.call(Operation::CreateStream, self.stream_store()?.create_stream(chat, id, at)).await
    }

    async fn claim_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        claim: &StreamClaim,
    ) -> Result<StreamOutcome> {
        self.call(Operation::ClaimStream, self.stream_store()?.claim_stream(chat, id, claim)).await
    }

    async fn append_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        append: StreamAppend,
    ) -> Result<StreamOutcome> {
        self.call(Operation::AppendStream, self.stream_store()?.append_stream(chat, id, append))
            .await
    }

    async fn cancel_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> Result<StoredStream> {
        self.call(Operation::CancelStream, self.stream_store()?.cancel_stream(chat, id, at)).await
    }

    async fn reopen_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        run: u32,
        at: Timestamp,
    ) -> Result<StreamOutcome> {
        self.call(Operation::ReopenStream, self.stream_store()?.reopen_stream(chat, id, run, at))
            .await
    }

    async fn stream(&self, chat: &ChatRef, id: &StreamId) -> Result<Option<StoredStream>> {
        self.call(Operation::Stream, self.stream_store()?.stream(chat, id)).await
    }

    async fn read_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        offset: u64,
        limit: usize,
    ) -> Result<Option<StreamPart>> {
        self.call(Operation::ReadStream, self.stream_store()?.read_stream(chat, id, offset, limit))
            .await
    }

    async fn streams(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<StoredStream>> {
        self.call(Operation::Streams, self.stream_store()?.streams(chat, limit, after)).await
    }

    async fn remove_stream(&self, chat: &ChatRef, id: &StreamId) -> Result<bool> {
        self.call(Operation::RemoveStream, self.stream_store()?.remove_stream(chat, id)).await
    }

    async fn prune_streams(&self, prune: &StreamPrune) -> Result<StreamsPruned> {
        self.call(Operation::PruneStreams, self.stream_store()?.prune_streams(prune)).await
    }
    async fn watch_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
    ) -> Result<Option<Box<dyn StreamWatch>>> {
        let begun = self.stream_store()?.watch_stream(chat, id);
        let watch = self.call(Operation::WatchStream, begun).await?;
        let faults = &self.faults;
        Ok(watch.map(|inner| {
            Box::new(FaultyWatch { inner, faults: Arc::clone(faults) }) as Box<dyn StreamWatch>
        }))
    }
}

/// A watch whose waits fail, hang or are late as planned.
struct FaultyWatch {
    inner: Box<dyn StreamWatch>,
    faults: Arc<PlannedFaults>,
}

#[async_trait]
impl StreamWatch for FaultyWatch {
    async fn changed(&mut self) -> Result<()> {
        self.faults.call(Operation::StreamChanged, self.inner.changed()).await
    }
}
