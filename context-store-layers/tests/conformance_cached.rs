//! Runs the conformance suite against the cache over SQLite, with one file per case.

mod common;

use std::sync::Arc;

use context_store_layers::CachedStore;

context_conformance::conformance_main!(common::Layered::new("cached", false, |store, _| {
    Ok(Arc::new(CachedStore::new(store, 16 << 20)))
}));
