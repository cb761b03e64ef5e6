//! The stores that are compared. Each is opened once.

use std::sync::Arc;

use async_trait::async_trait;
use context_conformance::{StoreFixture, file_name};
use context_core::{Result, Store};
use context_store_inmem::InMemoryStore;
use context_store_postgres::{PostgresConfig, PostgresStore};
use context_store_redis::{RedisConfig, RedisStore};
use context_store_sqlite::{SqliteConfig, SqliteStore};

/// Implements a subject that only needs to be opened.
macro_rules! opened {
    ($subject:ty, $name:literal, |$self:ident, $namespace:ident| $open:expr) => {
        #[async_trait]
        impl StoreFixture for $subject {
            fn name(&self) -> &str {
                $name
            }

            async fn open(&$self, $namespace: &str) -> Result<Arc<dyn Store>> {
                Ok(Arc::new($open))
            }

            async fn reopen(&self, _namespace: &str) -> Result<Option<Arc<dyn Store>>> {
                Ok(None)
            }

            async fn second_handle(&self, _namespace: &str) -> Result<Option<Arc<dyn Store>>> {
                Ok(None)
            }
        }
    };
}

pub(crate) struct InMemory;

opened!(InMemory, "inmem", |self, _namespace| InMemoryStore::default());

pub(crate) struct Sqlite(tempfile::TempDir);

impl Sqlite {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }
}

opened!(Sqlite, "sqlite", |self, namespace| {
    SqliteStore::open(SqliteConfig::new(self.0.path().join(file_name(namespace)))).await?
});

/// On the server at this address.
pub(crate) struct PostgresSubject(pub(crate) String);

opened!(PostgresSubject, "postgres", |self, namespace| {
    let config = PostgresConfig::from_url(&self.0)?.schema(file_name(namespace)).connections(2);
    PostgresStore::open(config).await?
});

/// On the server at this address.
pub(crate) struct RedisSubject(pub(crate) String);

opened!(RedisSubject, "redis", |self, namespace| {
    let config = RedisConfig::new(&self.0).prefix(format!("{}:", file_name(namespace)));
    RedisStore::open(config).await?
});
