//! The Redis store.

use std::sync::Arc;

use async_trait::async_trait;
use context_core::{Result, Store};

use crate::registry::{OpenMode, StoreFactory, StoreRegistry};

pub(super) fn register(registry: &mut StoreRegistry) {
    let schemes = [
        ("redis", true),
        ("rediss", cfg!(feature = "tls")),
        ("redis+cluster", cfg!(feature = "redis-cluster")),
        ("rediss+cluster", cfg!(all(feature = "redis-cluster", feature = "tls"))),
    ];
    for (scheme, _) in schemes.into_iter().filter(|(_, is_on)| *is_on) {
        registry.register(scheme, Redis);
    }
}

struct Redis;

#[async_trait]
impl StoreFactory for Redis {
    async fn open(&self, url: &str, mode: OpenMode) -> Result<Arc<dyn Store>> {
        let mut config = context_store_redis::RedisConfig::from_url(url)?;
        config.read_only |= mode == OpenMode::Read;
        config.create &= mode == OpenMode::Create;
        Ok(Arc::new(context_store_redis::RedisStore::open(config).await?))
    }
}
