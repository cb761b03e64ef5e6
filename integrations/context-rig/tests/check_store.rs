//! rig's own contract suite for stores, on every backend.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use context_rig::RigStore;
use context_runtime::Store;
use rig_memory::conformance::check_store;

/// Checks two handles on two connections. Each run has a user of its own, so that the storage holds
/// nothing yet.
async fn check(first: Arc<dyn Store>, second: Arc<dyn Store>) {
    use context_runtime::{IdGenerator, Uuid7Ids};
    let user = format!("rig-{}", Uuid7Ids.next_id());
    let (a, b) = (RigStore::new(first, user.as_str()), RigStore::new(second, user.as_str()));
    check_store(&a, &b).await.unwrap();
}

async fn check_server(variable: &str) {
    let url = std::env::var(variable).unwrap_or_else(|error| panic!("{variable}: {error}"));
    let open = || context_runtime::open(&url);
    check(open().await.unwrap(), open().await.unwrap()).await;
}

#[tokio::test]
async fn check_store_in_memory() {
    let store = context_runtime::open("mem:").await.unwrap();
    check(store.clone(), store).await;
}

#[tokio::test]
async fn check_store_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("rig.db").display());
    let open = || context_runtime::open(&url);
    check(open().await.unwrap(), open().await.unwrap()).await;
}

#[tokio::test]
#[ignore = "needs PostgreSQL; `cargo xtask test` runs it"]
async fn check_store_on_postgres() {
    check_server("CONTEXT_TEST_POSTGRES_URL").await;
}

#[tokio::test]
#[ignore = "needs Redis; `cargo xtask test` runs it"]
async fn check_store_on_redis() {
    check_server("CONTEXT_TEST_REDIS_URL").await;
}
