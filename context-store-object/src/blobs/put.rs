//! Putting a blob.
//!
//! The objects of a put are written in an order in which a process may die at any point:
//!
//! 1. A hold, then the bytes. If the user has them already, the put looks behind its hold whether
//!    they stay.
//! 2. The reference, with which the blob is there.
//! 3. Nothing: the hold, the bytes and the chat are looked at again.
//!
//! If the third step finds that the bytes or the chat were removed at the same moment, the put
//! starts over, or is refused. So what is acknowledged is there, without a lock. What a dead
//! process leaves (a hold and bytes without a reference) is out of reach and collected by a vacuum.

use context_core::base::BlobId;
use context_core::store::{Blob, NewBlob};
use context_core::{ChatRef, Error, ErrorKind, Result};
use futures_util::future::{try_join, try_join3};

use crate::keys::{Nonce, RefName, UploadName};
use crate::objects::Objects;
use crate::record::{RefRecord, seal};
use crate::references::{Reference, References};
use crate::uploads::Uploads;
use crate::user_keys::ChatKeys;

const OPERATION: &str = "put_blob";
/// The number of times that a put starts over.
const ATTEMPTS: usize = 20;

impl Objects {
    pub(super) async fn put(&self, chat: &ChatRef, new: NewBlob) -> Result<Blob> {
        let keys = ChatKeys::new(chat);
        let id = BlobId::of(&new.bytes);
        for _ in 0..ATTEMPTS {
            let (life, all, uploads) = try_join3(
                self.life_of(OPERATION, chat, &keys),
                self.references(OPERATION, &keys, &id),
                self.uploads(OPERATION, &keys.user, &id),
            )
            .await?;
            let put = match all.lasting(life) {
                Some(known) => self.put_again(&keys, &id, (life, &all, known), &new).await?,
                None => self.put_anew(&keys, &id, (life, &uploads), &new).await?,
            };
            if let Some(put) = put {
                return Ok(put);
            }
        }
        Err(busy(chat))
    }

    /// Records that a chat put a blob again. Returns `None` if its reference was removed meanwhile.
    async fn put_again(
        &self,
        keys: &ChatKeys,
        id: &BlobId,
        (life, all, known): (Nonce, &References, &Reference),
        new: &NewBlob,
    ) -> Result<Option<Blob>> {
        let first = all.of(life).unwrap_or_else(|| known.clone());
        let Some(mut blob) = self.describe(OPERATION, keys, id, &first).await? else {
            return Ok(None);
        };
        if blob.media_type.is_none()
            && let Some(media_type) = &new.media_type
        {
            let name = RefName::Type { nonce: first.nonce };
            let key = keys.user.reference(&keys.chat, id, &name);
            let sealed = seal(OPERATION, &key, media_type)?;
            blob.media_type = match self.bucket.create(OPERATION, &key, sealed).await? {
                true => Some(media_type.clone()),
                false => {
                    let typed = Reference { has_type: true, ..first.clone() };
                    self.later_type(OPERATION, keys, id, &typed).await?
                }
            };
        }
        self.record_use(OPERATION, keys, id, (known, all), Some(new.at)).await?;
        blob.used_at = blob.used_at.max(new.at);
        let (now, after) =
            try_join(self.life(OPERATION, keys), self.references(OPERATION, keys, id)).await?;
        let is_there = after.all_of(life).any(|one| one.nonce == known.nonce && !one.is_going);
        Ok((now == Some(life) && is_there).then_some(blob))
    }

    /// Stores a blob that the chat does not have. Returns `None` if its bytes or the chat were
    /// removed meanwhile.
    async fn put_anew(
        &self,
        keys: &ChatKeys,
        id: &BlobId,
        (life, uploads): (Nonce, &Uploads),
        new: &NewBlob,
    ) -> Result<Option<Blob>> {
        let size = new.bytes.len() as u64;
        let nonce = Nonce::new(OPERATION)?;
        let shared = uploads.usable(size);
        let reference = Reference {
            nonce,
            life,
            upload: shared.unwrap_or(nonce),
            created_at: new.at,
            used_at: new.at,
            has_type: false,
            is_going: false,
        };
        let (upload, hold) = reference.hold(keys);
        let name = keys.user.upload(id, &upload, &hold);
        self.bucket.put(OPERATION, &name, "").await?;
        if shared.is_none() {
            let data = keys.user.upload(id, &upload, &UploadName::Data);
            self.bucket.upload(OPERATION, &data, &new.bytes).await?;
        } else if self.kept(keys, id, &reference, size).await?.is_none() {
            self.release(OPERATION, &keys.user, id, [(upload, hold)]).await?;
            return Ok(None);
        }
        let key = reference.key(keys, id);
        let record = RefRecord::new(&new.bytes, new.media_type.clone());
        self.bucket.put(OPERATION, &key, seal(OPERATION, &key, &record)?).await?;
        let (now, kept) =
            try_join(self.life(OPERATION, keys), self.kept(keys, id, &reference, size)).await?;
        if let (Some(uploads), true) = (kept, now == Some(life)) {
            let mut blob = Blob::new(*id, size, new.media_type.clone(), new.at);
            blob.references = uploads.references(&keys.chat);
            return Ok(Some(blob));
        }
        self.bucket.delete(OPERATION, [key]).await?;
        self.release(OPERATION, &keys.user, id, [(upload, hold)]).await?;
        Ok(None)
    }

    /// Returns the uploads of a blob if the hold of a reference keeps its bytes.
    ///
    /// The bytes are asked for after the listing: they are deleted before the marks that the
    /// listing reads, and a listing need not see everything at one moment.
    async fn kept(
        &self,
        keys: &ChatKeys,
        id: &BlobId,
        reference: &Reference,
        size: u64,
    ) -> Result<Option<Uploads>> {
        let uploads = self.uploads(OPERATION, &keys.user, id).await?;
        let upload = uploads.0.get(&reference.upload);
        if !upload.is_some_and(|upload| upload.is_held_by(reference.nonce)) {
            return Ok(None);
        }
        let data = keys.user.upload(id, &reference.upload, &UploadName::Data);
        let is_whole = self.bucket.size(OPERATION, &data).await? == Some(size);
        Ok(is_whole.then_some(uploads))
    }
}

fn busy(chat: &ChatRef) -> Error {
    Error::new(ErrorKind::Conflict, OPERATION, "others remove the blob again and again")
        .with_retry(context_core::Retry::Safe)
        .with("chat", &chat.chat)
}
