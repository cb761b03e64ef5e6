//! Contract tests of the provider, on the in-memory store.

use std::sync::Arc;

use context_conformance::memory::{MemoryClaims, assert_memory_conforms};
use context_runtime::open;
use custom_memory::Verbatim;

#[tokio::test]
async fn it_keeps_the_contract() {
    let fresh = async || {
        let store = open("mem:").await.expect("a store in memory");
        Arc::new(Verbatim::new(store).expect("it keeps memories")) as _
    };
    let asked = assert_memory_conforms(fresh, &MemoryClaims::default()).await;
    let has_no_review = |reason: &str| reason == "has no review";
    let others = asked.skipped.iter().filter(|(_, reason)| !has_no_review(reason));
    assert_eq!(others.count(), 0, "it claims everything: {asked:?}");
}
