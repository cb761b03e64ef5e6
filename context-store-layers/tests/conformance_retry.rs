//! Runs the conformance suite against the retry layer over SQLite, with one file per case.

mod common;

use std::sync::Arc;

use context_store_layers::RetryStore;

context_conformance::conformance_main!(common::Layered::new("retry", false, |store, _| {
    Ok(Arc::new(RetryStore::new(store, Arc::new(common::ProcessIds))))
}));
