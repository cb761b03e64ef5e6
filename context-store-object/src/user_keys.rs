//! The keys of one user.

use context_core::base::BlobId;
use context_core::{ChatRef, UserId};

use crate::keys::{Nonce, RefName, USERS, UploadName, hashed};

/// The folder of a user.
#[derive(Clone, Debug)]
pub(crate) struct UserKeys(String);

impl UserKeys {
    pub(crate) fn new(user: &UserId) -> Self {
        Self::of_folder(&hashed(user.as_str()))
    }

    /// Returns the keys of a user whose folder was listed.
    pub(crate) fn of_folder(name: &str) -> Self {
        Self(format!("{USERS}/{name}"))
    }

    pub(crate) fn root(&self) -> &str {
        &self.0
    }

    pub(crate) fn chats(&self) -> String {
        format!("{}/chats", self.0)
    }

    pub(crate) fn tags(&self) -> String {
        format!("{}/tags", self.0)
    }

    pub(crate) fn refs(&self) -> String {
        format!("{}/refs", self.0)
    }

    pub(crate) fn blobs(&self) -> String {
        format!("{}/blobs", self.0)
    }

    pub(crate) fn chat(&self, chat: &str) -> String {
        format!("{}/chats/{chat}", self.0)
    }

    /// Returns the folder of the chats with a metadata entry.
    pub(crate) fn tagged(&self, key: &str, value: &str) -> String {
        let entry = hashed(&format!("{}:{key}{value}", key.len()));
        format!("{}/tags/{entry}", self.0)
    }

    pub(crate) fn refs_of_chat(&self, chat: &str) -> String {
        format!("{}/refs/{chat}", self.0)
    }

    pub(crate) fn refs_to(&self, chat: &str, id: &BlobId) -> String {
        format!("{}/refs/{chat}/{id}", self.0)
    }

    pub(crate) fn reference(&self, chat: &str, id: &BlobId, name: &RefName) -> String {
        format!("{}/refs/{chat}/{id}/{name}", self.0)
    }

    pub(crate) fn uploads_of(&self, id: &BlobId) -> String {
        format!("{}/blobs/{id}", self.0)
    }

    pub(crate) fn upload(&self, id: &BlobId, upload: &Nonce, name: &UploadName) -> String {
        format!("{}/blobs/{id}/{upload}/{name}", self.0)
    }
}

/// The keys of one chat: those of its user, and the name of the chat in them.
#[derive(Clone, Debug)]
pub(crate) struct ChatKeys {
    pub(crate) user: UserKeys,
    pub(crate) chat: String,
}

impl ChatKeys {
    pub(crate) fn new(chat: &ChatRef) -> Self {
        Self { user: UserKeys::new(&chat.user), chat: hashed(chat.chat.as_str()) }
    }

    /// Returns the key of the chat itself.
    pub(crate) fn own(&self) -> String {
        self.user.chat(&self.chat)
    }
}
