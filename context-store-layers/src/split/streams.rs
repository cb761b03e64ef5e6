//! Streams, in the store that was set for them.

use std::sync::Arc;

use async_trait::async_trait;
use context_core::base::{StreamId, limits};
use context_core::store::{
    Cursor, Page, StoredStream, StreamAppend, StreamClaim, StreamOutcome, StreamPart, StreamPrune,
    StreamStore, StreamWatch, StreamsPruned,
};
use context_core::{ChatRef, Error, Result, Store, Timestamp};

use super::{Shared, shadow};
use crate::abilities::Abilities as _;

impl Shared {
    /// Called only if that store is set. Otherwise streams are in the store of the history.
    fn channels(&self) -> &Arc<dyn Store> {
        self.streams.as_ref().unwrap_or(&self.main)
    }

    async fn stream_shadow(&self, operation: &'static str, chat: &ChatRef) -> Result<ChatRef> {
        Ok(shadow::of(&shadow::chat(&*self.main, operation, chat).await?))
    }
}

/// Converts a not-found error. The chat exists, so it is the stream that was not found, even if the
/// other store names the shadow.
fn of_stream<T>(operation: &'static str, id: &StreamId, result: Result<T>) -> Result<T> {
    result.map_err(|error| match error.is_not_found() {
        true => Error::not_found(operation, "stream", id),
        false => error,
    })
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl StreamStore for Shared {
    async fn create_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> Result<StreamOutcome> {
        const OPERATION: &str = "create_stream";
        limits::check_stream(OPERATION, chat, id)?;
        let channels = self.channels();
        let there = shadow::chat(&*self.main, OPERATION, chat).await?;
        let shadow = shadow::of(&there);
        match channels.require_streams()?.create_stream(&shadow, id, at).await {
            Err(error) if error.is_not_found() => {}
            result => return result,
        }
        shadow::make(&**channels, &there, at).await?;
        let created = channels.require_streams()?.create_stream(&shadow, id, at).await;
        // A deletion that ran before the shadow was created has not seen the shadow.
        self.still(OPERATION, &there, channels).await?;
        created
    }

    async fn claim_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        claim: &StreamClaim,
    ) -> Result<StreamOutcome> {
        const OPERATION: &str = "claim_stream";
        claim.check(chat, id)?;
        let shadow = self.stream_shadow(OPERATION, chat).await?;
        of_stream(
            OPERATION,
            id,
            self.channels().require_streams()?.claim_stream(&shadow, id, claim).await,
        )
    }

    async fn append_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        append: StreamAppend,
    ) -> Result<StreamOutcome> {
        const OPERATION: &str = "append_stream";
        append.check(chat, id)?;
        let shadow = self.stream_shadow(OPERATION, chat).await?;
        of_stream(
            OPERATION,
            id,
            self.channels().require_streams()?.append_stream(&shadow, id, append).await,
        )
    }

    async fn cancel_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> Result<StoredStream> {
        const OPERATION: &str = "cancel_stream";
        limits::check_stream(OPERATION, chat, id)?;
        let shadow = self.stream_shadow(OPERATION, chat).await?;
        of_stream(
            OPERATION,
            id,
            self.channels().require_streams()?.cancel_stream(&shadow, id, at).await,
        )
    }

    async fn reopen_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        run: u32,
        at: Timestamp,
    ) -> Result<StreamOutcome> {
        const OPERATION: &str = "reopen_stream";
        limits::check_stream(OPERATION, chat, id)?;
        let shadow = self.stream_shadow(OPERATION, chat).await?;
        of_stream(
            OPERATION,
            id,
            self.channels().require_streams()?.reopen_stream(&shadow, id, run, at).await,
        )
    }

    async fn stream(&self, chat: &ChatRef, id: &StreamId) -> Result<Option<StoredStream>> {
        let shadow = self.stream_shadow("stream", chat).await?;
        shadow::or_none(self.channels().require_streams()?.stream(&shadow, id).await)
    }

    async fn read_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        offset: u64,
        limit: usize,
    ) -> Result<Option<StreamPart>> {
        const OPERATION: &str = "read_stream";
        limits::check_page(OPERATION, limit)?;
        let shadow = self.stream_shadow(OPERATION, chat).await?;
        shadow::or_none(
            self.channels().require_streams()?.read_stream(&shadow, id, offset, limit).await,
        )
    }

    async fn streams(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<StoredStream>> {
        const OPERATION: &str = "streams";
        limits::check_page(OPERATION, limit)?;
        let shadow = self.stream_shadow(OPERATION, chat).await?;
        match self.channels().require_streams()?.streams(&shadow, limit, after).await {
            Err(error) if error.is_not_found() => Ok(Page { items: Vec::new(), next: None }),
            result => result,
        }
    }

    async fn remove_stream(&self, chat: &ChatRef, id: &StreamId) -> Result<bool> {
        let shadow = self.stream_shadow("remove_stream", chat).await?;
        shadow::or_none(self.channels().require_streams()?.remove_stream(&shadow, id).await)
    }

    async fn prune_streams(&self, prune: &StreamPrune) -> Result<StreamsPruned> {
        prune.check()?;
        let mut prune = prune.clone();
        if let Some(chat) = &prune.chat {
            let chat = ChatRef::new(prune.user.clone(), chat.clone());
            prune.chat = Some(self.stream_shadow("prune_streams", &chat).await?.chat);
        }
        shadow::or_none(self.channels().require_streams()?.prune_streams(&prune).await)
    }

    async fn watch_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
    ) -> Result<Option<Box<dyn StreamWatch>>> {
        const OPERATION: &str = "watch_stream";
        limits::check_stream(OPERATION, chat, id)?;
        let shadow = self.stream_shadow(OPERATION, chat).await?;
        self.channels().require_streams()?.watch_stream(&shadow, id).await
    }
}
