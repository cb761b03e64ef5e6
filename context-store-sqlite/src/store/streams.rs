//! Forwards the calls of streams.

use async_trait::async_trait;
use context_core::base::{StreamId, limits};
use context_core::store::{
    Cursor, Page, StoredStream, StreamAppend, StreamClaim, StreamOutcome, StreamPart, StreamPrune,
    StreamStore, StreamWatch, StreamsPruned,
};
use context_core::{ChatRef, Result, Timestamp};
use context_store_kit::watch::Topic;

use crate::connections::calls::{reading, writing};
use crate::store::Shared;
use crate::streams;

#[async_trait]
impl StreamStore for Shared {
    async fn create_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> Result<StreamOutcome> {
        limits::check_stream("create_stream", chat, id)?;
        let outcome =
            writing!(self, "create_stream", |writer| streams::create(writer, chat, id, at).await)?;
        self.watches.wake(chat, outcome.stream());
        Ok(outcome)
    }

    async fn claim_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        claim: &StreamClaim,
    ) -> Result<StreamOutcome> {
        claim.check(chat, id)?;
        let outcome =
            writing!(self, "claim_stream", |writer| streams::claim(writer, chat, id, claim).await)?;
        self.watches.wake(chat, outcome.stream());
        Ok(outcome)
    }

    async fn append_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        append: StreamAppend,
    ) -> Result<StreamOutcome> {
        append.check(chat, id)?;
        let outcome =
            writing!(self, "append_stream", |writer| streams::append(writer, chat, id, &append)
                .await)?;
        self.watches.wake(chat, outcome.stream());
        Ok(outcome)
    }

    async fn cancel_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> Result<StoredStream> {
        let stream =
            writing!(self, "cancel_stream", |writer| streams::cancel(writer, chat, id, at).await)?;
        self.watches.wake(chat, &stream);
        Ok(stream)
    }

    async fn reopen_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        run: u32,
        at: Timestamp,
    ) -> Result<StreamOutcome> {
        let outcome =
            writing!(self, "reopen_stream", |writer| streams::reopen(writer, chat, id, run, at)
                .await)?;
        self.watches.wake(chat, outcome.stream());
        Ok(outcome)
    }

    async fn stream(&self, chat: &ChatRef, id: &StreamId) -> Result<Option<StoredStream>> {
        reading!(self, "stream", |reader| streams::stream(reader, chat, id).await)
    }

    async fn read_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        offset: u64,
        limit: usize,
    ) -> Result<Option<StreamPart>> {
        limits::check_page("read_stream", limit)?;
        reading!(self, "read_stream", |reader| streams::read(reader, chat, id, offset, limit).await)
    }

    async fn streams(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<StoredStream>> {
        reading!(self, "streams", |reader| streams::list(reader, chat, limit, after).await)
    }

    async fn remove_stream(&self, chat: &ChatRef, id: &StreamId) -> Result<bool> {
        let removed =
            writing!(self, "remove_stream", |writer| streams::remove(writer, chat, id).await)?;
        self.watches.wake_all(|| Topic::stream(chat, id));
        Ok(removed)
    }

    async fn prune_streams(&self, prune: &StreamPrune) -> Result<StreamsPruned> {
        prune.check()?;
        let pruned = writing!(self, "prune_streams", |writer| streams::prune(writer, prune).await)?;
        self.watches.wake_all(|| Topic::Store);
        Ok(pruned)
    }

    async fn watch_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
    ) -> Result<Option<Box<dyn StreamWatch>>> {
        limits::check_stream("watch_stream", chat, id)?;
        let watch = self.watches.watch(&self.connections, chat, id).await;
        watch.map_err(|fault| fault.during("watch_stream"))
    }
}
