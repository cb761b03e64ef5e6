//! The store passes the conformance suite, each case in a file of its own.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_conformance::Subject;
use context_core::{Result, Store};
use context_store_sqlite::{SqliteConfig, SqliteStore};

struct Sqlite {
    folder: tempfile::TempDir,
    files: Mutex<Files>,
}

/// Names of namespaces may be anything, so files are numbered.
#[derive(Default)]
struct Files {
    opened: u32,
    newest: HashMap<String, PathBuf>,
}

impl Sqlite {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self { folder, files: Mutex::default() }
    }
}

#[async_trait]
impl Subject for Sqlite {
    fn name(&self) -> &str {
        "sqlite"
    }

    async fn open(&self, namespace: &str) -> Result<Arc<dyn Store>> {
        let path = {
            let mut files = self.files.lock().expect("no holder panics");
            files.opened += 1;
            let path = self.folder.path().join(format!("{}.db", files.opened));
            files.newest.insert(namespace.to_owned(), path.clone());
            path
        };
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
}

context_conformance::conformance_main!(Sqlite::new());
