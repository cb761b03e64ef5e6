//! Runs the conformance suite against the masking layer over memory.

mod common;

use std::sync::Arc;

use context_store_layers::MaskingStore;

context_conformance::conformance_main!(common::InMemory::new("masking", |store, _| {
    Ok(Arc::new(MaskingStore::new(store)))
}));
