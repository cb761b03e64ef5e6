//! Opens `redb:PATH`.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use context_runtime::store::{OpenMode, StoreFactory};
use context_runtime::{Error, Result, Store};
use custom_store::RedbStore;

/// A factory for `redb:PATH`.
pub(crate) struct RedbFactory;

#[async_trait]
impl StoreFactory for RedbFactory {
    async fn open(&self, url: &str, mode: OpenMode) -> Result<Arc<dyn Store>> {
        // The error does not repeat the URL, since URLs of other schemes may contain a password.
        let path = url.strip_prefix("redb:").filter(|path| !path.is_empty());
        let path = path.ok_or_else(|| Error::invalid("open", "the form is redb:PATH"))?;
        Ok(match mode {
            OpenMode::Read => Arc::new(RedbStore::open_read_only(path).await?),
            OpenMode::Write if !Path::new(path).exists() => {
                return Err(Error::not_found("open", "file", path));
            }
            _ => Arc::new(RedbStore::open(path).await?),
        })
    }
}
