//! Finding a blob by the caller's id: by reading the names of the chat's blobs, unless the id is
//! cached.

use context_core::base::{BlobId, limits};
use context_core::store::{BlobStore, Cursor, PageWalk};
use context_core::{ChatRef, Result};

use super::blob_names::{OpenedBlob, sort};
use super::layer::Layer;
use super::record::SealError;

impl Layer {
    /// Whether the id is cached with another stored blob than this one.
    pub(super) fn names_another(&self, chat: &ChatRef, id: &BlobId, stored: &BlobId) -> bool {
        self.names.get(chat, id).is_some_and(|known| known != *stored)
    }

    /// Returns all blobs of a chat, [sorted](sort), and those that cannot be decrypted.
    pub(super) async fn all_blobs(
        &self,
        chat: &ChatRef,
    ) -> Result<(Vec<OpenedBlob>, Vec<(BlobId, SealError)>)> {
        let blobs: &dyn BlobStore = self.blobs()?;
        let sealer = self.sealer(&chat.user)?;
        let (mut all, mut broken) = (Vec::new(), Vec::new());
        let mut after: Option<Cursor> = None;
        let mut walk = PageWalk::new("blobs", "blob");
        loop {
            let page = blobs.blobs(chat, limits::MAX_PAGE, after.as_ref()).await?;
            let next = walk.next(&page)?;
            for stored in page.items {
                let id = stored.id;
                match sealer.open_name(chat, stored) {
                    Ok(found) => all.push(found),
                    Err(error) => broken.push((id, error)),
                }
            }
            after = next;
            if after.is_none() {
                sort(&mut all);
                return Ok((all, broken));
            }
        }
    }

    /// Returns the stored blobs with the bytes of this id, the preferred one first. Returns an
    /// error if there is none, but some blobs cannot be decrypted.
    pub(super) async fn variants(
        &self,
        operation: &'static str,
        chat: &ChatRef,
        id: &BlobId,
    ) -> Result<Vec<OpenedBlob>> {
        let (mut all, broken) = self.all_blobs(chat).await?;
        all.retain(|found| found.id == *id);
        match broken.into_iter().next() {
            Some((stored, error)) if all.is_empty() => {
                Err(error.of(operation, "blob", &stored.to_string()))
            }
            _ => Ok(all),
        }
    }

    /// Returns the stored blob with the bytes of this id, from the cache if possible.
    pub(super) async fn find_blob(
        &self,
        operation: &'static str,
        chat: &ChatRef,
        id: &BlobId,
    ) -> Result<Option<OpenedBlob>> {
        if let Some(stored) = self.names.get(chat, id) {
            if let Some(stored) = self.blobs()?.blob(chat, &stored).await? {
                let found = self.sealer(&chat.user)?.open_name(chat, stored);
                return found
                    .map(Some)
                    .map_err(|error| error.of(operation, "blob", &id.to_string()));
            }
            self.names.forget(chat, id);
        }
        let found = self.variants(operation, chat, id).await?.into_iter().next();
        found.iter().for_each(|found| self.names.remember(chat, found));
        Ok(found)
    }
}
