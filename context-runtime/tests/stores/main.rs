//! All stores come to the same, whatever is done to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use context_conformance::{Settings, Subject, assert_same};
use context_core::{Result, Store};
use context_store_inmem::InMemoryStore;
use context_store_sqlite::{SqliteConfig, SqliteStore};

struct InMemory;

#[async_trait]
impl Subject for InMemory {
    fn name(&self) -> &str {
        "inmem"
    }

    async fn open(&self, _namespace: &str) -> Result<Arc<dyn Store>> {
        Ok(Arc::new(InMemoryStore::default()))
    }

    async fn reopen(&self, _namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        Ok(None)
    }

    async fn second_handle(&self, _namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        Ok(None)
    }
}

struct Sqlite {
    folder: tempfile::TempDir,
    opened: AtomicU32,
}

#[async_trait]
impl Subject for Sqlite {
    fn name(&self) -> &str {
        "sqlite"
    }

    async fn open(&self, _namespace: &str) -> Result<Arc<dyn Store>> {
        let n = self.opened.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.path().join(format!("{n}.db"));
        Ok(Arc::new(SqliteStore::open(SqliteConfig::new(path)).await?))
    }

    async fn reopen(&self, _namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        Ok(None)
    }

    async fn second_handle(&self, _namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        Ok(None)
    }
}

#[tokio::test]
async fn random_sequences_come_to_the_same_in_all_stores() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let subjects: Vec<Arc<dyn Subject>> =
        vec![Arc::new(InMemory), Arc::new(Sqlite { folder, opened: AtomicU32::new(0) })];
    assert_same(&subjects, &Settings::from_env()).await;
}
