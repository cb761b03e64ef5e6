//! Runs the conformance suite against all layers together over two files of SQLite.

mod common;

use std::sync::Arc;

use context_store_layers::{CachedStore, RetryStore, SplitStore, TracedStore};

context_conformance::conformance_main!(common::Layered::new("stack", true, |store, second| {
    let second = second.expect("a second store, as asked for");
    let split = SplitStore::builder(store).blobs(Arc::clone(&second)).streams(Arc::clone(&second));
    let split = split.trajectories(second);
    let cached = Arc::new(CachedStore::new(Arc::new(split.build()?), 16 << 20));
    let retry = Arc::new(RetryStore::new(cached, Arc::new(common::ProcessIds)));
    Ok(Arc::new(TracedStore::new(retry)))
}));
