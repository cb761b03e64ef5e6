//! Putting, reading, listing and removing blobs.

mod put;

use std::collections::BTreeMap;
use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use context_core::base::{BlobId, limits};
use context_core::store::{Blob, BlobPrune, BlobStore, BlobsPruned, Cursor, NewBlob, Page};
use context_core::{ChatRef, Error, Result, Timestamp};
use futures_util::FutureExt as _;
use futures_util::future::{try_join, try_join3};

use crate::bucket::{all, corrupt};
use crate::keys::{Nonce, RefName, UploadName};
use crate::objects::Objects;
use crate::record::{RefRecord, open};
use crate::references::{Reference, References};
use crate::user_keys::{ChatKeys, UserKeys};

#[async_trait]
impl BlobStore for Objects {
    async fn put_blob(&self, chat: &ChatRef, blob: NewBlob) -> Result<Blob> {
        blob.check(chat)?;
        self.check_writable("put_blob")?;
        self.put(chat, blob).await
    }

    async fn blob(&self, chat: &ChatRef, id: &BlobId) -> Result<Option<Blob>> {
        const OPERATION: &str = "blob";
        limits::check_chat(OPERATION, chat)?;
        let keys = ChatKeys::new(chat);
        match self.find(OPERATION, chat, &keys, id).await? {
            Some((reference, _)) => self.describe(OPERATION, &keys, id, &reference).await,
            None => Ok(None),
        }
    }

    async fn read_blob(
        &self,
        chat: &ChatRef,
        id: &BlobId,
        range: Range<u64>,
        at: Option<Timestamp>,
    ) -> Result<Option<Bytes>> {
        const OPERATION: &str = "read_blob";
        limits::check_chat(OPERATION, chat)?;
        let keys = ChatKeys::new(chat);
        let Some((reference, all)) = self.find(OPERATION, chat, &keys, id).await? else {
            return Ok(None);
        };
        let at = at.filter(|_| self.is_writable());
        let (bytes, ()) = try_join(
            self.read(OPERATION, &keys, id, &reference, &range),
            self.record_use(OPERATION, &keys, id, (&reference, &all), at),
        )
        .await?;
        if bytes.is_some() {
            return Ok(bytes);
        }
        // It was removed while it was read, or something removed its bytes alone.
        match self.find(OPERATION, chat, &keys, id).await? {
            Some((again, _)) if again.nonce == reference.nonce => {
                Err(corrupt(OPERATION, &reference.key(&keys, id), "the bytes of a blob are gone"))
            }
            Some((again, _)) => self.read(OPERATION, &keys, id, &again, &range).await,
            None => Ok(None),
        }
    }

    async fn blobs(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Blob>> {
        const OPERATION: &str = "blobs";
        limits::check_chat(OPERATION, chat)?;
        limits::check_page(OPERATION, limit)?;
        let after = after.map(|cursor| cursor.as_str().parse::<BlobId>()).transpose();
        let after = after
            .map_err(|_| Error::invalid(OPERATION, "the cursor is not one of this listing"))?;
        let keys = ChatKeys::new(chat);
        let (life, listed) = try_join(
            self.life_of(OPERATION, chat, &keys),
            self.references_of_chat(OPERATION, &keys, after.as_ref()),
        )
        .await?;
        let found = listed.iter().filter_map(|((_, id), found)| Some((*id, found.of(life)?)));
        let mut found: Vec<_> = found.take(limit + 1).collect();
        let more = found.len() > limit;
        found.truncate(limit);
        let next = found.last().filter(|_| more).map(|(id, _)| Cursor::new(id.to_string()));
        let described = found
            .iter()
            .map(|(id, reference)| self.describe(OPERATION, &keys, id, reference).boxed());
        let items = all(described.collect()).await?;
        Ok(Page { items: items.into_iter().flatten().collect(), next })
    }

    async fn remove_blob(&self, chat: &ChatRef, id: &BlobId) -> Result<BlobsPruned> {
        const OPERATION: &str = "remove_blob";
        limits::check_chat(OPERATION, chat)?;
        self.check_writable(OPERATION)?;
        let keys = ChatKeys::new(chat);
        let Some((reference, all)) = self.find(OPERATION, chat, &keys, id).await? else {
            return Ok(BlobsPruned::default());
        };
        let freed = self.remove_references(OPERATION, &keys, id, &all, reference.life).await?;
        Ok(pruned(1, freed))
    }

    async fn prune_blobs(&self, prune: &BlobPrune) -> Result<BlobsPruned> {
        const OPERATION: &str = "prune_blobs";
        prune.check()?;
        self.check_writable(OPERATION)?;
        let user = UserKeys::new(&prune.user);
        let found = match &prune.chat {
            Some(chat) => {
                let chat = ChatRef::new(prune.user.clone(), chat.clone());
                let keys = ChatKeys::new(&chat);
                self.life_of(OPERATION, &chat, &keys).await?;
                self.references_of_chat(OPERATION, &keys, None).await?
            }
            None => self.references_of_user(OPERATION, &user).await?,
        };
        let mut by_id: BTreeMap<BlobId, Vec<(&String, &References)>> = BTreeMap::new();
        for ((chat, id), references) in &found {
            by_id.entry(*id).or_default().push((chat, references));
        }
        let prunes = by_id
            .iter()
            .map(|(id, chats)| self.prune_one(&user, id, chats, prune.unused_since).boxed());
        let done = all(prunes.collect()).await?;
        Ok(done.into_iter().fold(BlobsPruned::default(), add))
    }
}

impl Objects {
    /// Returns the life of a chat that must exist.
    async fn life_of(
        &self,
        operation: &'static str,
        chat: &ChatRef,
        keys: &ChatKeys,
    ) -> Result<Nonce> {
        let life = self.life(operation, keys).await?;
        life.ok_or_else(|| Error::not_found(operation, "chat", &chat.chat))
    }

    /// Returns the reference of a chat, which must exist, to a blob, and all that is listed of it.
    async fn find(
        &self,
        operation: &'static str,
        chat: &ChatRef,
        keys: &ChatKeys,
        id: &BlobId,
    ) -> Result<Option<(Reference, References)>> {
        let (life, all) =
            try_join(self.life_of(operation, chat, keys), self.references(operation, keys, id))
                .await?;
        Ok(all.of(life).map(|reference| (reference, all)))
    }

    /// Returns the content of a reference.
    pub(crate) async fn ref_record(
        &self,
        operation: &'static str,
        keys: &ChatKeys,
        id: &BlobId,
        reference: &Reference,
    ) -> Result<Option<RefRecord>> {
        let key = reference.key(keys, id);
        let record = self.bucket.get(operation, &key).await?;
        record.map(|record| open(operation, &key, &record)).transpose()
    }

    /// Returns what is known of a blob, or `None` if the reference was removed.
    async fn describe(
        &self,
        operation: &'static str,
        keys: &ChatKeys,
        id: &BlobId,
        reference: &Reference,
    ) -> Result<Option<Blob>> {
        let (record, uploads, later_type) = try_join3(
            self.ref_record(operation, keys, id, reference),
            self.uploads(operation, &keys.user, id),
            self.later_type(operation, keys, id, reference),
        )
        .await?;
        let Some(record) = record else { return Ok(None) };
        let media_type = record.media_type.or(later_type);
        let mut blob = Blob::new(*id, record.bytes, media_type, reference.created_at);
        blob.used_at = reference.used_at;
        blob.references = uploads.references(&keys.chat);
        Ok(Some(blob))
    }

    /// Returns the media type that was recorded after the first put.
    pub(crate) async fn later_type(
        &self,
        operation: &'static str,
        keys: &ChatKeys,
        id: &BlobId,
        reference: &Reference,
    ) -> Result<Option<String>> {
        if !reference.has_type {
            return Ok(None);
        }
        let name = RefName::Type { nonce: reference.nonce };
        let key = keys.user.reference(&keys.chat, id, &name);
        let found = self.bucket.get(operation, &key).await?;
        found.map(|found| open(operation, &key, &found)).transpose()
    }

    /// Reads a range of the bytes. Returns `None` if the reference or the bytes are gone.
    async fn read(
        &self,
        operation: &'static str,
        keys: &ChatKeys,
        id: &BlobId,
        reference: &Reference,
        range: &Range<u64>,
    ) -> Result<Option<Bytes>> {
        let data = keys.user.upload(id, &reference.upload, &UploadName::Data);
        let damaged = || corrupt(operation, &data, "stored bytes are not those that were put");
        if range.start == 0 && range.end == u64::MAX {
            // All bytes are checked against the name. Their size is not needed, so that both
            // objects are read at once.
            let bytes = self.bucket.get(operation, &data).await?;
            return match bytes {
                Some(bytes) if BlobId::of(&bytes) == *id => Ok(Some(bytes)),
                Some(_) => Err(damaged()),
                None => Ok(None),
            };
        }
        let Some(record) = self.ref_record(operation, keys, id, reference).await? else {
            return Ok(None);
        };
        let pieces = record.pieces(range);
        if pieces.is_empty() {
            // A range of no bytes is no request, but the bytes must be there all the same.
            return Ok(self.bucket.size(operation, &data).await?.map(|_| Bytes::new()));
        }
        let Some(bytes) = self.bucket.get_range(operation, &data, pieces).await? else {
            return Ok(None);
        };
        record.cut(&bytes, range).ok_or_else(damaged).map(Some)
    }

    /// Records the use of a blob, unless it was used later.
    async fn record_use(
        &self,
        operation: &'static str,
        keys: &ChatKeys,
        id: &BlobId,
        (reference, all): (&Reference, &References),
        at: Option<Timestamp>,
    ) -> Result<()> {
        let Some(at) = at.filter(|at| *at > reference.used_at) else { return Ok(()) };
        let nonce = reference.nonce;
        let key = |name: &RefName| keys.user.reference(&keys.chat, id, name);
        self.bucket.put(operation, &key(&RefName::Used { nonce, at }), "").await?;
        let is_older =
            |name: &&RefName| matches!(name, RefName::Used { at: used, .. } if *used < at);
        let older = all.notes_of(nonce).filter(is_older).map(key);
        self.bucket.delete(operation, older).await
    }

    /// Removes the references of chats to one blob, one after another, so that its bytes are
    /// counted once.
    async fn prune_one(
        &self,
        user: &UserKeys,
        id: &BlobId,
        chats: &[(&String, &References)],
        unused_since: Timestamp,
    ) -> Result<BlobsPruned> {
        let mut sum = BlobsPruned::default();
        for (chat, references) in chats {
            let keys = ChatKeys { user: user.clone(), chat: (*chat).clone() };
            sum = add(sum, self.prune_reference(&keys, id, references, unused_since).await?);
        }
        Ok(sum)
    }

    /// Removes a chat's references to a blob that were not used since, in the life that it has.
    ///
    /// A mark is written first and the uses are listed again, so that a put at the same moment
    /// either is seen here or sees the mark.
    async fn prune_reference(
        &self,
        keys: &ChatKeys,
        id: &BlobId,
        references: &References,
        unused_since: Timestamp,
    ) -> Result<BlobsPruned> {
        const OPERATION: &str = "prune_blobs";
        let nothing = BlobsPruned::default();
        let is_old = |found: Option<Reference>| found.is_some_and(|it| it.used_at <= unused_since);
        if !references.lives().into_iter().any(|life| is_old(references.of(life))) {
            return Ok(nothing);
        }
        let Some(life) = self.life(OPERATION, keys).await? else { return Ok(nothing) };
        if !is_old(references.of(life)) {
            return Ok(nothing);
        }
        for reference in references.all_of(life) {
            let name = RefName::Going { nonce: reference.nonce };
            let key = keys.user.reference(&keys.chat, id, &name);
            self.bucket.put(OPERATION, &key, "").await?;
        }
        let again = self.references(OPERATION, keys, id).await?;
        if !is_old(again.of(life)) {
            return Ok(nothing);
        }
        let freed = self.remove_references(OPERATION, keys, id, &again, life).await?;
        Ok(pruned(1, freed))
    }
}

fn pruned(references: u64, freed: Option<u64>) -> BlobsPruned {
    let mut pruned = BlobsPruned::default();
    pruned.references = references;
    pruned.blobs = u64::from(freed.is_some());
    pruned.bytes = freed.unwrap_or(0);
    pruned
}

fn add(mut sum: BlobsPruned, one: BlobsPruned) -> BlobsPruned {
    sum.references += one.references;
    sum.blobs += one.blobs;
    sum.bytes += one.bytes;
    sum
}
