//! The SQLite store.

use std::sync::Arc;

use async_trait::async_trait;
use context_core::{CancelSignal, Result, Store};
use context_store_kit::salvage::SalvageSink;

use crate::registry::{OpenMode, StoreFactory};

pub(super) struct Sqlite;

#[async_trait]
impl StoreFactory for Sqlite {
    async fn open(&self, url: &str, mode: OpenMode) -> Result<Arc<dyn Store>> {
        let mut config = context_store_sqlite::SqliteConfig::from_url(url)?;
        config.read_only |= mode == OpenMode::Read;
        config.create &= mode == OpenMode::Create;
        Ok(Arc::new(context_store_sqlite::SqliteStore::open(config).await?))
    }

    async fn salvage(
        &self,
        url: &str,
        sink: &mut dyn SalvageSink,
        cancel: &CancelSignal,
    ) -> Result<bool> {
        let config = context_store_sqlite::SqliteConfig::from_url(url)?;
        context_store_sqlite::salvage(&config.path, sink, cancel).await?;
        Ok(true)
    }
}
