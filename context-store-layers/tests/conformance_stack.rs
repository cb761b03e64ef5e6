//! All layers together pass the conformance suite over two files of SQLite.

mod common;

use std::sync::Arc;

use context_store_layers::{CachedStore, RetryStore, SplitStore, TracedStore};

context_conformance::conformance_main!(common::Layered::new("stack", true, |store, second| {
    let mut split = SplitStore::builder(store);
    if let Some(second) = second {
        split = split.blobs(Arc::clone(&second));
        if second.streams().is_some() {
            split = split.streams(second);
        }
    }
    let cached = Arc::new(CachedStore::new(Arc::new(split.build()?), 16 << 20));
    let retry = Arc::new(RetryStore::new(cached, Arc::new(common::ProcessIds)));
    Ok(Arc::new(TracedStore::new(retry)))
}));
