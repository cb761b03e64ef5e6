//! Blobs: callers see the ids, sizes and types of the bytes they put.

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use context_core::base::{BlobId, limits};
use context_core::store::{Blob, BlobPrune, BlobStore, BlobsPruned, Cursor, NewBlob, Page};
use context_core::{ChatRef, Error, ErrorKind, Result, Timestamp};

use super::associated_data::AssociatedData;
use super::blob_names::{OpenedBlob, seal_name};
use super::chats::bad_cursor;
use super::layer::Layer;
use super::segments::{Sealing, plain_bytes, seal_blob};

/// Larger blobs are encrypted in a blocking thread.
const LARGE: usize = 1 << 20;
/// The number of times a blob is looked up while a rotation replaces it.
const TRIES: usize = 3;

#[async_trait]
impl BlobStore for Layer {
    async fn put_blob(&self, chat: &ChatRef, blob: NewBlob) -> Result<Blob> {
        const OPERATION: &str = "put_blob";
        blob.check(chat)?;
        let NewBlob { bytes, media_type, at, .. } = blob;
        let sealer = self.sealer_to_write(&chat.user)?;
        let (id, sealing, sealed) = self.seal_bytes(chat, None, 0, bytes.clone()).await?;
        // The same bytes may be stored with an older key, or as the variant that got its type
        // later.
        if !sealer.ring.older().is_empty() || self.names_another(chat, &id, &BlobId::of(&sealed)) {
            let found = self.find_blob(OPERATION, chat, &id).await?;
            if let Some(found) =
                found.filter(|found| found.media_type.is_some() || media_type.is_none())
                && self.touch(chat, &found, at).await?
                && let Some(found) = self.find_blob(OPERATION, chat, &id).await?
            {
                return Ok(found.blob());
            }
        }
        let put = self.put_sealed(chat, &id, &sealing, sealed, media_type.as_deref(), at).await?;
        match media_type {
            Some(media_type) if put.media_type.is_none() => {
                self.note_type(chat, put, bytes, &media_type).await
            }
            _ => Ok(put.blob()),
        }
    }

    async fn blob(&self, chat: &ChatRef, id: &BlobId) -> Result<Option<Blob>> {
        Ok(self.find_blob("blob", chat, id).await?.map(|found| found.blob()))
    }

    async fn read_blob(
        &self,
        chat: &ChatRef,
        id: &BlobId,
        range: Range<u64>,
        at: Option<Timestamp>,
    ) -> Result<Option<Bytes>> {
        const OPERATION: &str = "read_blob";
        for _ in 0..TRIES {
            let Some(found) = self.find_blob(OPERATION, chat, id).await? else { return Ok(None) };
            let blobs = self.blobs()?;
            let Some(sealing) = &found.sealing else {
                return blobs.read_blob(chat, &found.stored.id, range, at).await;
            };
            let part = sealing.part(range.clone());
            let sealed = part.as_ref().map_or(0..0, |part| part.sealed.clone());
            let Some(read) = blobs.read_blob(chat, &found.stored.id, sealed, at).await? else {
                continue;
            };
            let Some(part) = part else { return Ok(Some(Bytes::new())) };
            let opened = found.open(&self.sealer(&chat.user)?, chat, &part, &read);
            return opened.map(Some).map_err(|error| error.of(OPERATION, "blob", &id.to_string()));
        }
        Ok(None)
    }

    async fn blobs(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Blob>> {
        const OPERATION: &str = "blobs";
        limits::check_page(OPERATION, limit)?;
        let after = after.map(|cursor| cursor.as_str().parse::<BlobId>()).transpose();
        let after = after.map_err(|_| bad_cursor(OPERATION))?;
        let (mut all, broken) = self.all_blobs(chat).await?;
        if let Some((id, error)) = broken.into_iter().next() {
            return Err(error.of(OPERATION, "blob", &id.to_string()));
        }
        all.dedup_by_key(|found| found.id);
        let behind = all.partition_point(|found| after.is_some_and(|after| found.id <= after));
        let mut items: Vec<_> =
            all[behind..].iter().take(limit + 1).map(OpenedBlob::blob).collect();
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(|last| Cursor::new(last.id.to_string()));
        Ok(Page { items, next })
    }

    async fn remove_blob(&self, chat: &ChatRef, id: &BlobId) -> Result<BlobsPruned> {
        let mut pruned = BlobsPruned::default();
        for found in self.variants("remove_blob", chat, id).await? {
            let one = self.blobs()?.remove_blob(chat, &found.stored.id).await?;
            // A blob that is stored several times during a rotation counts once.
            pruned.references = pruned.references.max(one.references);
            if one.blobs > 0 {
                (pruned.blobs, pruned.bytes) = (1, found.blob().bytes);
            }
        }
        Ok(pruned)
    }

    async fn prune_blobs(&self, prune: &BlobPrune) -> Result<BlobsPruned> {
        let mut pruned = self.blobs()?.prune_blobs(prune).await?;
        if !self.allow_plain {
            pruned.bytes = plain_bytes(pruned.blobs, pruned.bytes);
        }
        Ok(pruned)
    }
}

impl Layer {
    /// Returns the id of the bytes, unless it is given, and the bytes encrypted with the current
    /// key.
    pub(super) async fn seal_bytes(
        &self,
        chat: &ChatRef,
        id: Option<BlobId>,
        variant: u8,
        bytes: Bytes,
    ) -> Result<(BlobId, Sealing, Bytes)> {
        let (key, user) =
            (self.sealer_to_write(&chat.user)?.ring.current().clone(), chat.user.clone());
        let large = bytes.len() >= LARGE;
        let seal = move || {
            let id = id.unwrap_or_else(|| BlobId::of(&bytes));
            let (sealing, sealed) =
                seal_blob(&key, &AssociatedData::blob(&user, &id), variant, &bytes);
            (id, sealing, sealed)
        };
        if !large {
            return Ok(seal());
        }
        tokio::task::spawn_blocking(seal).await.map_err(|error| {
            Error::new(ErrorKind::Bug, "put_blob", "sealing ended early").with_source(error)
        })
    }

    pub(super) async fn put_sealed(
        &self,
        chat: &ChatRef,
        id: &BlobId,
        sealing: &Sealing,
        sealed: Bytes,
        media_type: Option<&str>,
        at: Timestamp,
    ) -> Result<OpenedBlob> {
        let stored = BlobId::of(&sealed);
        let sealer = self.sealer_to_write(&chat.user)?;
        let name = seal_name(sealer.ring.current(), chat, &stored, id, sealing, media_type);
        let stored =
            self.blobs()?.put_blob(chat, NewBlob::new(sealed, at).media_type(name)).await?;
        let found = sealer.open_name(chat, stored);
        let found = found.map_err(|error| error.of("put_blob", "blob", &id.to_string()))?;
        self.names.remember(chat, &found);
        Ok(found)
    }

    /// Stores bytes once more as another variant with their media type, and removes the variant
    /// without a type. The backend keeps the first type of a blob, so the type of the stored blob
    /// cannot be changed.
    async fn note_type(
        &self,
        chat: &ChatRef,
        untyped: OpenedBlob,
        bytes: Bytes,
        media_type: &str,
    ) -> Result<Blob> {
        let (id, sealing, sealed) = self.seal_bytes(chat, Some(untyped.id), 1, bytes).await?;
        let created_at = untyped.stored.created_at;
        let typed =
            self.put_sealed(chat, &id, &sealing, sealed, Some(media_type), created_at).await?;
        self.touch(chat, &typed, untyped.stored.used_at).await?;
        self.blobs()?.remove_blob(chat, &untyped.stored.id).await?;
        let found = self.find_blob("put_blob", chat, &id).await?;
        Ok(found.unwrap_or(typed).blob())
    }

    /// Records a use of a blob. Returns false if the blob no longer exists.
    pub(super) async fn touch(
        &self,
        chat: &ChatRef,
        found: &OpenedBlob,
        at: Timestamp,
    ) -> Result<bool> {
        Ok(self.blobs()?.read_blob(chat, &found.stored.id, 0..0, Some(at)).await?.is_some())
    }
}
