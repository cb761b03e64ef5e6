//! Split stores with the history in SQLite and blobs elsewhere. Every namespace is a file with
//! blobs of its own.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_conformance::{CaseSettings, StoreFixture};
use context_core::{Result, Store};
use context_store_layers::SplitStore;
use context_store_object::{ObjectBlobs, ObjectConfig};
use context_store_sqlite::{SqliteConfig, SqliteStore};

/// The variable with the address of an S3 server and a bucket: `http://HOST:PORT/BUCKET`.
/// Credentials are in the usual variables.
#[allow(dead_code, reason = "each program of tests has its own service")]
pub(crate) const S3_URL: &str = "CONTEXT_TEST_S3_URL";

/// Returns the configuration of blobs in the bucket of the test server.
#[allow(dead_code, reason = "each program of tests has its own service")]
#[cfg(feature = "s3")]
pub(crate) fn s3_bucket(prefix: &str) -> Result<ObjectConfig> {
    let url = std::env::var(S3_URL).unwrap_or_default();
    let (endpoint, bucket) = url.rsplit_once('/').unwrap_or((&url, "context"));
    ObjectConfig::from_url(&format!(
        "s3://{bucket}/{prefix}?endpoint={endpoint}&allow_http=true&region=us-east-1"
    ))
}

/// The blobs that belong to the file of a history.
type Blobs = fn(&Path) -> Result<ObjectConfig>;

/// A subject of the suite.
pub(crate) struct Split {
    name: &'static str,
    blobs: Blobs,
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

impl Split {
    pub(crate) fn new(name: &'static str, blobs: Blobs) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self { name, blobs, folder, files: Mutex::default() }
    }

    async fn at(&self, path: &Path, create: bool) -> Result<Arc<dyn Store>> {
        let history = SqliteStore::open(SqliteConfig::new(path).create(create)).await?;
        let blobs = ObjectBlobs::open((self.blobs)(path)?.create(create)).await?;
        Ok(Arc::new(SplitStore::builder(Arc::new(history)).blobs(Arc::new(blobs)).build()?))
    }
}

#[async_trait]
impl StoreFixture for Split {
    fn name(&self) -> &str {
        self.name
    }

    /// The history is tested with the full settings elsewhere.
    fn settings(&self) -> CaseSettings {
        let mut settings = CaseSettings::default();
        (settings.sequences, settings.kills) = (5, 20);
        settings
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
