//! The store in memory.

use std::sync::Arc;

use async_trait::async_trait;
use context_core::{Error, Result, Store};

use crate::registry::{OpenMode, StoreFactory};

pub(super) struct InMemory;

#[async_trait]
impl StoreFactory for InMemory {
    async fn open(&self, url: &str, _mode: OpenMode) -> Result<Arc<dyn Store>> {
        // The rest of the URL may be a secret and is not repeated.
        if !matches!(url, "mem:" | "mem://") {
            let problem = "a store in memory takes nothing after `mem:`";
            return Err(Error::invalid("open", problem));
        }
        Ok(Arc::new(context_store_inmem::InMemoryStore::default()))
    }
}
