//! The conformance suite for memories, for the provider alone, behind the queue, and in a chain.

use std::sync::Arc;

use context_conformance::memory::{MemoryClaims, assert_memory_conforms};
use context_core::MemoryProvider;
use context_memory::{ProviderChain, Queued};

use crate::kit::{TopicEmbedder, episodic};

#[tokio::test]
async fn episodes_keep_the_contract() {
    let open = async || Arc::new(episodic()) as Arc<dyn MemoryProvider>;
    let asked = assert_memory_conforms(open, &MemoryClaims::default()).await;
    assert_eq!(asked.skipped, []);
}

#[tokio::test]
async fn episodes_behind_the_queue_keep_the_contract() {
    let open = async || Arc::new(Queued::new(episodic())) as Arc<dyn MemoryProvider>;
    let asked = assert_memory_conforms(open, &MemoryClaims::default()).await;
    assert_eq!(asked.skipped, []);
}

#[tokio::test]
async fn a_chain_with_vectors_keeps_the_contract() {
    let open = async || {
        let found = episodic().embedder(Arc::new(TopicEmbedder::default()));
        Arc::new(ProviderChain::new().with("episodes", Queued::new(found), 1))
            as Arc<dyn MemoryProvider>
    };
    let asked = assert_memory_conforms(open, &MemoryClaims::default()).await;
    assert_eq!(asked.skipped, []);
}
