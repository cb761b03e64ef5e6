//! The stream calls, each forwarded to its implementation.

use async_trait::async_trait;
use context_core::base::{StreamId, limits};
use context_core::store::{
    Cursor, Page, StoredStream, StreamAppend, StreamClaim, StreamOutcome, StreamPart, StreamPrune,
    StreamStore, StreamWatch, StreamsPruned,
};
use context_core::{ChatRef, Timestamp};
use context_store_kit::watch::Topic;

use crate::connections::shared::Shared;
use crate::streams;

#[async_trait]
impl StreamStore for Shared {
    async fn create_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> context_core::Result<StreamOutcome> {
        limits::check_stream("create_stream", chat, id)?;
        let _change = self.watches.change(Topic::stream(chat, id));
        streams::create(self, chat, id, at).await.map_err(|fault| fault.during("create_stream"))
    }

    async fn claim_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        wanted: &StreamClaim,
    ) -> context_core::Result<StreamOutcome> {
        wanted.check(chat, id)?;
        let _change = self.watches.change(Topic::stream(chat, id));
        streams::claim(self, chat, id, wanted).await.map_err(|fault| fault.during("claim_stream"))
    }

    async fn append_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        new: StreamAppend,
    ) -> context_core::Result<StreamOutcome> {
        new.check(chat, id)?;
        let _change = self.watches.change(Topic::stream(chat, id));
        streams::append(self, chat, id, &new).await.map_err(|fault| fault.during("append_stream"))
    }

    async fn cancel_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> context_core::Result<StoredStream> {
        limits::check_stream("cancel_stream", chat, id)?;
        let _change = self.watches.change(Topic::stream(chat, id));
        streams::cancel(self, chat, id, at).await.map_err(|fault| fault.during("cancel_stream"))
    }

    async fn reopen_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        run: u32,
        at: Timestamp,
    ) -> context_core::Result<StreamOutcome> {
        limits::check_stream("reopen_stream", chat, id)?;
        let _change = self.watches.change(Topic::stream(chat, id));
        streams::reopen(self, chat, id, run, at)
            .await
            .map_err(|fault| fault.during("reopen_stream"))
    }

    async fn stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
    ) -> context_core::Result<Option<StoredStream>> {
        limits::check_stream("stream", chat, id)?;
        streams::find(self, chat, id).await.map_err(|fault| fault.during("stream"))
    }

    async fn read_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        offset: u64,
        limit: usize,
    ) -> context_core::Result<Option<StreamPart>> {
        limits::check_stream("read_stream", chat, id)?;
        limits::check_page("read_stream", limit)?;
        streams::read(self, chat, id, offset, limit)
            .await
            .map_err(|fault| fault.during("read_stream"))
    }

    async fn streams(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> context_core::Result<Page<StoredStream>> {
        limits::check_chat("streams", chat)?;
        limits::check_page("streams", limit)?;
        streams::list(self, chat, limit, after).await.map_err(|fault| fault.during("streams"))
    }

    async fn remove_stream(&self, chat: &ChatRef, id: &StreamId) -> context_core::Result<bool> {
        limits::check_stream("remove_stream", chat, id)?;
        let _change = self.watches.change(Topic::stream(chat, id));
        streams::remove(self, chat, id).await.map_err(|fault| fault.during("remove_stream"))
    }

    async fn prune_streams(&self, wanted: &StreamPrune) -> context_core::Result<StreamsPruned> {
        wanted.check()?;
        let _change = self.watches.change(Topic::Store);
        streams::prune(self, wanted).await.map_err(|fault| fault.during("prune_streams"))
    }

    async fn watch_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
    ) -> context_core::Result<Option<Box<dyn StreamWatch>>> {
        limits::check_stream("watch_stream", chat, id)?;
        self.watches.watch(chat, id).await
    }
}
