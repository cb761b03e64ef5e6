//! Closing a layer closes the stores under it.

use std::sync::Arc;

use context_core::store::ChatQuery;
use context_core::{ErrorKind, Result, Retry, Store};
use context_simulator::faults::{FaultPlan, FaultStore};
use context_store_layers::{CachedStore, RetryStore, SplitStore, TracedStore};
use context_store_sqlite::{SqliteConfig, SqliteStore};

use crate::fixture::Numbers;

async fn file(folder: &tempfile::TempDir, name: &str) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(SqliteConfig::new(folder.path().join(name))).await.unwrap())
}

#[tokio::test]
async fn every_layer_closes_the_store_inside() {
    type Layer = fn(Arc<dyn Store>) -> Result<Arc<dyn Store>>;
    let layers: [(&str, Layer); 5] = [
        ("cached", |store| Ok(Arc::new(CachedStore::new(store, 1 << 20)))),
        ("retry", |store| Ok(Arc::new(RetryStore::new(store, Arc::new(Numbers::default()))))),
        ("traced", |store| Ok(Arc::new(TracedStore::new(store)))),
        ("split", |store| Ok(Arc::new(SplitStore::builder(store).build()?))),
        ("faults", |store| Ok(Arc::new(FaultStore::new(store, FaultPlan::default())))),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (name, layer) in layers {
        let inner = file(&folder, &format!("{name}.db")).await;
        let outer = layer(Arc::clone(&inner)).unwrap();
        outer.close().await.unwrap();
        outer.close().await.unwrap();
        let error = inner.history().list_chats(&ChatQuery::new("ada")).await.unwrap_err();
        assert_eq!((error.kind(), error.retry()), (ErrorKind::Unavailable, Retry::Never), "{name}");
        assert!(!folder.path().join(format!("{name}.db-wal")).exists(), "{name}");
    }
}

#[tokio::test]
async fn a_split_store_closes_all_its_stores() {
    let folder = tempfile::tempdir().unwrap();
    let (main, blobs) = (file(&folder, "main.db").await, file(&folder, "blobs.db").await);
    let split = SplitStore::builder(Arc::clone(&main)).blobs(Arc::clone(&blobs)).build().unwrap();
    split.close().await.unwrap();
    for store in [main, blobs] {
        assert!(store.history().list_chats(&ChatQuery::new("ada")).await.is_err());
    }
}
