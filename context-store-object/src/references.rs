//! References: which chat has which blob since when, as listings show it.
//!
//! Almost everything about a reference is in names of objects, so one listing answers whether a
//! chat has a blob, where its bytes are and when it was last used. Only the size, the media type
//! and the checksums are content. Objects are added and removed and never changed, so no call has
//! to compare what it overwrites.

use std::collections::{BTreeMap, BTreeSet};

use context_core::base::BlobId;
use context_core::{Result, Timestamp};
use futures_util::FutureExt as _;

use crate::bucket::{Listed, all};
use crate::keys::{Nonce, RefName, UploadName};
use crate::objects::Objects;
use crate::user_keys::{ChatKeys, UserKeys};

/// A reference of a chat to a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) nonce: Nonce,
    pub(crate) life: Nonce,
    /// The upload with the bytes.
    pub(crate) upload: Nonce,
    pub(crate) created_at: Timestamp,
    pub(crate) used_at: Timestamp,
    /// Whether a media type was recorded after the first put.
    pub(crate) has_type: bool,
    /// Whether it is about to be pruned, so that a put may not rely on it.
    pub(crate) is_going: bool,
}

impl Reference {
    fn name(&self) -> RefName {
        let Self { nonce, life, upload, created_at, .. } = *self;
        RefName::Reference { nonce, life, upload, at: created_at }
    }

    /// Returns the key of the object that is the reference.
    pub(crate) fn key(&self, keys: &ChatKeys, id: &BlobId) -> String {
        keys.user.reference(&keys.chat, id, &self.name())
    }

    /// Returns the hold that keeps the bytes.
    pub(crate) fn hold(&self, keys: &ChatKeys) -> (Nonce, UploadName) {
        (self.upload, UploadName::Hold { chat: keys.chat.clone(), nonce: self.nonce })
    }
}

/// The references of one chat to one blob. Usually there is one; puts at the same moment add more,
/// which count as one.
#[derive(Clone, Debug, Default)]
pub(crate) struct References {
    all: Vec<Reference>,
    /// The names of objects about references, other than those that are a reference.
    notes: Vec<RefName>,
}

impl References {
    fn read<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut references = Self::default();
        for name in names.into_iter().filter_map(|name| name.parse().ok()) {
            match name {
                RefName::Reference { nonce, life, upload, at } => {
                    references.all.push(Reference {
                        nonce,
                        life,
                        upload,
                        created_at: at,
                        used_at: at,
                        has_type: false,
                        is_going: false,
                    });
                }
                note => references.notes.push(note),
            }
        }
        for note in &references.notes {
            let of_note = references.all.iter_mut().find(|known| known.nonce == note.nonce());
            match (of_note, note) {
                (Some(known), RefName::Used { at, .. }) => known.used_at = known.used_at.max(*at),
                (Some(known), RefName::Type { .. }) => known.has_type = true,
                (Some(known), RefName::Going { .. }) => known.is_going = true,
                _ => {}
            }
        }
        // The first one describes the blob. Every reader has to choose the same.
        references.all.sort_by_key(|reference| (reference.created_at, reference.nonce));
        references
    }

    /// Returns the reference that counts for a chat in this life, with the time of the last use of
    /// all of them.
    pub(crate) fn of(&self, life: Nonce) -> Option<Reference> {
        let mut all = self.all.iter().filter(|reference| reference.life == life);
        let mut first = all.next()?.clone();
        for other in all {
            first.used_at = first.used_at.max(other.used_at);
        }
        Some(first)
    }

    /// Returns all references of a chat in this life.
    pub(crate) fn all_of(&self, life: Nonce) -> impl Iterator<Item = &Reference> {
        self.all.iter().filter(move |reference| reference.life == life)
    }

    /// Returns the lives of the chat that have references.
    pub(crate) fn lives(&self) -> BTreeSet<Nonce> {
        self.all.iter().map(|reference| reference.life).collect()
    }

    /// Returns the numbers of all references.
    pub(crate) fn nonces(&self) -> impl Iterator<Item = Nonce> {
        self.all.iter().map(|reference| reference.nonce)
    }

    /// Returns a reference of a chat in this life that a put may rely on.
    pub(crate) fn lasting(&self, life: Nonce) -> Option<&Reference> {
        self.all_of(life).find(|reference| !reference.is_going)
    }

    /// Whether this reference exists.
    pub(crate) fn has(&self, nonce: Nonce) -> bool {
        self.all.iter().any(|reference| reference.nonce == nonce)
    }

    /// Returns the objects about a reference.
    pub(crate) fn notes_of(&self, nonce: Nonce) -> impl Iterator<Item = &RefName> {
        self.notes.iter().filter(move |note| note.nonce() == nonce)
    }

    /// Returns the objects about references that do not exist any more.
    pub(crate) fn stray_notes(&self) -> impl Iterator<Item = &RefName> {
        self.notes.iter().filter(|note| !self.has(note.nonce()))
    }
}

/// References by chat and blob, as a listing has them.
pub(crate) type ByBlob = BTreeMap<(String, BlobId), References>;

/// Reads keys that end with a chat, a blob and the name of an object.
fn by_blob(listed: &[Listed]) -> ByBlob {
    let mut names: BTreeMap<(String, BlobId), Vec<&str>> = BTreeMap::new();
    for listed in listed {
        let mut parts = listed.key.rsplit('/');
        let (name, id, chat) = (parts.next(), parts.next(), parts.next());
        if let (Some(name), Some(Ok(id)), Some(chat)) = (name, id.map(str::parse), chat) {
            names.entry((chat.to_owned(), id)).or_default().push(name);
        }
    }
    names.into_iter().map(|(place, names)| (place, References::read(names))).collect()
}

impl Objects {
    /// Returns the references of a chat to a blob, of all its lives.
    pub(crate) async fn references(
        &self,
        operation: &'static str,
        keys: &ChatKeys,
        id: &BlobId,
    ) -> Result<References> {
        let folder = keys.user.refs_to(&keys.chat, id);
        let listed = self.bucket.list(operation, &folder, None).await?;
        Ok(by_blob(&listed).into_values().next().unwrap_or_default())
    }

    /// Returns the references of a chat, or those behind a blob.
    pub(crate) async fn references_of_chat(
        &self,
        operation: &'static str,
        keys: &ChatKeys,
        after: Option<&BlobId>,
    ) -> Result<ByBlob> {
        let folder = keys.user.refs_of_chat(&keys.chat);
        // Greater than the name of any object in the folder of the blob.
        let after = after.map(|id| format!("{folder}/{id}/zz"));
        let listed = self.bucket.list(operation, &folder, after.as_deref()).await?;
        Ok(by_blob(&listed))
    }

    /// Returns the references of all chats of a user.
    pub(crate) async fn references_of_user(
        &self,
        operation: &'static str,
        user: &UserKeys,
    ) -> Result<ByBlob> {
        Ok(by_blob(&self.bucket.list(operation, &user.refs(), None).await?))
    }

    /// Removes references: first the objects that are the references, then what is about them, then
    /// their holds and the bytes that are not needed any more. Returns the size of the blob if its
    /// bytes were removed.
    pub(crate) async fn remove_references(
        &self,
        operation: &'static str,
        keys: &ChatKeys,
        id: &BlobId,
        references: &References,
        life: Nonce,
    ) -> Result<Option<u64>> {
        let of_life: Vec<_> = references.all_of(life).collect();
        self.bucket.delete(operation, of_life.iter().map(|known| known.key(keys, id))).await?;
        let notes = of_life.iter().flat_map(|known| references.notes_of(known.nonce));
        let notes = notes.map(|note| keys.user.reference(&keys.chat, id, note));
        self.bucket.delete(operation, notes).await?;
        let holds: Vec<_> = of_life.iter().map(|known| known.hold(keys)).collect();
        self.release(operation, &keys.user, id, holds).await
    }

    /// Removes all references of a chat in one of its lives.
    pub(crate) async fn remove_life(
        &self,
        operation: &'static str,
        keys: &ChatKeys,
        life: Nonce,
    ) -> Result<()> {
        let found = self.references_of_chat(operation, keys, None).await?;
        let removals = found.iter().map(|((_, id), references)| {
            self.remove_references(operation, keys, id, references, life).boxed()
        });
        all(removals.collect()).await?;
        Ok(())
    }
}
