//! Forwards the calls of blobs.

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use context_core::base::BlobId;
use context_core::store::{Blob, BlobPrune, BlobStore, BlobsPruned, Cursor, NewBlob, Page};
use context_core::{ChatRef, Result, Timestamp};

use crate::blobs;
use crate::connections::calls::{reading, writing};
use crate::store::Shared;

#[async_trait]
impl BlobStore for Shared {
    async fn put_blob(&self, chat: &ChatRef, blob: NewBlob) -> Result<Blob> {
        blob.check(chat)?;
        // Hashing takes time, so the id is computed before the writer is requested.
        let id = BlobId::of(&blob.bytes);
        writing!(self, "put_blob", |writer| blobs::put(writer, chat, id, blob).await)
    }

    async fn blob(&self, chat: &ChatRef, id: &BlobId) -> Result<Option<Blob>> {
        reading!(self, "blob", |reader| blobs::find(reader, chat, id).await)
    }

    async fn read_blob(
        &self,
        chat: &ChatRef,
        id: &BlobId,
        range: Range<u64>,
        at: Option<Timestamp>,
    ) -> Result<Option<Bytes>> {
        if let Some(at) = at
            && !self.connections.reads_only()
        {
            // The time of use is updated before the read, so that the blob is not pruned as unused
            // meanwhile.
            writing!(self, "read_blob", |writer| blobs::touch(writer, chat, id, at).await)?;
        }
        reading!(self, "read_blob", |reader| blobs::read(reader, chat, id, range.clone()).await)
    }

    async fn blobs(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Blob>> {
        reading!(self, "blobs", |reader| blobs::list(reader, chat, limit, after).await)
    }

    async fn remove_blob(&self, chat: &ChatRef, id: &BlobId) -> Result<BlobsPruned> {
        writing!(self, "remove_blob", |writer| blobs::remove(writer, chat, id).await)
    }

    async fn prune_blobs(&self, prune: &BlobPrune) -> Result<BlobsPruned> {
        prune.check()?;
        writing!(self, "prune_blobs", |writer| blobs::prune(writer, prune).await)
    }
}
