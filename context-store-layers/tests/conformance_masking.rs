//! Runs the conformance suite against the masking layer over SQLite, with one file per case.

mod common;

use std::sync::Arc;

use context_store_layers::MaskingStore;

context_conformance::conformance_main!(common::Layered::new("masking", false, |store, _| {
    Ok(Arc::new(MaskingStore::new(store)))
}));
