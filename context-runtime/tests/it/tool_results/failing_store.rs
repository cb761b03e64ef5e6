//! A store whose blobs fail or hang.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use context_runtime::{
    ChatRef, Error, ErrorKind, Result, Store, Timestamp,
    store::{
        Blob, BlobId, BlobPrune, BlobStore, BlobsPruned, Cursor, FragmentStore, HistoryStore,
        NewBlob, Page, StoreInfo,
    },
};

/// The outcome of puts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PutOutcome {
    Fail,
    HangAfterWriting,
}

#[derive(Debug)]
pub(crate) struct FailingStore {
    inner: Arc<dyn Store>,
    puts: PutOutcome,
}

impl FailingStore {
    pub(crate) fn shared(inner: Arc<dyn Store>, puts: PutOutcome) -> Arc<dyn Store> {
        Arc::new(Self { inner, puts })
    }

    fn inner(&self) -> &dyn BlobStore {
        self.inner.blobs().unwrap()
    }
}

impl Store for FailingStore {
    fn info(&self) -> StoreInfo {
        self.inner.info()
    }

    fn history(&self) -> &dyn HistoryStore {
        self.inner.history()
    }

    fn fragments(&self) -> &dyn FragmentStore {
        self.inner.fragments()
    }

    fn blobs(&self) -> Option<&dyn BlobStore> {
        Some(self)
    }
}

#[async_trait]
impl BlobStore for FailingStore {
    async fn put_blob(&self, chat: &ChatRef, blob: NewBlob) -> Result<Blob> {
        if self.puts == PutOutcome::Fail {
            return Err(Error::new(ErrorKind::Unavailable, "put_blob", "the disk is full"));
        }
        let written = self.inner().put_blob(chat, blob).await?;
        std::future::pending::<()>().await;
        Ok(written)
    }

    async fn blob(&self, chat: &ChatRef, id: &BlobId) -> Result<Option<Blob>> {
        self.inner().blob(chat, id).await
    }

    async fn read_blob(
        &self,
        chat: &ChatRef,
        id: &BlobId,
        range: Range<u64>,
        at: Option<Timestamp>,
    ) -> Result<Option<Bytes>> {
        self.inner().read_blob(chat, id, range, at).await
    }

    async fn blobs(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Blob>> {
        self.inner().blobs(chat, limit, after).await
    }

    async fn remove_blob(&self, chat: &ChatRef, id: &BlobId) -> Result<BlobsPruned> {
        self.inner().remove_blob(chat, id).await
    }

    async fn prune_blobs(&self, prune: &BlobPrune) -> Result<BlobsPruned> {
        self.inner().prune_blobs(prune).await
    }
}
