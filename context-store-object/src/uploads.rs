//! Uploads: the bytes of blobs, and what keeps them.
//!
//! The bytes of a blob are usually one object, an *upload*, which all references of the user's
//! chats share. Each reference has a *hold* on it. Bytes without holds are removed in three steps,
//! so that a put that arrives in between neither loses its bytes nor waits:
//!
//! 1. The upload is marked as closed.
//! 2. Its holds are listed again. If one has arrived, the bytes stay.
//! 3. Otherwise the bytes are deleted, then the mark.
//!
//! A put writes its hold first, and looks for a mark afterwards. So either the put sees the mark,
//! and uploads the bytes again under a new name, or step 2 sees the hold. This needs no lock and no
//! conditional write, only a listing that has everything that was written before it began.

use std::collections::{BTreeMap, BTreeSet};

use context_core::Result;
use context_core::base::BlobId;

use crate::bucket::Listed;
use crate::keys::{Nonce, UploadName};
use crate::objects::Objects;
use crate::user_keys::UserKeys;

/// An upload, as a listing shows it.
#[derive(Debug, Default)]
pub(crate) struct Upload {
    /// The size of the bytes, if they are there.
    pub(crate) bytes: Option<u64>,
    /// The references that hold it, each with the hash of its chat.
    pub(crate) holds: BTreeMap<Nonce, String>,
    /// Holds that may be removed.
    revoked: BTreeSet<Nonce>,
    /// Whether it accepts no further holds.
    closed: bool,
}

impl Upload {
    /// Whether a put may rely on its hold.
    pub(crate) fn is_held_by(&self, nonce: Nonce) -> bool {
        !self.closed && self.holds.contains_key(&nonce) && !self.revoked.contains(&nonce)
    }
}

/// The uploads of a blob.
#[derive(Debug, Default)]
pub(crate) struct Uploads(pub(crate) BTreeMap<Nonce, Upload>);

impl Uploads {
    /// Adds a listed object, by its folder and name.
    pub(crate) fn add(&mut self, upload: &str, name: &str, listed: &Listed) {
        let (Ok(nonce), Ok(name)) = (upload.parse(), name.parse()) else { return };
        let upload = self.0.entry(nonce).or_default();
        match name {
            UploadName::Data => upload.bytes = Some(listed.bytes),
            UploadName::Hold { chat, nonce } => drop(upload.holds.insert(nonce, chat)),
            UploadName::Revoked { nonce } => drop(upload.revoked.insert(nonce)),
            UploadName::Closed => upload.closed = true,
        }
    }

    /// Returns an upload with this many bytes that a put may hold.
    pub(crate) fn usable(&self, bytes: u64) -> Option<Nonce> {
        let is_usable = |upload: &&Upload| !upload.closed && upload.bytes == Some(bytes);
        self.0.iter().find(|(_, upload)| is_usable(upload)).map(|(nonce, _)| *nonce)
    }

    /// Returns the number of chats that hold the blob, this one included.
    pub(crate) fn references(&self, chat: &str) -> u64 {
        let holds = self.0.values().flat_map(|upload| upload.holds.values());
        let chats: BTreeSet<&str> = holds.map(String::as_str).chain([chat]).collect();
        chats.len() as u64
    }
}

impl Objects {
    /// Lists the uploads of a blob.
    pub(crate) async fn uploads(
        &self,
        operation: &'static str,
        user: &UserKeys,
        id: &BlobId,
    ) -> Result<Uploads> {
        let mut uploads = Uploads::default();
        for listed in self.bucket.list(operation, &user.uploads_of(id), None).await? {
            let mut parts = listed.key.rsplit('/');
            if let (Some(name), Some(upload)) = (parts.next(), parts.next()) {
                uploads.add(upload, name, &listed);
            }
        }
        Ok(uploads)
    }

    /// Removes holds, then the bytes that nothing holds any more. Returns the size of the blob if
    /// that were all of its bytes.
    pub(crate) async fn release(
        &self,
        operation: &'static str,
        user: &UserKeys,
        id: &BlobId,
        holds: impl IntoIterator<Item = (Nonce, UploadName)>,
    ) -> Result<Option<u64>> {
        let holds = holds.into_iter().map(|(upload, hold)| user.upload(id, &upload, &hold));
        self.bucket.delete(operation, holds).await?;
        self.settle(operation, user, id).await
    }

    /// Removes the bytes that nothing holds. Returns the size of the blob if that were all of its
    /// bytes.
    pub(crate) async fn settle(
        &self,
        operation: &'static str,
        user: &UserKeys,
        id: &BlobId,
    ) -> Result<Option<u64>> {
        let listed = self.uploads(operation, user, id).await?;
        let free: Vec<_> = listed.0.iter().filter(|(_, upload)| upload.holds.is_empty()).collect();
        if free.is_empty() {
            return Ok(None);
        }
        let open = free.iter().filter(|(_, upload)| !upload.closed);
        for (nonce, _) in open {
            let key = user.upload(id, nonce, &UploadName::Closed);
            self.bucket.put(operation, &key, "").await?;
        }
        // Also needed if the mark was there before: one listing may have a mark and lack a hold
        // that is older than the mark.
        let listed = self.uploads(operation, user, id).await?;
        let mut removed = None;
        let mut remaining = false;
        for (nonce, upload) in &listed.0 {
            if !upload.closed || !upload.holds.is_empty() {
                remaining |= upload.bytes.is_some();
                continue;
            }
            let data = user.upload(id, nonce, &UploadName::Data);
            self.bucket.delete(operation, [data]).await?;
            let closed = user.upload(id, nonce, &UploadName::Closed);
            let revoked = upload.revoked.iter().map(|hold| UploadName::Revoked { nonce: *hold });
            let revoked = revoked.map(|name| user.upload(id, nonce, &name));
            self.bucket.delete(operation, revoked).await?;
            self.bucket.delete(operation, [closed]).await?;
            removed = removed.or(upload.bytes);
        }
        Ok(removed.filter(|_| !remaining))
    }
}
