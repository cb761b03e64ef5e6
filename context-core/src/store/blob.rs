//! Blobs: bytes that are too large for a message, stored under their hash.

use std::fmt;
use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use serde::Serialize;

use crate::base::{BlobId, limits, sealed};
use crate::store::{Cursor, Page};
use crate::{ChatId, ChatRef, Result, Timestamp, UserId};

/// A blob to store. `Debug` shows the number of bytes, not the bytes.
#[derive(Clone)]
#[non_exhaustive]
pub struct NewBlob {
    /// The bytes.
    pub bytes: Bytes,
    /// The media type, such as `text/plain`.
    pub media_type: Option<String>,
    /// The current time.
    pub at: Timestamp,
}

impl NewBlob {
    /// Creates a blob without a media type.
    pub fn new(bytes: impl Into<Bytes>, at: Timestamp) -> Self {
        Self { bytes: bytes.into(), media_type: None, at }
    }

    /// Sets the media type.
    #[must_use]
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }

    /// Refuses an invalid chat, and a blob or media type over its limit.
    pub fn check(&self, chat: &ChatRef) -> Result<()> {
        const OPERATION: &str = "put_blob";
        limits::check_chat(OPERATION, chat)?;
        if let Some(media_type) = &self.media_type {
            limits::check_length(
                OPERATION,
                "media type",
                sealed::media_type_length(media_type),
                limits::MAX_ID_BYTES,
            )?;
        }
        limits::check_length(
            OPERATION,
            "blob",
            sealed::blob_length(&self.bytes),
            limits::MAX_BLOB_BYTES,
        )
    }
}

impl fmt::Debug for NewBlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, media_type, at } = self;
        let mut shown = f.debug_struct("NewBlob");
        shown.field("bytes", &bytes.len()).field("media_type", media_type).field("at", at).finish()
    }
}

/// A chat's reference to a blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Blob {
    /// The blob's name.
    pub id: BlobId,
    /// The blob's size in bytes.
    pub bytes: u64,
    /// The media type, as the chat first gave it.
    pub media_type: Option<String>,
    /// Number of the user's chats that refer to the blob.
    pub references: u64,
    /// The time when this chat first put the blob.
    pub created_at: Timestamp,
    /// The time when this chat last put or read the blob, as far as the calls carried a timestamp.
    pub used_at: Timestamp,
}

impl Blob {
    /// Creates a blob that one chat has just put.
    pub fn new(id: BlobId, bytes: u64, media_type: Option<String>, at: Timestamp) -> Self {
        Self { id, bytes, media_type, references: 1, created_at: at, used_at: at }
    }
}

/// A filter for the blob references to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlobPrune {
    /// The owner of the chats.
    pub user: UserId,
    /// The chat to prune. `None`: all chats of the user.
    pub chat: Option<ChatId>,
    /// References that were last used at or before this time are removed.
    pub unused_since: Timestamp,
}

impl BlobPrune {
    /// Selects the references of all of the user's chats that are unused since this time.
    pub fn new(user: impl Into<UserId>, unused_since: Timestamp) -> Self {
        Self { user: user.into(), chat: None, unused_since }
    }

    /// Restricts the removal to one chat.
    #[must_use]
    pub fn of_chat(mut self, chat: impl Into<ChatId>) -> Self {
        self.chat = Some(chat.into());
        self
    }

    /// Refuses an invalid user or chat.
    pub fn check(&self) -> Result<()> {
        const OPERATION: &str = "prune_blobs";
        limits::check_id(OPERATION, "user", self.user.as_str())?;
        self.chat.iter().try_for_each(|chat| limits::check_id(OPERATION, "chat", chat.as_str()))
    }
}

/// The result of a removal of blobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BlobsPruned {
    /// Number of references that were removed.
    pub references: u64,
    /// Number of blobs that lost their last reference and were deleted.
    pub blobs: u64,
    /// Total size of the deleted blobs in bytes.
    pub bytes: u64,
}

/// Stores bytes under their hash.
///
/// A blob belongs to a user. Two users who store the same bytes store them twice, so that no user
/// learns what others have. Chats of one user share a blob, each with a reference of its own, and
/// the bytes are kept as long as one reference exists. Deleting a chat removes its references;
/// erasing a user removes all of theirs.
///
/// A chat that does not exist is [`NotFound`](crate::ErrorKind::NotFound) for every call. A blob
/// that the chat does not refer to is `None`, even if another chat of the user has it. Putting and
/// reading blobs does not change the chat: [`Chat::updated_at`](crate::store::Chat::updated_at)
/// stays.
///
/// Contract with implementors, in addition to that of [`Store`](crate::Store): a put writes bytes
/// and reference in one transaction. Stored bytes are never written again. A read returns the bytes
/// that were put or an error, never other bytes. If a backend notices that stored bytes do not
/// match their name, the error is [`Corrupt`](crate::ErrorKind::Corrupt). A check of the store
/// verifies all blobs.
#[async_trait]
pub trait BlobStore: Send + Sync {
    /// Stores bytes for a chat. Bytes that the user already has are not written again. If the chat
    /// already refers to the blob, its time of use advances, and the media type is recorded if
    /// there was none.
    async fn put_blob(&self, chat: &ChatRef, blob: NewBlob) -> Result<Blob>;

    /// Returns the chat's reference to a blob, if there is one.
    async fn blob(&self, chat: &ChatRef, id: &BlobId) -> Result<Option<Blob>>;

    /// Reads a range of the bytes. The range is clamped to the blob's size; a range past the end,
    /// or one that ends before it begins, is empty. Returns `None` if the chat does not refer to
    /// the blob. `at` marks the blob as used at that time, unless it was used later.
    async fn read_blob(
        &self,
        chat: &ChatRef,
        id: &BlobId,
        range: Range<u64>,
        at: Option<Timestamp>,
    ) -> Result<Option<Bytes>>;

    /// Lists the blobs that a chat refers to, ordered by name, page by page (`limit` from 1 to
    /// [`limits::MAX_PAGE`]).
    async fn blobs(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Blob>>;

    /// Removes the chat's reference, if there is one. Removing the last reference deletes the
    /// bytes.
    async fn remove_blob(&self, chat: &ChatRef, id: &BlobId) -> Result<BlobsPruned>;

    /// Removes references that have not been used for long, and deletes blobs without references.
    async fn prune_blobs(&self, prune: &BlobPrune) -> Result<BlobsPruned>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_the_bytes_are() {
        let id = BlobId::of(b"a long report");
        assert_eq!(BlobId::from_reference(&id.to_reference()), Some(id));
        assert_ne!(id, BlobId::of(b"a long report "));
        assert_eq!(BlobId::from_reference("file_123"), None);
        assert!("blob:".parse::<BlobId>().is_err());
    }
}
