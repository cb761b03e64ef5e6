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
    assert!(asked.skipped.is_empty(), "it claims everything: {asked:?}");
}
