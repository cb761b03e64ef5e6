//! Runs the conformance suite against the retry layer over memory.

mod common;

use std::sync::Arc;

use context_store_layers::RetryStore;

context_conformance::conformance_main!(common::InMemory::new("retry", |store, _| {
    Ok(Arc::new(RetryStore::new(store, Arc::new(common::ProcessIds))))
}));
