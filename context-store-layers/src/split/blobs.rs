//! Blobs, in the store that was set for them.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use context_core::base::{BlobId, limits};
use context_core::store::{Blob, BlobPrune, BlobStore, BlobsPruned, Cursor, NewBlob, Page};
use context_core::{ChatRef, Error, Result, Store, Timestamp};

use super::{Shared, shadow};
use crate::abilities::Abilities as _;

impl Shared {
    /// Called only if that store is set. Otherwise blobs are in the store of the history.
    fn files(&self) -> &Arc<dyn Store> {
        self.blobs.as_ref().unwrap_or(&self.main)
    }

    async fn blob_shadow(&self, operation: &'static str, chat: &ChatRef) -> Result<ChatRef> {
        Ok(shadow::of(&shadow::chat(&*self.main, operation, chat).await?))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl BlobStore for Shared {
    async fn put_blob(&self, chat: &ChatRef, blob: NewBlob) -> Result<Blob> {
        const OPERATION: &str = "put_blob";
        blob.check(chat)?;
        let (files, at) = (self.files(), blob.at);
        let there = shadow::chat(&*self.main, OPERATION, chat).await?;
        let shadow = shadow::of(&there);
        match files.require_blobs()?.put_blob(&shadow, blob.clone()).await {
            Err(error) if error.is_not_found() => {}
            result => return result,
        }
        shadow::make(&**files, &there, at).await?;
        let put = files.require_blobs()?.put_blob(&shadow, blob).await;
        // A deletion that ran before the shadow was created has not seen the shadow.
        self.still(OPERATION, &there, files).await?;
        put
    }

    async fn blob(&self, chat: &ChatRef, id: &BlobId) -> Result<Option<Blob>> {
        let shadow = self.blob_shadow("blob", chat).await?;
        shadow::or_none(self.files().require_blobs()?.blob(&shadow, id).await)
    }

    async fn read_blob(
        &self,
        chat: &ChatRef,
        id: &BlobId,
        range: Range<u64>,
        at: Option<Timestamp>,
    ) -> Result<Option<Bytes>> {
        let shadow = self.blob_shadow("read_blob", chat).await?;
        shadow::or_none(self.files().require_blobs()?.read_blob(&shadow, id, range, at).await)
    }

    async fn blobs(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Blob>> {
        const OPERATION: &str = "blobs";
        limits::check_page(OPERATION, limit)?;
        let shadow = self.blob_shadow(OPERATION, chat).await?;
        match self.files().require_blobs()?.blobs(&shadow, limit, after).await {
            Err(error) if error.is_not_found() => Ok(Page { items: Vec::new(), next: None }),
            result => result,
        }
    }

    async fn remove_blob(&self, chat: &ChatRef, id: &BlobId) -> Result<BlobsPruned> {
        let shadow = self.blob_shadow("remove_blob", chat).await?;
        shadow::or_none(self.files().require_blobs()?.remove_blob(&shadow, id).await)
    }

    async fn prune_blobs(&self, prune: &BlobPrune) -> Result<BlobsPruned> {
        prune.check()?;
        let mut prune = prune.clone();
        if let Some(chat) = &prune.chat {
            let chat = ChatRef::new(prune.user.clone(), chat.clone());
            prune.chat = Some(self.blob_shadow("prune_blobs", &chat).await?.chat);
        }
        shadow::or_none(self.files().require_blobs()?.prune_blobs(&prune).await)
    }
}

impl Shared {
    /// Returns an error for a put into a chat that was deleted, and removes what was put.
    pub(super) async fn still(
        &self,
        operation: &'static str,
        chat: &context_core::store::Chat,
        other: &Arc<dyn Store>,
    ) -> Result<()> {
        let now = self.main.history().chat(&chat.chat).await?;
        if now.as_ref().map(shadow::of) == Some(shadow::of(chat)) {
            return Ok(());
        }
        shadow::sweep(&**other, &chat.chat, now.as_ref()).await?;
        Err(Error::not_found(operation, "chat", &chat.chat.chat))
    }
}
