//! The mapping of blob ids: callers name a blob by the hash of its bytes, the backend by the hash
//! of the encrypted bytes.
//!
//! The caller's id is stored encrypted in the media type of the stored blob, written in the same
//! transaction. Results are cached. An id is a function of key and bytes, so a cached one may be
//! missing in the backend, but it is never wrong.

use bytes::Bytes;
use context_core::ChatRef;
use context_core::base::BlobId;
use context_core::store::Blob;
use moka::sync::Cache;

use super::associated_data::AssociatedData;
use super::keys::EncryptionKey;
use super::record::{SealError, Sealer, key_of, record_text, seal, text_record};
use super::segments::Sealing;

/// The number of cached names.
const REMEMBERED: u64 = 10_000;

/// The cached stored ids, by chat and caller's id.
pub(super) struct BlobNames(Cache<(ChatRef, BlobId), BlobId>);

/// A stored blob, decrypted.
#[derive(Clone, Debug)]
pub(super) struct OpenedBlob {
    pub(super) id: BlobId,
    pub(super) media_type: Option<String>,
    /// `None` if it is stored without encryption.
    pub(super) sealing: Option<Sealing>,
    /// The blob as the backend knows it.
    pub(super) stored: Blob,
    /// Whether it was encrypted with another key than the current one.
    pub(super) old: bool,
}

impl Default for BlobNames {
    fn default() -> Self {
        Self(Cache::new(REMEMBERED))
    }
}

impl BlobNames {
    pub(super) fn get(&self, chat: &ChatRef, id: &BlobId) -> Option<BlobId> {
        self.0.get(&(chat.clone(), *id))
    }

    pub(super) fn forget(&self, chat: &ChatRef, id: &BlobId) {
        self.0.invalidate(&(chat.clone(), *id));
    }

    pub(super) fn remember(&self, chat: &ChatRef, found: &OpenedBlob) {
        self.0.insert((chat.clone(), found.id), found.stored.id);
    }
}

/// Returns the media type of the stored blob, which holds the encrypted name.
pub(super) fn seal_name(
    key: &EncryptionKey,
    chat: &ChatRef,
    stored: &BlobId,
    id: &BlobId,
    sealing: &Sealing,
    media_type: Option<&str>,
) -> String {
    let mut text = Vec::with_capacity(64 + media_type.map_or(0, str::len));
    text.extend_from_slice(id.as_bytes());
    text.extend_from_slice(&sealing.bytes.to_le_bytes());
    text.push(sealing.variant);
    text.extend_from_slice(&sealing.prefix);
    text.push(media_type.is_some().into());
    text.extend_from_slice(media_type.unwrap_or_default().as_bytes());
    record_text(&seal(key, &AssociatedData::blob_name(chat, stored), &text))
}

impl Sealer {
    /// Decrypts the media type of a stored blob.
    pub(super) fn open_name(&self, chat: &ChatRef, stored: Blob) -> Result<OpenedBlob, SealError> {
        let Some(record) = stored.media_type.as_deref().and_then(text_record) else {
            if !self.allow_plain {
                return Err(SealError::Plain);
            }
            let (id, media_type) = (stored.id, stored.media_type.clone());
            return Ok(OpenedBlob { id, media_type, sealing: None, stored, old: true });
        };
        let record = record?;
        let text = self.open(&AssociatedData::blob_name(chat, &stored.id), &record)?;
        let read = || {
            let (id, rest) = text.split_first_chunk()?;
            let (bytes, rest) = rest.split_first_chunk()?;
            let (&variant, rest) = rest.split_first()?;
            let (prefix, rest) = rest.split_first_chunk()?;
            let (&typed, media_type) = rest.split_first()?;
            let media_type = std::str::from_utf8(media_type).ok()?.to_owned();
            let sealing = Sealing { bytes: u64::from_le_bytes(*bytes), variant, prefix: *prefix };
            Some((BlobId::from_bytes(*id), (typed != 0).then_some(media_type), sealing))
        };
        let (id, media_type, sealing) = read().ok_or(SealError::Broken)?;
        if sealing.sealed_bytes() != stored.bytes {
            return Err(SealError::Broken);
        }
        let old = self.is_old(&record);
        Ok(OpenedBlob { id, media_type, sealing: Some(sealing), stored, old })
    }
}

impl OpenedBlob {
    /// Returns the key that the bytes are encrypted with.
    pub(super) fn key<'a>(&self, sealer: &'a Sealer) -> Result<&'a EncryptionKey, SealError> {
        let record =
            self.stored.media_type.as_deref().and_then(text_record).ok_or(SealError::Plain)??;
        sealer.ring.get(&key_of(&record)?).ok_or(SealError::Broken)
    }

    /// Returns the blob as callers know it.
    pub(super) fn blob(&self) -> Blob {
        let mut blob = self.stored.clone();
        blob.id = self.id;
        blob.media_type.clone_from(&self.media_type);
        if let Some(sealing) = &self.sealing {
            blob.bytes = sealing.bytes;
        }
        blob
    }

    /// Returns the preference among blobs with the same bytes: those with a type first, then those
    /// of the current key, then the latest variant.
    fn rank(&self) -> (bool, bool, Option<u8>) {
        (self.media_type.is_some(), !self.old, self.sealing.as_ref().map(|sealing| sealing.variant))
    }

    /// Decrypts the bytes that were read.
    pub(super) fn open(
        &self,
        sealer: &Sealer,
        chat: &ChatRef,
        part: &super::segments::Part,
        read: &[u8],
    ) -> Result<Bytes, SealError> {
        let Some(sealing) = &self.sealing else { return Err(SealError::Plain) };
        sealing.open(self.key(sealer)?, &AssociatedData::blob(&chat.user, &self.id), part, read)
    }
}

/// Sorts the blobs of a chat by name. Where several have the same bytes, as during a rotation, the
/// preferred one comes first.
pub(super) fn sort(found: &mut [OpenedBlob]) {
    found.sort_by(|a, b| a.id.cmp(&b.id).then_with(|| b.rank().cmp(&a.rank())));
}
