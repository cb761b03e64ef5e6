//! The conformance suite for memories.

use std::sync::Arc;

use async_trait::async_trait;
use context_conformance::FixedClock;
use context_conformance::memory::{MemoryClaims, assert_memory_conforms};
use context_core::memory::CapturedMessage;
use context_core::{CancelSignal, MemoryProvider, Result, Timestamp};
use context_memory::{Blocks, Cardinality, Extracted, ExtractedFact, FactExtractor, Facts};
use context_store_inmem::InMemoryStore;

/// Extracts the facts about parcels that the suite captures.
#[derive(Debug)]
struct Parcels;

#[async_trait]
impl FactExtractor for Parcels {
    async fn extract(
        &self,
        messages: &[CapturedMessage],
        _told_at: Timestamp,
        _cancel: &CancelSignal,
    ) -> Result<Extracted> {
        let fact = |(number, said): (usize, &CapturedMessage)| {
            let text = said.message.plain_text();
            let rest = text.strip_prefix("The parcel ")?;
            let (name, _) = rest.split_once(' ')?;
            let subject = format!("The parcel {name}");
            Some(ExtractedFact::new(number, subject, "lies in", "the hall", Cardinality::One))
        };
        Ok(Extracted::new(messages.iter().enumerate().filter_map(fact).collect()))
    }
}

pub(crate) fn parcels() -> Arc<dyn MemoryProvider> {
    let store = Arc::new(InMemoryStore::default());
    let facts = Facts::new(store, Arc::new(FixedClock::at(0))).unwrap();
    Arc::new(facts.from_answers(true).with_extractor(Arc::new(Parcels)))
}

#[tokio::test]
async fn facts_conform() {
    let asked = assert_memory_conforms(async || parcels(), &MemoryClaims::default()).await;
    assert!(asked.skipped.is_empty(), "{asked:?}");
}

#[tokio::test]
async fn blocks_conform() {
    let open = || {
        let store = Arc::new(InMemoryStore::default());
        Arc::new(Blocks::new(store, Arc::new(FixedClock::at(0))).unwrap())
            as Arc<dyn MemoryProvider>
    };
    let mut claims = MemoryClaims::default();
    claims.captures = false;
    let asked = assert_memory_conforms(async || open(), &claims).await;
    assert!(!asked.passed.is_empty(), "{asked:?}");
}
