//! Contract tests of the store: one test per case of the suite.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use context_conformance::StoreFixture;
use context_core::{Result, Store};
use custom_row_store::RowStore;
use tempfile::TempDir;

struct Rows(TempDir);

impl Rows {
    fn file(&self, namespace: &str) -> PathBuf {
        self.0.path().join(context_conformance::file_name(namespace))
    }
}

#[async_trait]
impl StoreFixture for Rows {
    fn name(&self) -> &str {
        "rows"
    }

    async fn open(&self, namespace: &str) -> Result<Arc<dyn Store>> {
        let _absent = std::fs::remove_file(self.file(namespace));
        Ok(Arc::new(RowStore::open(self.file(namespace)).await?))
    }

    async fn reopen(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        Ok(Some(Arc::new(RowStore::open(self.file(namespace)).await?)))
    }

    async fn second_handle(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        self.reopen(namespace).await
    }

    fn location(&self, namespace: &str) -> Option<String> {
        self.file(namespace).to_str().map(ToOwned::to_owned)
    }

    async fn open_at(&self, location: &str) -> Result<Option<Arc<dyn Store>>> {
        Ok(Some(Arc::new(RowStore::open(location).await?)))
    }
}

context_conformance::conformance_main!(Rows(tempfile::tempdir().expect("a temporary folder")));
