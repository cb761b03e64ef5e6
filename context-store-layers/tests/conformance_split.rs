//! Runs the conformance suite against a split store over two stores in memory.

mod common;

use std::sync::Arc;

use context_store_layers::SplitStore;

context_conformance::conformance_main!(common::InMemory::new("split", |store, second| {
    let second = second.expect("a second store, as asked for");
    let split = SplitStore::builder(store).blobs(Arc::clone(&second)).streams(Arc::clone(&second));
    let split = split.trajectories(second);
    Ok(Arc::new(split.build()?))
}));
