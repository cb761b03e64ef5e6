//! Blobs: bytes too large to stand in a message, kept under the hash of what they are.

use std::fmt;
use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use serde::Serialize;

use crate::base::{BlobId, limits, sealed};
use crate::store::{Cursor, Page};
use crate::{ChatId, ChatRef, Result, Timestamp, UserId};

/// Bytes to keep. `Debug` shows how many, not which.
#[derive(Clone)]
#[non_exhaustive]
pub struct NewBlob {
    /// The bytes.
    pub bytes: Bytes,
    /// What they are, such as `text/plain`.
    pub media_type: Option<String>,
    /// Now.
    pub at: Timestamp,
}

impl NewBlob {
    /// Bytes of an unknown type.
    pub fn new(bytes: impl Into<Bytes>, at: Timestamp) -> Self {
        Self { bytes: bytes.into(), media_type: None, at }
    }

    /// Of this type.
    #[must_use]
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }

    /// Refuses a bad chat and too many bytes.
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

/// A blob as a chat refers to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Blob {
    /// Its name.
    pub id: BlobId,
    /// How many bytes it has.
    pub bytes: u64,
    /// What they are, as the chat first said.
    pub media_type: Option<String>,
    /// How many chats of the user refer to it.
    pub references: u64,
    /// When this chat first put it.
    pub created_at: Timestamp,
    /// When this chat last put or read it, as far as a call brought a time.
    pub used_at: Timestamp,
}

impl Blob {
    /// A blob that one chat refers to since now.
    pub fn new(id: BlobId, bytes: u64, media_type: Option<String>, at: Timestamp) -> Self {
        Self { id, bytes, media_type, references: 1, created_at: at, used_at: at }
    }
}

/// Which references of chats to blobs are dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlobPrune {
    /// Whose.
    pub user: UserId,
    /// Of one chat; of all, if there is none.
    pub chat: Option<ChatId>,
    /// Those last used then or before.
    pub unused_since: Timestamp,
}

impl BlobPrune {
    /// What no chat of this user has used since.
    pub fn new(user: impl Into<UserId>, unused_since: Timestamp) -> Self {
        Self { user: user.into(), chat: None, unused_since }
    }

    /// Of this chat alone.
    #[must_use]
    pub fn of_chat(mut self, chat: impl Into<ChatId>) -> Self {
        self.chat = Some(chat.into());
        self
    }

    /// Refuses a bad user or chat.
    pub fn check(&self) -> Result<()> {
        const OPERATION: &str = "prune_blobs";
        limits::check_id(OPERATION, "user", self.user.as_str())?;
        self.chat.iter().try_for_each(|chat| limits::check_id(OPERATION, "chat", chat.as_str()))
    }
}

/// What a removal of blobs did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BlobsPruned {
    /// How many references of chats were dropped.
    pub references: u64,
    /// How many blobs nobody refers to any more, and are gone.
    pub blobs: u64,
    /// How many bytes those had.
    pub bytes: u64,
}

/// Keeps bytes under the hash of what they are.
///
/// A blob belongs to a user: two users who keep the same bytes keep them twice, so that nobody
/// learns what others have. Chats of one user share it, each with a reference of its own; the bytes
/// are there as long as there is one. Deleting a chat drops its references, erasing a user all of
/// theirs.
///
/// A chat that does not exist is [`NotFound`](crate::ErrorKind::NotFound) for every call; a blob
/// that it does not refer to is nothing, also if another chat of the user keeps those bytes.
/// Putting and reading are no change of the chat: [`Chat::updated_at`](crate::store::Chat::updated_at)
/// stays.
///
/// Contract with implementors, beside that of [`Store`](crate::Store): a put is one transaction,
/// bytes and reference together; what was there is never written again; a read gives the bytes that
/// were put or an error, never others ([`Corrupt`](crate::ErrorKind::Corrupt) if what is stored is
/// not what its name says, as far as that is looked at: a check of the store looks at all of it).
#[async_trait]
pub trait BlobStore: Send + Sync {
    /// Keeps bytes for a chat. Bytes that the user keeps already are not written again. If the chat
    /// refers to them, their time of use goes forward, and a media type is noted if there was none.
    async fn put_blob(&self, chat: &ChatRef, blob: NewBlob) -> Result<Blob>;

    /// What is known of a blob the chat refers to.
    async fn blob(&self, chat: &ChatRef, id: &BlobId) -> Result<Option<Blob>>;

    /// Reads a range of the bytes, cut to where they end: behind the end, or if it ends before it
    /// begins, there are none. Nothing if the chat does not refer to such a blob. With a time the
    /// blob counts as used then, unless it was used later.
    async fn read_blob(
        &self,
        chat: &ChatRef,
        id: &BlobId,
        range: Range<u64>,
        at: Option<Timestamp>,
    ) -> Result<Option<Bytes>>;

    /// The blobs a chat refers to, ordered by name, page by page (`limit` from 1 to
    /// [`limits::MAX_PAGE`]).
    async fn blobs(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Blob>>;

    /// Drops the chat's reference, if it has one. The bytes go with the last one.
    async fn remove_blob(&self, chat: &ChatRef, id: &BlobId) -> Result<BlobsPruned>;

    /// Drops references that were not used for long, and the bytes nobody refers to any more.
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
