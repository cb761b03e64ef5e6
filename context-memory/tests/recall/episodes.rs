//! Messages are recalled once, and only within their scope.

use context_core::message::Origin;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use context_core::memory::{
    CapturedMessage, CapturedTurn, MemoryForget, MemoryScope, MemorySource, RecallQuery,
};
use context_core::store::{Durability, FragmentStore, HistoryStore, StoreInfo};
use context_core::{ErrorKind, MemoryProvider, Message, Messages, Role, Store};
use context_memory::{Episodic, ScopeLevel};
use context_store_inmem::InMemoryStore;
use proptest::prelude::*;

use crate::kit::{TopicEmbedder, ada, episodic, minute, never, over, recall, turn};

#[tokio::test]
async fn what_was_said_comes_back_in_another_session_with_where_and_when_and_who() {
    let memory = episodic();
    let told = turn(&ada("monday"), 0, &["My cat is called Tom.", "What a nice name!"]);
    memory.capture(&told, &never()).await.unwrap();
    let query = RecallQuery::new(ada("friday"), "What is my cat's name?");
    let recalled = memory.recall(&query, &never()).await.unwrap();
    let first = &recalled.memories[0];
    assert_eq!(first.text, "My cat is called Tom.");
    assert_eq!(first.source, Some(MemorySource::message("monday", "monday-0")));
    assert_eq!((first.at, first.speaker.as_deref()), (Some(minute(0)), Some("user")));
    assert_eq!(
        (first.kind.as_str(), first.scope.as_ref()),
        ("episode", Some(&MemoryScope::new("ada")))
    );
    assert!(recalled.diagnostics.is_empty());
}

#[tokio::test]
async fn a_message_that_is_told_again_counts_once_and_what_was_only_shown_never() {
    let store: Arc<InMemoryStore> = Arc::default();
    let memory = over(&store);
    let told = turn(&ada("s"), 0, &["The code is 4711.", "Noted."]);
    let mut longer = turn(&ada("s"), 0, &["The code is 4711.", "Noted.", "Thanks."]);
    longer.messages.push(CapturedMessage::new(
        "shown",
        Message::text(Role::User, "shown").with_origin(Origin::Synthetic),
    ));
    for told in [&told, &longer, &told] {
        memory.capture(told, &never()).await.unwrap();
    }
    let stats = store.memories().unwrap().memory_stats(&"ada".into(), 10, None).await.unwrap();
    assert_eq!(stats.items[0].records(), 3);
    assert_eq!(recall(&memory, ada("t"), "shown").await, Vec::<String>::new());
}

#[tokio::test]
async fn how_far_it_reaches_is_said_and_no_further() {
    let here = MemoryScope::new("ada").project("p").agent("a").session("s");
    let table = [
        (ScopeLevel::User, [true, true, true, true]),
        (ScopeLevel::Project, [true, true, true, false]),
        (ScopeLevel::Agent, [true, true, false, false]),
        (ScopeLevel::Session, [true, false, false, false]),
    ];
    for (level, expected) in table {
        let memory = episodic().scope_level(level);
        memory.capture(&turn(&here, 0, &["The harbour is closed."]), &never()).await.unwrap();
        let asked = [
            here.clone(),
            here.clone().session("other"),
            here.clone().agent("other").session("other"),
            MemoryScope::new("ada").session("other"),
        ];
        for (scope, expected) in asked.into_iter().zip(expected) {
            let found = !recall(&memory, scope.clone(), "harbour").await.is_empty();
            assert_eq!(found, expected, "{level:?} from {scope}");
        }
        let mut bob = here.clone();
        bob.user = "bob".into();
        assert!(recall(&memory, bob, "harbour").await.is_empty());
    }
}

#[tokio::test]
async fn what_stands_in_the_conversation_is_not_recalled_into_it() {
    let memory = episodic();
    memory.capture(&turn(&ada("s"), 0, &["I live in Lisbon."]), &never()).await.unwrap();
    let mut query = RecallQuery::new(ada("s"), "Where do I live?");
    query.recent = vec![Arc::new(Message::from("I live in Lisbon."))].into();
    assert!(memory.recall(&query, &never()).await.unwrap().memories.is_empty());
    // The message was compacted away.
    query.recent = Messages::default();
    assert_eq!(memory.recall(&query, &never()).await.unwrap().memories.len(), 1);
}

#[tokio::test]
async fn what_is_forgotten_does_not_come_back_not_even_told_again_or_from_a_hot_answer() {
    let store: Arc<InMemoryStore> = Arc::default();
    let (memory, elsewhere) = (over(&store), over(&store));
    let told = turn(&ada("s"), 0, &["My password is swordfish."]);
    memory.capture(&told, &never()).await.unwrap();
    assert_eq!(recall(&memory, ada("t"), "password").await.len(), 1);
    // Another process forgets, unknown to this one.
    let source = MemorySource::message("s", "s-0");
    let forget = MemoryForget::source(MemoryScope::new("ada"), source);
    let forgotten = elsewhere.forget(&forget).await.unwrap();
    assert_eq!((forgotten.removed, forgotten.remaining), (1, 0));
    assert!(recall(&memory, ada("t"), "password").await.is_empty());
    memory.capture(&told, &never()).await.unwrap();
    assert!(recall(&memory, ada("t"), "password").await.is_empty());
}

#[tokio::test]
async fn what_is_captured_is_found_at_once_however_hot_the_question() {
    let memory = episodic();
    assert!(recall(&memory, ada("t"), "train").await.is_empty());
    memory.capture(&turn(&ada("s"), 0, &["The train leaves at nine."]), &never()).await.unwrap();
    assert_eq!(recall(&memory, ada("t"), "train").await.len(), 1);
}

#[tokio::test]
async fn meaning_finds_what_words_do_not_and_is_asked_once_for_a_question() {
    let topics = Arc::new(TopicEmbedder::default());
    let memory = episodic().embedder(Arc::clone(&topics) as _);
    let said = ["My physician moved to Porto.", "Ok.", "The railway museum was closed.", "A pity."];
    memory.capture(&turn(&ada("s"), 0, &said), &never()).await.unwrap();
    let before = topics.asked.load(Ordering::SeqCst);
    for _ in 0..3 {
        assert_eq!(recall(&memory, ada("t"), "Who is my doctor?").await[0], said[0]);
    }
    assert_eq!(topics.asked.load(Ordering::SeqCst) - before, 1);
}

#[tokio::test]
async fn an_embedder_that_is_down_costs_nothing_but_meaning() {
    let topics = Arc::new(TopicEmbedder { fails: true, ..TopicEmbedder::default() });
    let memory = episodic().embedder(topics);
    memory.capture(&turn(&ada("s"), 0, &["My doctor is Dr Reis."]), &never()).await.unwrap();
    let recalled = memory.recall(&RecallQuery::new(ada("t"), "doctor"), &never()).await.unwrap();
    assert_eq!(recalled.memories.len(), 1);
    assert_eq!(recalled.diagnostics[0].code.as_str(), "memory_provider_error");
}

#[tokio::test]
async fn a_recall_keeps_within_its_tokens_and_says_a_thing_once() {
    let memory = episodic();
    for at in 0..20 {
        let said = format!(
            "Trip {at}: the hotel in town number {at} had a garden with {at} trees and a pool."
        );
        memory
            .capture(&turn(&ada("s"), at * 2, &[&said, "The hotel is fine."]), &never())
            .await
            .unwrap();
    }
    let few = RecallQuery::new(ada("t"), "hotel garden").max_tokens(200);
    let few = memory.recall(&few, &never()).await.unwrap().memories;
    assert!((1..=4).contains(&few.len()), "{}", few.len());
    let all = recall(&memory, ada("t"), "Which hotel is fine?").await;
    assert_eq!(all.iter().filter(|text| *text == "The hotel is fine.").count(), 1);
    assert_eq!(all.len(), 8);
}

#[tokio::test]
async fn a_turn_without_a_session_and_a_store_without_memories_are_refused() {
    let told = CapturedTurn::new(MemoryScope::new("ada"), "t", minute(0), Vec::new());
    assert_eq!(
        episodic().capture(&told, &never()).await.unwrap_err().kind(),
        ErrorKind::Unsupported
    );
    let error = Episodic::new(Arc::new(Forgetful(InMemoryStore::default()))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("keeps no memories"), "{error}");
}

/// A store without memories.
#[derive(Debug)]
struct Forgetful(InMemoryStore);

impl Store for Forgetful {
    fn info(&self) -> StoreInfo {
        StoreInfo::new("forgetful", Durability::Process, false)
    }

    fn history(&self) -> &dyn HistoryStore {
        self.0.history()
    }

    fn fragments(&self) -> &dyn FragmentStore {
        self.0.fragments()
    }
}

/// Scopes that differ in one or several names.
fn scope() -> impl Strategy<Value = MemoryScope> {
    let name = || proptest::option::of("[ab]");
    ("[xy]", name(), name(), "[st]").prop_map(|(user, project, agent, session)| {
        let mut scope = MemoryScope::new(user);
        scope.project = project;
        scope.agent = agent;
        scope.session(session)
    })
}

fn level() -> impl Strategy<Value = ScopeLevel> {
    prop_oneof![
        Just(ScopeLevel::User),
        Just(ScopeLevel::Project),
        Just(ScopeLevel::Agent),
        Just(ScopeLevel::Session)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn a_recall_has_exactly_what_is_visible_and_not_forgotten(
        told in proptest::collection::vec((scope(), level()), 1..12),
        forgotten in proptest::collection::vec(scope(), 0..3),
        asked in proptest::collection::vec(scope(), 1..6),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store: Arc<InMemoryStore> = Arc::default();
            let mut filed = Vec::new();
            for (at, (scope, level)) in told.iter().enumerate() {
                let memory = over(&store).scope_level(*level);
                let said = format!("common word{at}");
                memory.capture(&turn(scope, at * 2, &[&said]), &never()).await.unwrap();
                filed.push((level.of(scope), said));
            }
            let memory = over(&store).limit(100);
            for scope in &forgotten {
                let expected = filed.iter().filter(|(filed, _)| scope.covers(filed)).count();
                let done = memory.forget(&MemoryForget::Scope(scope.clone())).await.unwrap();
                assert_eq!((done.removed, done.remaining), (expected as u64, 0));
                filed.retain(|(filed, _)| !scope.covers(filed));
            }
            for scope in asked {
                let found: BTreeSet<String> = recall(&memory, scope.clone(),
                    "common").await.into_iter().collect();
                let visible = filed.iter().filter(|(filed, _)| scope.sees(filed)).map(|(_,
                    said)| said.clone());
                assert_eq!(found, visible.collect(), "from {scope}");
            }
        });
    }
}
