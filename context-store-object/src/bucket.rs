//! Objects below a prefix: the calls that this store makes of a service.
//!
//! No call needs an ETag. Objects are written once under names that nobody else uses, except where
//! [`create`](Bucket::create) decides who is first.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use context_core::{Error, ErrorKind, Result};
use futures_util::future::BoxFuture;
use futures_util::{StreamExt as _, TryStreamExt as _, future, stream};
use object_store::path::Path;
use object_store::{
    GetOptions, GetRange, ObjectMeta, ObjectStore, PutMode, PutOptions, PutPayload,
};
use object_store::{ObjectStoreExt as _, WriteMultipart};

use crate::error::failed;

/// The number of requests that one call makes at once.
pub(crate) const CONCURRENT: usize = 16;
/// From this size on, bytes are uploaded in parts, which are repeated one by one if they fail.
const MULTIPART_BYTES: usize = 16 << 20;
/// The size of a part.
const PART_BYTES: usize = 8 << 20;
/// The number of parts that are uploaded at once.
const CONCURRENT_PARTS: usize = 4;

/// The objects of a store.
#[derive(Debug)]
pub(crate) struct Bucket {
    service: Arc<dyn ObjectStore>,
    prefix: Path,
}

/// An object that a listing returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// The key, without the prefix.
    pub(crate) key: String,
    /// The size in bytes.
    pub(crate) bytes: u64,
    /// The time of the last write by the clock of the service, in microseconds.
    pub(crate) written_at: i64,
}

impl Bucket {
    pub(crate) fn new(service: Arc<dyn ObjectStore>, prefix: Path) -> Self {
        Self { service, prefix }
    }

    fn path(&self, key: &str) -> Path {
        key.split('/').filter(|part| !part.is_empty()).fold(self.prefix.clone(), Path::join)
    }

    /// Returns the bytes of an object.
    pub(crate) async fn get(&self, operation: &'static str, key: &str) -> Result<Option<Bytes>> {
        self.get_with(operation, key, GetOptions::default()).await
    }

    /// Returns a range of an object, which must not be empty nor end behind the object.
    pub(crate) async fn get_range(
        &self,
        operation: &'static str,
        key: &str,
        range: Range<u64>,
    ) -> Result<Option<Bytes>> {
        let range = Some(GetRange::Bounded(range));
        self.get_with(operation, key, GetOptions { range, ..GetOptions::default() }).await
    }

    async fn get_with(
        &self,
        operation: &'static str,
        key: &str,
        options: GetOptions,
    ) -> Result<Option<Bytes>> {
        match self.service.get_opts(&self.path(key), options).await {
            Ok(found) => found.bytes().await.map(Some).map_err(failed(operation)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed(operation)(error)),
        }
    }

    /// Returns the size of an object.
    pub(crate) async fn size(&self, operation: &'static str, key: &str) -> Result<Option<u64>> {
        match self.service.head(&self.path(key)).await {
            Ok(found) => Ok(Some(found.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed(operation)(error)),
        }
    }

    /// Writes an object, whether or not it exists.
    pub(crate) async fn put(
        &self,
        operation: &'static str,
        key: &str,
        bytes: impl Into<Bytes>,
    ) -> Result<()> {
        let payload = PutPayload::from_bytes(bytes.into());
        self.service.put(&self.path(key), payload).await.map_err(failed(operation))?;
        Ok(())
    }

    /// Writes an object unless it exists. Returns whether it was written. `false` may also mean
    /// that an earlier attempt of this call wrote it, and that its answer was lost.
    pub(crate) async fn create(
        &self,
        operation: &'static str,
        key: &str,
        bytes: impl Into<Bytes>,
    ) -> Result<bool> {
        let payload = PutPayload::from_bytes(bytes.into());
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        match self.service.put_opts(&self.path(key), payload, options).await {
            Ok(_) => Ok(true),
            Err(
                object_store::Error::AlreadyExists { .. }
                | object_store::Error::Precondition { .. },
            ) => Ok(false),
            Err(error) => Err(failed(operation)(error)),
        }
    }

    /// Writes a large object under a name that nobody else uses.
    pub(crate) async fn upload(
        &self,
        operation: &'static str,
        key: &str,
        bytes: &Bytes,
    ) -> Result<()> {
        if bytes.len() < MULTIPART_BYTES {
            return self.put(operation, key, bytes.clone()).await;
        }
        let upload = self.service.put_multipart(&self.path(key)).await;
        let upload = upload.map_err(failed(operation))?;
        let mut writer = WriteMultipart::new_with_chunk_size(upload, PART_BYTES);
        let mut at = 0;
        while at < bytes.len() {
            if let Err(error) = writer.wait_for_capacity(CONCURRENT_PARTS).await {
                let _gone = writer.abort().await;
                return Err(failed(operation)(error));
            }
            let end = (at + PART_BYTES).min(bytes.len());
            writer.put(bytes.slice(at..end));
            at = end;
        }
        // Aborts the upload if it fails.
        writer.finish().await.map_err(failed(operation))?;
        Ok(())
    }

    /// Deletes objects, which may be gone already.
    pub(crate) async fn delete(
        &self,
        operation: &'static str,
        keys: impl IntoIterator<Item = String>,
    ) -> Result<()> {
        let paths: Vec<_> = keys.into_iter().map(|key| Ok(self.path(&key))).collect();
        if paths.is_empty() {
            return Ok(());
        }
        let deleted = self.service.delete_stream(stream::iter(paths).boxed());
        deleted
            .filter_map(|deleted| {
                future::ready(match deleted {
                    Ok(_) | Err(object_store::Error::NotFound { .. }) => None,
                    Err(error) => Some(Err(failed(operation)(error))),
                })
            })
            .try_collect::<()>()
            .await
    }

    /// Lists the objects in a folder and in folders of it, ordered by key. With `after`, only those
    /// whose key is greater.
    pub(crate) async fn list(
        &self,
        operation: &'static str,
        folder: &str,
        after: Option<&str>,
    ) -> Result<Vec<Listed>> {
        let path = self.path(folder);
        let found = match after {
            None => self.service.list(Some(&path)),
            Some(after) => self.service.list_with_offset(Some(&path), &self.path(after)),
        };
        let mut all: Vec<Listed> = found
            .map_err(failed(operation))
            .try_filter_map(|meta| future::ready(Ok(self.listed(&meta))))
            .try_collect()
            .await?;
        all.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(all)
    }

    /// Lists the names of the folders in a folder.
    pub(crate) async fn folders(
        &self,
        operation: &'static str,
        folder: &str,
    ) -> Result<Vec<String>> {
        let found = self.service.list_with_delimiter(Some(&self.path(folder))).await;
        let found = found.map_err(failed(operation))?;
        let name = |path: &Path| path.filename().map(ToOwned::to_owned);
        let mut names: Vec<_> = found.common_prefixes.iter().filter_map(name).collect();
        names.sort();
        Ok(names)
    }

    /// Returns the key of any object in a folder, or of any object at all for the folder `""`.
    pub(crate) async fn first(
        &self,
        operation: &'static str,
        folder: &str,
    ) -> Result<Option<String>> {
        let first = self.service.list(Some(&self.path(folder))).next().await;
        let first = first.transpose().map_err(failed(operation))?;
        Ok(first.and_then(|meta| self.listed(&meta)).map(|listed| listed.key))
    }

    fn listed(&self, meta: &ObjectMeta) -> Option<Listed> {
        let parts = meta.location.prefix_match(&self.prefix)?;
        let parts: Vec<_> = parts.map(|part| part.as_ref().to_owned()).collect();
        let written_at = meta.last_modified.timestamp_micros();
        Some(Listed { key: parts.join("/"), bytes: meta.size, written_at })
    }
}

/// Makes calls, some at once, and returns their results in order.
///
/// They are boxed and in a list, because the compiler cannot see that a stream of futures that
/// borrow may be sent to another thread.
pub(crate) async fn all<R>(calls: Vec<BoxFuture<'_, Result<R>>>) -> Result<Vec<R>> {
    stream::iter(calls).buffered(CONCURRENT).try_collect().await
}

/// Returns an error about damage of an object. Its key has no names and no content.
pub(crate) fn corrupt(operation: &'static str, key: &str, problem: &'static str) -> Error {
    Error::new(ErrorKind::Corrupt, operation, problem).with("object", key)
}
