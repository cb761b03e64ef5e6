//! In-memory blobs. Bytes are kept once per user, with one reference per chat.
//!
//! The caller has checked that the chat exists.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::{Bound, Range};

use bytes::Bytes;
use context_core::base::{BlobId, limits};
use context_core::store::{Blob, BlobPrune, BlobsPruned, Cursor, Finding, NewBlob, Page};
use context_core::{ChatId, ChatRef, Error, Result, Timestamp, UserId};

#[derive(Debug, Default)]
pub(crate) struct Blobs(BTreeMap<UserId, UserBlobs>);

#[derive(Debug, Default)]
struct UserBlobs {
    bytes: BTreeMap<BlobId, StoredBytes>,
    chats: BTreeMap<ChatId, BTreeMap<BlobId, Reference>>,
}

#[derive(Debug)]
struct StoredBytes {
    bytes: Bytes,
    references: u64,
}

#[derive(Debug)]
struct Reference {
    media_type: Option<String>,
    created_at: Timestamp,
    used_at: Timestamp,
}

impl Blobs {
    /// Stores the bytes under their id and adds the chat's reference.
    pub(crate) fn put(&mut self, chat: &ChatRef, id: BlobId, new: NewBlob) -> Blob {
        let UserBlobs { bytes, chats } = self.0.entry(chat.user.clone()).or_default();
        let stored = bytes.entry(id).or_insert(StoredBytes { bytes: new.bytes, references: 0 });
        let reference = match chats.entry(chat.chat.clone()).or_default().entry(id) {
            Entry::Occupied(entry) => {
                let reference = entry.into_mut();
                reference.used_at = reference.used_at.max(new.at);
                if reference.media_type.is_none() {
                    reference.media_type = new.media_type;
                }
                reference
            }
            Entry::Vacant(entry) => {
                stored.references += 1;
                entry.insert(Reference {
                    media_type: new.media_type,
                    created_at: new.at,
                    used_at: new.at,
                })
            }
        };
        describe(id, stored, reference)
    }

    /// Returns the metadata of a blob that the chat refers to.
    pub(crate) fn get(&self, chat: &ChatRef, id: &BlobId) -> Option<Blob> {
        let UserBlobs { bytes, chats } = self.0.get(&chat.user)?;
        let reference = chats.get(&chat.chat)?.get(id)?;
        Some(describe(*id, bytes.get(id)?, reference))
    }

    /// Returns a range of the bytes. The buffer is shared, not copied.
    pub(crate) fn read(&self, chat: &ChatRef, id: &BlobId, range: Range<u64>) -> Option<Bytes> {
        let UserBlobs { bytes, chats } = self.0.get(&chat.user)?;
        chats.get(&chat.chat)?.get(id)?;
        let bytes = &bytes.get(id)?.bytes;
        let cut = |end: u64| usize::try_from(end).map_or(bytes.len(), |end| end.min(bytes.len()));
        let end = cut(range.end);
        Some(bytes.slice(cut(range.start).min(end)..end))
    }

    /// Updates the time at which the chat last used a blob.
    pub(crate) fn touch(&mut self, chat: &ChatRef, id: &BlobId, at: Timestamp) {
        let chats = self.0.get_mut(&chat.user).map(|user| &mut user.chats);
        if let Some(reference) = chats.and_then(|chats| chats.get_mut(&chat.chat)?.get_mut(id)) {
            reference.used_at = reference.used_at.max(at);
        }
    }

    /// Returns one page of the blobs that a chat refers to.
    pub(crate) fn list(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Blob>> {
        const OPERATION: &str = "blobs";
        limits::check_page(OPERATION, limit)?;
        let after = after.map(|cursor| cursor.as_str().parse::<BlobId>()).transpose();
        let after = after
            .map_err(|_| Error::invalid(OPERATION, "the cursor is not one of this listing"))?;
        let mut items = Vec::new();
        if let Some(UserBlobs { bytes, chats }) = self.0.get(&chat.user)
            && let Some(references) = chats.get(&chat.chat)
        {
            let behind = references
                .range((after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded));
            let known =
                behind.filter_map(|(id, reference)| Some(describe(*id, bytes.get(id)?, reference)));
            items.extend(known.take(limit + 1));
        }
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(|last| Cursor::new(last.id.to_string()));
        Ok(Page { items, next })
    }

    /// Removes the chat's reference.
    pub(crate) fn remove(&mut self, chat: &ChatRef, id: &BlobId) -> BlobsPruned {
        self.drop_where(&chat.user, Some(&chat.chat), |other, _| other == id)
    }

    /// Removes the references that have not been used since the given time.
    pub(crate) fn prune(&mut self, prune: &BlobPrune) -> BlobsPruned {
        self.drop_where(&prune.user, prune.chat.as_ref(), |_, reference| {
            reference.used_at <= prune.unused_since
        })
    }

    /// Removes all references of a chat.
    pub(crate) fn forget_chat(&mut self, chat: &ChatRef) {
        self.drop_where(&chat.user, Some(&chat.chat), |_, _| true);
    }

    /// Returns the number of blobs of a user.
    pub(crate) fn count(&self, user: &UserId) -> u64 {
        self.0.get(user).map_or(0, |user| user.bytes.len() as u64)
    }

    /// Returns the number of all blobs and the findings about them.
    pub(crate) fn check(&self) -> (u64, Vec<Finding>) {
        let mut findings = Vec::new();
        let mut blobs = 0;
        for UserBlobs { bytes, chats } in self.0.values() {
            blobs += bytes.len() as u64;
            let mut add = |id: &BlobId, problem: &str| {
                findings.push(Finding::new(None, format!("blob {id}"), problem));
            };
            let mut counted: BTreeMap<&BlobId, u64> = BTreeMap::new();
            for id in chats.values().flat_map(BTreeMap::keys) {
                *counted.entry(id).or_default() += 1;
                if !bytes.contains_key(id) {
                    add(id, "has references, but does not exist");
                }
            }
            for (id, stored) in bytes {
                if BlobId::of(&stored.bytes) != *id {
                    add(id, "its bytes do not match its id");
                }
                if counted.get(id) != Some(&stored.references) {
                    add(id, "the number of references differs from the stored count");
                }
            }
        }
        (blobs, findings)
    }

    /// Removes the references of a user, or of one chat, that the predicate selects. Bytes without
    /// any remaining reference are freed.
    fn drop_where(
        &mut self,
        user: &UserId,
        chat: Option<&ChatId>,
        picked: impl Fn(&BlobId, &Reference) -> bool,
    ) -> BlobsPruned {
        let mut pruned = BlobsPruned::default();
        let Some(UserBlobs { bytes, chats }) = self.0.get_mut(user) else { return pruned };
        let all = (Bound::Unbounded, Bound::Unbounded);
        let range = chat.map_or(all, |chat| (Bound::Included(chat), Bound::Included(chat)));
        let mut empty = Vec::new();
        for (chat, references) in chats.range_mut::<ChatId, _>(range) {
            references.retain(|id, reference| {
                let removed = picked(id, reference);
                if removed {
                    pruned.references += 1;
                    release(bytes, id, &mut pruned);
                }
                !removed
            });
            if references.is_empty() {
                empty.push(chat.clone());
            }
        }
        for chat in empty {
            chats.remove(&chat);
        }
        if chats.is_empty() {
            self.0.remove(user);
        }
        pruned
    }
}

/// Decrements the reference count and frees the bytes when it reaches zero.
fn release(bytes: &mut BTreeMap<BlobId, StoredBytes>, id: &BlobId, pruned: &mut BlobsPruned) {
    let Entry::Occupied(mut entry) = bytes.entry(*id) else { return };
    let stored = entry.get_mut();
    stored.references = stored.references.saturating_sub(1);
    if stored.references == 0 {
        pruned.blobs += 1;
        pruned.bytes += entry.remove().bytes.len() as u64;
    }
}

fn describe(id: BlobId, stored: &StoredBytes, reference: &Reference) -> Blob {
    let mut blob = Blob::new(
        id,
        stored.bytes.len() as u64,
        reference.media_type.clone(),
        reference.created_at,
    );
    blob.used_at = reference.used_at;
    blob.references = stored.references;
    blob
}
