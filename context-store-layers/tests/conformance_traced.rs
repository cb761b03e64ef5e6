//! Runs the conformance suite against the tracing layer over memory.

mod common;

use std::sync::Arc;

use context_store_layers::TracedStore;

context_conformance::conformance_main!(common::InMemory::new("traced", |store, _| {
    Ok(Arc::new(TracedStore::new(store).scope(true).content(true)))
}));
