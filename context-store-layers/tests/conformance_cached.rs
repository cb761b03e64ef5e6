//! The cache passes the conformance suite over SQLite, each case in a file of its own.

mod common;

use std::sync::Arc;

use context_store_layers::CachedStore;

context_conformance::conformance_main!(common::Layered::new("cached", false, |store, _| {
    Ok(Arc::new(CachedStore::new(store, 16 << 20)))
}));
