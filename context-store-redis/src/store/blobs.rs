//! The blob calls, each forwarded to its implementation.

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use context_core::base::{BlobId, limits};
use context_core::store::{Blob, BlobPrune, BlobStore, BlobsPruned, Cursor, NewBlob, Page};
use context_core::{ChatRef, Timestamp};

use crate::blobs;
use crate::connections::shared::Shared;

#[async_trait]
impl BlobStore for Shared {
    async fn put_blob(&self, chat: &ChatRef, blob: NewBlob) -> context_core::Result<Blob> {
        blob.check(chat)?;
        blobs::put(self, chat, &blob).await.map_err(|fault| fault.during("put_blob"))
    }

    async fn blob(&self, chat: &ChatRef, id: &BlobId) -> context_core::Result<Option<Blob>> {
        limits::check_chat("blob", chat)?;
        let found = blobs::find(self, "blob", chat, id, &(0..0), None).await;
        found.map(|found| found.map(|(blob, _)| blob)).map_err(|fault| fault.during("blob"))
    }

    async fn read_blob(
        &self,
        chat: &ChatRef,
        id: &BlobId,
        range: Range<u64>,
        at: Option<Timestamp>,
    ) -> context_core::Result<Option<Bytes>> {
        limits::check_chat("read_blob", chat)?;
        blobs::read(self, chat, id, range, at).await.map_err(|fault| fault.during("read_blob"))
    }

    async fn blobs(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> context_core::Result<Page<Blob>> {
        limits::check_chat("blobs", chat)?;
        limits::check_page("blobs", limit)?;
        blobs::list(self, chat, limit, after).await.map_err(|fault| fault.during("blobs"))
    }

    async fn remove_blob(&self, chat: &ChatRef, id: &BlobId) -> context_core::Result<BlobsPruned> {
        limits::check_chat("remove_blob", chat)?;
        let removed = blobs::drop_of_chat(self, "remove_blob", chat, &id.to_string(), "").await;
        removed.map_err(|fault| fault.during("remove_blob"))
    }

    async fn prune_blobs(&self, prune: &BlobPrune) -> context_core::Result<BlobsPruned> {
        prune.check()?;
        blobs::prune(self, prune).await.map_err(|fault| fault.during("prune_blobs"))
    }
}
