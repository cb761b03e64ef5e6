//! Runs the conformance suite against the cache over memory.

mod common;

use std::sync::Arc;

use context_store_layers::CachedStore;

context_conformance::conformance_main!(common::InMemory::new("cached", |store, _| {
    Ok(Arc::new(CachedStore::new(store, 16 << 20)))
}));
