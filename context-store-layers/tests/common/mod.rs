//! Layers over SQLite or memory as subjects of the conformance suite. Every namespace is a file, or
//! two, or a store in memory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_conformance::{CaseSettings, StoreFixture};
use context_core::{IdGenerator, Result, Store};
use context_store_inmem::InMemoryStore;
use context_store_sqlite::{SqliteConfig, SqliteStore};

/// Puts layers over a store, and over a second one if it is given.
type Stack = fn(Arc<dyn Store>, Option<Arc<dyn Store>>) -> Result<Arc<dyn Store>>;

/// A subject of layers over SQLite.
#[allow(dead_code, reason = "each program of tests has its own layers")]
pub(crate) struct Layered {
    name: &'static str,
    stack: Stack,
    /// Whether there is a second store.
    second: bool,
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

#[allow(dead_code, reason = "each program of tests has its own layers")]
impl Layered {
    pub(crate) fn new(name: &'static str, second: bool, stack: Stack) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self { name, stack, second, folder, files: Mutex::default() }
    }

    async fn at(&self, path: &Path, create: bool) -> Result<Arc<dyn Store>> {
        let open = |path: PathBuf| SqliteStore::open(SqliteConfig::new(path).create(create));
        let first = Arc::new(open(path.to_owned()).await?);
        let second: Option<Arc<dyn Store>> = match self.second {
            true => Some(Arc::new(open(path.with_extension("second")).await?)),
            false => None,
        };
        (self.stack)(first, second)
    }
}

#[async_trait]
impl StoreFixture for Layered {
    fn name(&self) -> &str {
        self.name
    }

    fn settings(&self) -> CaseSettings {
        layer_settings()
    }

    async fn open(&self, namespace: &str) -> Result<Arc<dyn Store>> {
        let path =
            self.files.lock().expect("no holder panics").fresh(self.folder.path(), namespace);
        self.at(&path, true).await
    }

    async fn reopen(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        let path = self.files.lock().expect("no holder panics").newest.get(namespace).cloned();
        let Some(path) = path else { return Ok(None) };
        Ok(Some(self.at(&path, false).await?))
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
        Ok(Some(self.at(Path::new(location), true).await?))
    }
}

/// A subject of layers over memory, for layers that keep nothing of their own: what outlives a
/// process is proved of all layers together.
#[allow(dead_code, reason = "each program of tests has its own layers")]
pub(crate) struct InMemory {
    name: &'static str,
    stack: Stack,
    newest: Mutex<HashMap<String, [Arc<dyn Store>; 2]>>,
}

#[allow(dead_code, reason = "each program of tests has its own layers")]
impl InMemory {
    pub(crate) fn new(name: &'static str, stack: Stack) -> Self {
        Self { name, stack, newest: Mutex::default() }
    }

    fn over([first, second]: [Arc<dyn Store>; 2], stack: Stack) -> Result<Arc<dyn Store>> {
        stack(first, Some(second))
    }
}

#[async_trait]
impl StoreFixture for InMemory {
    fn name(&self) -> &str {
        self.name
    }

    fn settings(&self) -> CaseSettings {
        layer_settings()
    }

    async fn open(&self, namespace: &str) -> Result<Arc<dyn Store>> {
        let fresh = || Arc::new(InMemoryStore::default()) as Arc<dyn Store>;
        let stores = [fresh(), fresh()];
        let mut newest = self.newest.lock().expect("no holder panics");
        newest.insert(namespace.to_owned(), stores.clone());
        Self::over(stores, self.stack)
    }

    async fn reopen(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        self.second_handle(namespace).await
    }

    async fn second_handle(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        let stores = self.newest.lock().expect("no holder panics").get(namespace).cloned();
        stores.map(|stores| Self::over(stores, self.stack)).transpose()
    }
}

/// The inner store is tested with the full settings elsewhere.
fn layer_settings() -> CaseSettings {
    let mut settings = CaseSettings::default();
    (settings.sequences, settings.kills) = (5, 20);
    settings
}

/// Generates ids that are unique over handles and processes.
#[allow(dead_code, reason = "each program of tests has its own layers")]
#[derive(Debug)]
pub(crate) struct ProcessIds;

impl IdGenerator for ProcessIds {
    fn next_id(&self) -> String {
        static MADE: AtomicU64 = AtomicU64::new(0);
        format!("{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed))
    }
}
