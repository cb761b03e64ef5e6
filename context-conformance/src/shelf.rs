//! Terse ways to keep blobs, so that a case is a few readable lines.

use bytes::Bytes;
use context_core::base::BlobId;
use context_core::store::{Blob, BlobStore, NewBlob};

use crate::checked::{Checked, Stop};
use crate::desk::Desk;
use crate::expect::{fail, same};

/// More pages than this do not end.
const MOST_PAGES: usize = 10_000;

impl Desk {
    pub(crate) fn blobs(&self) -> Checked<&dyn BlobStore> {
        self.store.blobs().ok_or_else(|| Stop::Skip("no blobs".to_owned()))
    }

    /// Keeps bytes of no type, now.
    pub(crate) async fn put(&self, bytes: impl Into<Bytes>) -> Checked<Blob> {
        Ok(self.blobs()?.put_blob(&self.chat, NewBlob::new(bytes, self.at())).await?)
    }

    pub(crate) async fn find(&self, id: &BlobId) -> Checked<Option<Blob>> {
        Ok(self.blobs()?.blob(&self.chat, id).await?)
    }

    /// All bytes of a blob, without using it.
    pub(crate) async fn bytes(&self, id: &BlobId) -> Checked<Option<Bytes>> {
        Ok(self.blobs()?.read_blob(&self.chat, id, 0..u64::MAX, None).await?)
    }

    /// All blobs of the chat, page by page, which must be in order.
    pub(crate) async fn all_blobs(&self, limit: usize) -> Checked<Vec<Blob>> {
        let mut all: Vec<Blob> = Vec::new();
        let mut after = None;
        for _ in 0..MOST_PAGES {
            let page = self.blobs()?.blobs(&self.chat, limit, after.as_ref()).await?;
            let full = page.items.len() == limit || page.next.is_none();
            same(format!("whether a page of {limit} that is not the last is full"), &full, &true)?;
            all.extend(page.items);
            after = page.next;
            if after.is_none() {
                let ordered = all.is_sorted_by(|a, b| a.id < b.id);
                same(format!("whether the blobs come in order, {limit} a page"), &ordered, &true)?;
                return Ok(all);
            }
        }
        fail(format!("listing blobs: more than {MOST_PAGES} pages"))
    }

    /// Exactly these bytes must be kept for the chat.
    pub(crate) async fn expect_blobs(&self, did: &str, expected: &[&[u8]]) -> Checked {
        let mut seen = Vec::new();
        for blob in self.all_blobs(1000).await? {
            let bytes = self.bytes(&blob.id).await?.unwrap_or_default();
            same(format!("the length of a blob after {did}"), &(bytes.len() as u64), &blob.bytes)?;
            seen.push(bytes);
        }
        let mut expected: Vec<_> =
            expected.iter().map(|bytes| Bytes::copy_from_slice(bytes)).collect();
        expected.sort_by_key(|bytes| BlobId::of(bytes));
        same(format!("the blobs after {did}"), &seen, &expected)
    }
}

/// So many bytes, no two of the same seed and length alike in a row.
pub(crate) fn noise(length: usize, seed: u8) -> Bytes {
    let byte = |i: usize| (i.wrapping_mul(31) ^ (i >> 8).wrapping_mul(7)) as u8 ^ seed;
    (0..length).map(byte).collect()
}
