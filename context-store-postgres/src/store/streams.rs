//! The stream calls, each forwarded to its implementation.

use async_trait::async_trait;
use context_core::base::{StreamId, limits};
use context_core::store::{
    Cursor, Page, StoredStream, StreamAppend, StreamClaim, StreamOutcome, StreamPart, StreamPrune,
    StreamStore, StreamWatch, StreamsPruned,
};
use context_core::{ChatRef, Result, Timestamp};
use context_store_kit::watch::Topic;

use crate::connections::{Work, work};
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
        let _change = self.watches.change(Topic::stream(chat, id));
        work!(self.pool, "create_stream", Work::Write, &chat.user, |session| {
            streams::create(session, chat, id, at).await
        })
    }

    async fn claim_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        claim: &StreamClaim,
    ) -> Result<StreamOutcome> {
        claim.check(chat, id)?;
        let _change = self.watches.change(Topic::stream(chat, id));
        work!(self.pool, "claim_stream", Work::Write, &chat.user, |session| {
            streams::claim(session, chat, id, claim).await
        })
    }

    async fn append_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        append: StreamAppend,
    ) -> Result<StreamOutcome> {
        append.check(chat, id)?;
        let _change = self.watches.change(Topic::stream(chat, id));
        let next = work!(self.pool, "append_stream", Work::Append, &chat.user, |session| {
            streams::append_next(session, chat, id, &append).await
        })?;
        if let Some(outcome) = next {
            return Ok(outcome);
        }
        work!(self.pool, "append_stream", Work::Write, &chat.user, |session| {
            streams::append(session, chat, id, &append).await
        })
    }

    async fn cancel_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> Result<StoredStream> {
        let _change = self.watches.change(Topic::stream(chat, id));
        work!(self.pool, "cancel_stream", Work::Write, &chat.user, |session| {
            streams::cancel(session, chat, id, at).await
        })
    }

    async fn reopen_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        run: u32,
        at: Timestamp,
    ) -> Result<StreamOutcome> {
        let _change = self.watches.change(Topic::stream(chat, id));
        work!(self.pool, "reopen_stream", Work::Write, &chat.user, |session| {
            streams::reopen(session, chat, id, run, at).await
        })
    }

    async fn stream(&self, chat: &ChatRef, id: &StreamId) -> Result<Option<StoredStream>> {
        work!(self.pool, "stream", Work::Read, &chat.user, |session| {
            Ok(streams::find(session, "stream", chat, id).await?.map(|(_, stream)| stream))
        })
    }

    async fn read_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        offset: u64,
        limit: usize,
    ) -> Result<Option<StreamPart>> {
        limits::check_page("read_stream", limit)?;
        work!(self.pool, "read_stream", Work::Read, &chat.user, |session| {
            streams::read(session, chat, id, offset, limit).await
        })
    }

    async fn streams(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<StoredStream>> {
        work!(self.pool, "streams", Work::Snapshot, &chat.user, |session| {
            streams::list(session, chat, limit, after).await
        })
    }

    async fn remove_stream(&self, chat: &ChatRef, id: &StreamId) -> Result<bool> {
        let _change = self.watches.change(Topic::stream(chat, id));
        work!(self.pool, "remove_stream", Work::Write, &chat.user, |session| {
            streams::remove(session, chat, id).await
        })
    }

    async fn prune_streams(&self, prune: &StreamPrune) -> Result<StreamsPruned> {
        prune.check()?;
        let _change = self.watches.change(Topic::Store);
        work!(self.pool, "prune_streams", Work::Write, &prune.user, |session| {
            streams::prune(session, prune).await
        })
    }

    async fn watch_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
    ) -> Result<Option<Box<dyn StreamWatch>>> {
        limits::check_stream("watch_stream", chat, id)?;
        self.watches.watch(chat, id).await
    }
}
