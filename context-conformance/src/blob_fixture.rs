//! Fixture for blobs, so that a case is a few readable lines.

use bytes::Bytes;
use context_core::base::BlobId;
use context_core::store::{Blob, BlobStore, NewBlob};

use crate::chat_fixture::ChatFixture;
use crate::expect::{fail, same};
use crate::verdict::{Check, Stop};

/// The number of pages after which a listing is considered endless.
const MOST_PAGES: usize = 10_000;

impl ChatFixture {
    pub(crate) fn blobs(&self) -> Check<&dyn BlobStore> {
        self.store.blobs().ok_or_else(|| Stop::Skip("no blobs".to_owned()))
    }

    /// Stores bytes without a media type, with the current time.
    pub(crate) async fn put(&self, bytes: impl Into<Bytes>) -> Check<Blob> {
        Ok(self.blobs()?.put_blob(&self.chat, NewBlob::new(bytes, self.at())).await?)
    }

    pub(crate) async fn find(&self, id: &BlobId) -> Check<Option<Blob>> {
        Ok(self.blobs()?.blob(&self.chat, id).await?)
    }

    /// Reads all bytes of a blob, without touching its last use.
    pub(crate) async fn bytes(&self, id: &BlobId) -> Check<Option<Bytes>> {
        Ok(self.blobs()?.read_blob(&self.chat, id, 0..u64::MAX, None).await?)
    }

    /// Returns all blobs of the chat, page by page. Expects them to be in order.
    pub(crate) async fn all_blobs(&self, limit: usize) -> Check<Vec<Blob>> {
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

    /// Expects the chat to have exactly blobs of these bytes.
    pub(crate) async fn expect_blobs(&self, did: &str, expected: &[&[u8]]) -> Check {
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

/// Returns `length` pseudorandom bytes for this seed.
pub(crate) fn noise(length: usize, seed: u8) -> Bytes {
    let byte = |i: usize| (i.wrapping_mul(31) ^ (i >> 8).wrapping_mul(7)) as u8 ^ seed;
    (0..length).map(byte).collect()
}
