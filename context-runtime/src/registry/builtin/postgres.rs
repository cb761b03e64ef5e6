//! The PostgreSQL store.

use std::sync::Arc;

use async_trait::async_trait;
use context_core::{Result, Store};
use context_store_postgres::{PostgresConfig, PostgresStore};

use crate::registry::{OpenMode, StoreFactory, StoreRegistry};

pub(super) fn register(registry: &mut StoreRegistry) {
    for scheme in ["postgres", "postgresql"] {
        registry.register(scheme, Postgres);
    }
}

struct Postgres;

#[async_trait]
impl StoreFactory for Postgres {
    async fn open(&self, url: &str, mode: OpenMode) -> Result<Arc<dyn Store>> {
        let mut config = PostgresConfig::from_url(url)?;
        config.read_only |= mode == OpenMode::Read;
        if mode == OpenMode::Write {
            // One setting covers upgrading and creating a schema, so check first
            // whether the schema exists.
            match PostgresStore::open(config.clone().read_only(true)).await {
                Ok(looked) => looked.close().await?,
                Err(error) if error.is_not_found() => return Err(error),
                // An older schema is upgraded below. Any other error occurs again there.
                Err(_) => {}
            }
            config.create_database = false;
        }
        Ok(Arc::new(PostgresStore::open(config).await?))
    }
}
