//! Runs the conformance suite against an encrypted store over SQLite.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_conformance::StoreFixture;
use context_core::{Result, Store};
use context_store_layers::{EncryptedStore, EncryptionKey, KeyRing};
use context_store_sqlite::{SqliteConfig, SqliteStore};

struct Encrypted {
    folder: tempfile::TempDir,
    /// The number of files, and the newest file of each namespace.
    files: Mutex<(u32, HashMap<String, PathBuf>)>,
}

fn over(inner: SqliteStore) -> Arc<dyn Store> {
    let key = EncryptionKey::from_bytes("k1", &[42; 32]).expect("a proper name");
    Arc::new(EncryptedStore::new(Arc::new(inner), KeyRing::new(key)))
}

impl Encrypted {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self { folder, files: Mutex::default() }
    }

    /// Returns the file of a namespace, or a new one for a namespace that is opened for the first
    /// time.
    fn file(&self, namespace: &str, anew: bool) -> PathBuf {
        let mut files = self.files.lock().expect("no holder panics");
        match files.1.get(namespace) {
            Some(path) if !anew => path.clone(),
            _ => {
                files.0 += 1;
                let path = self.folder.path().join(format!("{}.db", files.0));
                files.1.insert(namespace.to_owned(), path.clone());
                path
            }
        }
    }
}

#[async_trait]
impl StoreFixture for Encrypted {
    fn name(&self) -> &str {
        "encrypted"
    }

    async fn open(&self, namespace: &str) -> Result<Arc<dyn Store>> {
        Ok(over(SqliteStore::open(SqliteConfig::new(self.file(namespace, true))).await?))
    }

    async fn reopen(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        let config = SqliteConfig::new(self.file(namespace, false)).create(false);
        Ok(Some(over(SqliteStore::open(config).await?)))
    }

    async fn second_handle(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        self.reopen(namespace).await
    }

    fn location(&self, namespace: &str) -> Option<String> {
        self.file(namespace, false).to_str().map(ToOwned::to_owned)
    }

    async fn open_at(&self, location: &str) -> Result<Option<Arc<dyn Store>>> {
        Ok(Some(over(SqliteStore::open(SqliteConfig::new(location)).await?)))
    }
}

context_conformance::conformance_main!(Encrypted::new());
