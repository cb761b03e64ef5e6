//! Runs the conformance suite against the store, with one file per case.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_conformance::StoreFixture;
use context_core::{Result, Store};
use context_store_sqlite::{SqliteConfig, SqliteStore};

struct Sqlite {
    folder: tempfile::TempDir,
    files: Mutex<Files>,
}

/// Numbered files for namespaces, whose names may hold any character.
#[derive(Default)]
struct Files {
    opened: u32,
    newest: HashMap<String, PathBuf>,
}

impl Files {
    /// Returns a new file for a namespace that is opened for the first time.
    fn fresh(&mut self, folder: &Path, namespace: &str) -> PathBuf {
        self.opened += 1;
        let path = folder.join(format!("{}.db", self.opened));
        self.newest.insert(namespace.to_owned(), path.clone());
        path
    }
}

impl Sqlite {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self { folder, files: Mutex::default() }
    }
}

#[async_trait]
impl StoreFixture for Sqlite {
    fn name(&self) -> &str {
        "sqlite"
    }

    async fn open(&self, namespace: &str) -> Result<Arc<dyn Store>> {
        let path =
            self.files.lock().expect("no holder panics").fresh(self.folder.path(), namespace);
        Ok(Arc::new(SqliteStore::open(SqliteConfig::new(path)).await?))
    }

    async fn reopen(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        let path = self.files.lock().expect("no holder panics").newest.get(namespace).cloned();
        let Some(path) = path else { return Ok(None) };
        Ok(Some(Arc::new(SqliteStore::open(SqliteConfig::new(path).create(false)).await?)))
    }

    async fn second_handle(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        self.reopen(namespace).await
    }

    fn location(&self, namespace: &str) -> Option<String> {
        let mut files = self.files.lock().expect("no holder panics");
        let known = files.newest.get(namespace).cloned();
        let path = known.unwrap_or_else(|| files.fresh(self.folder.path(), namespace));
        path.to_str().map(ToOwned::to_owned)
    }

    async fn open_at(&self, location: &str) -> Result<Option<Arc<dyn Store>>> {
        Ok(Some(Arc::new(SqliteStore::open(SqliteConfig::new(location)).await?)))
    }
}

context_conformance::conformance_main!(Sqlite::new());
