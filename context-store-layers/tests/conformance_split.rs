//! A split store passes the conformance suite over two files of SQLite.

mod common;

use std::sync::Arc;

use context_store_layers::SplitStore;

context_conformance::conformance_main!(common::Layered::new("split", true, |store, second| {
    let mut split = SplitStore::builder(store);
    if let Some(second) = second {
        split = split.blobs(Arc::clone(&second));
        if second.streams().is_some() {
            split = split.streams(second);
        }
    }
    Ok(Arc::new(split.build()?))
}));
