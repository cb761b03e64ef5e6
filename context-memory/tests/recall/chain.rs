//! Several providers as one.

use std::sync::Arc;

use context_core::memory::{MemoryForget, MemoryScope, MemorySource, RecallQuery};
use context_core::{Clock, ErrorKind, MemoryProvider, Timestamp};
use context_memory::{Cardinality, Episodic, Facts, ProviderChain, Statement};
use context_store_inmem::InMemoryStore;

use crate::kit::{FlakyProvider, ada, episodic, minute, never, over, recall, turn};

#[tokio::test]
async fn all_are_told_and_asked_and_what_two_of_them_say_is_said_once() {
    let chain = ProviderChain::new().with("first", episodic(), 1).with("second", episodic(), 1);
    chain.capture(&turn(&ada("s"), 0, &["The harbour is closed."]), &never()).await.unwrap();
    assert_eq!(recall(&chain, ada("t"), "harbour").await, ["The harbour is closed."]);
    let forgotten = chain.forget(&MemoryForget::Scope(MemoryScope::new("ada"))).await.unwrap();
    assert_eq!((forgotten.removed, forgotten.remaining), (2, 0));
    assert!(recall(&chain, ada("t"), "harbour").await.is_empty());
}

#[tokio::test]
async fn one_that_fails_costs_its_own_memories_alone_and_is_named() {
    let chain = ProviderChain::new().with("good", episodic(), 1).with(
        "shaky",
        FlakyProvider::failing(1, ErrorKind::Unavailable),
        1,
    );
    let told = turn(&ada("s"), 0, &["The harbour is closed."]);
    let error = chain.capture(&told, &never()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("shaky"), "{error}");
    // A repeated capture counts once in one provider and is stored by the other.
    chain.capture(&told, &never()).await.unwrap();
    assert_eq!(recall(&chain, ada("t"), "harbour").await.len(), 1);

    let broken = ProviderChain::new().with("good", over(&Arc::default()), 1).with(
        "remote",
        RefusingProvider,
        1,
    );
    broken.recall(&RecallQuery::new(ada("t"), "harbour"), &never()).await.unwrap();
    let recalled = broken.recall(&RecallQuery::new(ada("t"), "harbour"), &never()).await.unwrap();
    assert!(recalled.diagnostics[0].message.contains("remote"), "{:?}", recalled.diagnostics);
    let alone = ProviderChain::new().with("remote", RefusingProvider, 1);
    let error = alone.recall(&RecallQuery::new(ada("t"), "harbour"), &never()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[tokio::test]
async fn each_has_its_share_and_what_one_leaves_over_is_for_those_behind_it() {
    let (small, large): (Arc<InMemoryStore>, Arc<InMemoryStore>) = Default::default();
    let tell = async |memory: Episodic, times: usize, word: &str| {
        for at in 0..times {
            let said = format!(
                "{word} number {at} of the harbour has {} boats and more to say {at}",
                at * 7
            );
            memory.capture(&turn(&ada(word), at * 2, &[&said]), &never()).await.unwrap();
        }
    };
    tell(over(&small), 1, "pier").await;
    tell(over(&large), 20, "quay").await;
    let chain = ProviderChain::new().with("small", over(&small), 1).with(
        "large",
        over(&large).limit(20),
        1,
    );
    let query = RecallQuery::new(ada("t"), "harbour").max_tokens(600);
    let recalled = chain.recall(&query, &never()).await.unwrap().memories;
    assert!(recalled[0].text.starts_with("pier"));
    // About sixty tokens each: half of the second share would hold five.
    assert!((7..=10).contains(&recalled.len()), "{}", recalled.len());
}

/// A clock that stands still.
#[derive(Debug)]
struct FrozenClock;

impl Clock for FrozenClock {
    fn now(&self) -> Timestamp {
        minute(0)
    }
}

/// Regression: episodes used to remove every id they were given, before facts could look up the
/// statements of a fact, so half of the fact remained.
#[tokio::test]
async fn memories_that_share_a_store_forget_their_own_names_alone() {
    let store: Arc<InMemoryStore> = Arc::default();
    let facts = Arc::new(Facts::new(Arc::clone(&store) as _, Arc::new(FrozenClock)).unwrap());
    let scope = MemoryScope::new("ada");
    let state = |message: &str| {
        Statement::new("Ada", "lives in", "Lisbon", Cardinality::One, minute(0))
            .source(MemorySource::message("s", message))
    };
    facts.state(&scope, &[state("m1"), state("m2")]).await.unwrap();
    let chain =
        ProviderChain::new().with("episodes", over(&store), 1).with("facts", Arc::clone(&facts), 1);
    chain.capture(&turn(&ada("s"), 0, &["I live in Lisbon."]), &never()).await.unwrap();
    let recalled =
        chain.recall(&RecallQuery::new(ada("t"), "Lisbon"), &never()).await.unwrap().memories;
    let fact = recalled.iter().find(|memory| memory.kind == "fact").unwrap();
    let forgotten = chain.forget(&MemoryForget::ids(scope, fact.id.iter())).await.unwrap();
    assert_eq!((forgotten.removed, forgotten.remaining), (2, 0));
    assert_eq!(recall(&chain, ada("t"), "Lisbon").await, ["I live in Lisbon."]);
}

/// A provider that cannot keep scopes apart and reports that.
#[derive(Debug)]
struct RefusingProvider;

#[async_trait::async_trait]
impl MemoryProvider for RefusingProvider {
    async fn recall(
        &self,
        _query: &RecallQuery,
        _cancel: &context_core::CancelSignal,
    ) -> context_core::Result<context_core::memory::Recalled> {
        Err(context_core::Error::new(
            ErrorKind::Unsupported,
            "recall",
            "this memory knows no sessions",
        ))
    }

    async fn capture(
        &self,
        _turn: &context_core::memory::CapturedTurn,
        _cancel: &context_core::CancelSignal,
    ) -> context_core::Result<()> {
        Ok(())
    }

    async fn forget(
        &self,
        _forget: &MemoryForget,
    ) -> context_core::Result<context_core::memory::MemoriesForgotten> {
        Ok(context_core::memory::MemoriesForgotten::default())
    }
}
