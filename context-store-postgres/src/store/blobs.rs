//! The blob calls, each forwarded to its implementation.

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use context_core::base::BlobId;
use context_core::store::{Blob, BlobPrune, BlobStore, BlobsPruned, Cursor, NewBlob, Page};
use context_core::{ChatRef, Result, Timestamp};

use crate::blobs;
use crate::connections::{Work, work};
use crate::store::Shared;

#[async_trait]
impl BlobStore for Shared {
    async fn put_blob(&self, chat: &ChatRef, blob: NewBlob) -> Result<Blob> {
        blob.check(chat)?;
        // Hashing takes time, so the id is computed before the chat is locked.
        let id = BlobId::of(&blob.bytes);
        work!(self.pool, "put_blob", Work::Write, &chat.user, |session| blobs::put(
            session, chat, id, blob
        )
        .await)
    }

    async fn blob(&self, chat: &ChatRef, id: &BlobId) -> Result<Option<Blob>> {
        work!(self.pool, "blob", Work::Snapshot, &chat.user, |session| blobs::find(
            session, chat, id
        )
        .await)
    }

    async fn read_blob(
        &self,
        chat: &ChatRef,
        id: &BlobId,
        range: Range<u64>,
        at: Option<Timestamp>,
    ) -> Result<Option<Bytes>> {
        if let Some(at) = at.filter(|_| !self.pool.read_only()) {
            work!(self.pool, "read_blob", Work::Append, &chat.user, |session| {
                blobs::touch(session, chat, id, at).await
            })?;
        }
        work!(self.pool, "read_blob", Work::Snapshot, &chat.user, |session| {
            blobs::read(session, chat, id, range).await
        })
    }

    async fn blobs(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Blob>> {
        work!(self.pool, "blobs", Work::Snapshot, &chat.user, |session| {
            blobs::list(session, chat, limit, after).await
        })
    }

    async fn remove_blob(&self, chat: &ChatRef, id: &BlobId) -> Result<BlobsPruned> {
        work!(self.pool, "remove_blob", Work::Write, &chat.user, |session| blobs::remove(
            session, chat, id
        )
        .await)
    }

    async fn prune_blobs(&self, prune: &BlobPrune) -> Result<BlobsPruned> {
        prune.check()?;
        work!(self.pool, "prune_blobs", Work::Write, &prune.user, |session| blobs::prune(
            session, prune
        )
        .await)
    }
}
