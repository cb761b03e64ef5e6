//! Runs the conformance suite against the tracing layer over SQLite, with one file per case.

mod common;

use std::sync::Arc;

use context_store_layers::TracedStore;

context_conformance::conformance_main!(common::Layered::new("traced", false, |store, _| {
    Ok(Arc::new(TracedStore::new(store).scope(true).content(true)))
}));
