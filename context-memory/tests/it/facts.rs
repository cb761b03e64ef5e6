//! Facts: derived from statements, independent of their order.

use std::sync::Arc;

use context_conformance::FixedClock;
use context_core::base::MemoryId;
use context_core::memory::{MemoryForget, MemoryScope, MemorySource, RecallQuery};
use context_core::{CancelSignal, ErrorKind, MemoryProvider, Store, Timestamp};
use context_memory::{Cardinality, Fact, Facts, ScopeLevel, Statement, StatementOutcome};
use context_simulator::Random;
use context_store_inmem::InMemoryStore;
use proptest::prelude::*;

use crate::blocks::scopes;

const DAY: i64 = 86_400_000_000;
/// 2026-01-01.
const NEW_YEAR: i64 = 20_454 * DAY;

pub(crate) fn day(day: i64) -> Timestamp {
    Timestamp::from_micros(NEW_YEAR + day * DAY)
}

pub(crate) fn ada() -> MemoryScope {
    MemoryScope::new("ada")
}

pub(crate) fn facts(store: &Arc<InMemoryStore>) -> Facts {
    Facts::new(Arc::clone(store) as _, Arc::new(FixedClock::at(day(300).as_micros()))).unwrap()
}

fn source(message: &str) -> MemorySource {
    MemorySource::message("s", message)
}

fn works(object: &str, said: i64) -> Statement {
    Statement::new("Ada", "works at", object, Cardinality::One, day(said))
        .source(source(&format!("{object}-{said}")))
}

pub(crate) fn shown(facts: &[Fact]) -> Vec<String> {
    facts.iter().map(Fact::text).collect()
}

pub(crate) async fn recalled(facts: &Facts, query: RecallQuery) -> Vec<String> {
    let recalled = facts.recall(&query, &CancelSignal::never()).await.unwrap();
    recalled.memories.into_iter().map(|memory| memory.text).collect()
}

#[tokio::test]
async fn a_later_value_ends_the_earlier_one_and_the_earlier_one_stays() {
    let facts = facts(&Arc::new(InMemoryStore::default()));
    facts.state(&ada(), &[works("Initech", 0).from(day(0))]).await.unwrap();
    facts.state(&ada(), &[works("Globex", 90).from(day(59))]).await.unwrap();
    let history = facts.about(&ada(), "ADA", Some("Works at")).await.unwrap();
    let lines = [
        "Ada works at Initech (since 2026-01-01, until 2026-03-01)",
        "Ada works at Globex (since 2026-03-01)",
    ];
    assert_eq!(shown(&history), lines);
    assert_eq!(history[0].superseded_by.as_ref(), Some(&history[1].statements[0].1));
    assert_eq!((history[0].recorded_at, history[1].said_at), (day(300), day(90)));
    // Queries for a time do not depend on when a statement was recorded.
    let user = ada();
    let as_of = |at| facts.as_of(&user, "Ada", None, day(at));
    assert_eq!(as_of(-1).await.unwrap(), []);
    assert_eq!(as_of(58).await.unwrap(), history[..1]);
    assert_eq!(as_of(59).await.unwrap(), history[1..]);
    // Recall returns what is true.
    let query = RecallQuery::new(ada(), "Where does Ada work?");
    assert_eq!(recalled(&facts, query.clone()).await, lines[1..]);
    assert_eq!(recalled(&facts, query.clone().at(day(10))).await, lines[..1]);
    assert!(recalled(&facts, query.at(day(-10))).await.is_empty());
    // A statement that arrives late is placed correctly.
    facts.state(&ada(), &[works("Hooli", 100).from(day(31))]).await.unwrap();
    let history = facts.about(&ada(), "Ada", None).await.unwrap();
    assert_eq!(
        shown(&history),
        [
            "Ada works at Initech (since 2026-01-01, until 2026-02-01)",
            "Ada works at Hooli (since 2026-02-01, until 2026-03-01)",
            "Ada works at Globex (since 2026-03-01)",
        ]
    );
}

#[tokio::test]
async fn saying_it_again_adds_a_source() {
    let facts = facts(&Arc::new(InMemoryStore::default()));
    let first = works("Initech", 10);
    let stated = facts.state(&ada(), &[first.clone(), first.clone()]).await.unwrap();
    assert!(matches!(&stated[..], [StatementOutcome::Stored(_), StatementOutcome::Stored(_)]));
    let stated = facts.state(&ada(), std::slice::from_ref(&first)).await.unwrap();
    assert!(matches!(&stated[..], [StatementOutcome::Known(_)]));
    facts.state(&ada(), &[works("INITECH", 20)]).await.unwrap();
    let history = facts.about(&ada(), "Ada", None).await.unwrap();
    assert_eq!(shown(&history), ["Ada works at Initech (as of 2026-01-11)"]);
    assert_eq!(history[0].sources, [source("Initech-10"), source("INITECH-20")]);
    let memories = facts
        .recall(&RecallQuery::new(ada(), "Initech"), &CancelSignal::never())
        .await
        .unwrap()
        .memories;
    assert_eq!(memories.len(), 1);
    let memory = &memories[0];
    assert_eq!(
        (memory.kind.as_str(), memory.at, memory.scope.as_ref()),
        ("fact", Some(day(20)), Some(&ada()))
    );
    assert_eq!(memory.source, Some(source("INITECH-20")));
}

#[tokio::test]
async fn a_relation_that_holds_many_keeps_them() {
    let likes =
        |object: &str, said| Statement::new("Ada", "likes", object, Cardinality::Many, day(said));
    let store = Arc::new(InMemoryStore::default());
    let facts_of_many = facts(&store);
    facts_of_many
        .state(&ada(), &[likes("tea", 0), likes("rum", 1), likes("tea", 5).until(day(9))])
        .await
        .unwrap();
    assert_eq!(
        shown(&facts_of_many.about(&ada(), "Ada", None).await.unwrap()),
        ["Ada likes tea (as of 2026-01-01, until 2026-01-10)", "Ada likes rum (as of 2026-01-02)"]
    );
    // A setting of the application takes precedence.
    let facts_of_one = facts(&store).relation("Likes", Cardinality::One);
    assert_eq!(
        shown(&facts_of_one.about(&ada(), "Ada", None).await.unwrap()),
        ["Ada likes tea (as of 2026-01-01, until 2026-01-02)", "Ada likes rum (as of 2026-01-02)"]
    );
}

#[tokio::test]
async fn what_ended_may_begin_again_and_an_end_alone_says_only_that() {
    let facts = facts(&Arc::new(InMemoryStore::default()));
    let said = [
        works("Initech", 0),
        works("Initech", 20).until(day(15)),
        works("Initech", 30),
        works("Hooli", 5).until(day(3)),
    ];
    facts.state(&ada(), &said).await.unwrap();
    assert_eq!(
        shown(&facts.about(&ada(), "Ada", None).await.unwrap()),
        [
            "Ada works at Initech (as of 2026-01-01, until 2026-01-16)",
            "Ada works at Hooli (until 2026-01-04)",
            "Ada works at Initech (as of 2026-01-31)",
        ]
    );
    for (at, true_then) in [(2, 1), (15, 0), (29, 0), (30, 1)] {
        assert_eq!(facts.as_of(&ada(), "Ada", None, day(at)).await.unwrap().len(), true_then);
    }
}

#[tokio::test]
async fn forgetting_a_message_forgets_what_it_said_and_no_more() {
    let store = Arc::new(InMemoryStore::default());
    let facts = facts(&store);
    let said = [works("Initech", 0), works("Initech", 10), works("Globex", 20)];
    facts.state(&ada(), &said).await.unwrap();
    let forget = |message: &str| MemoryForget::source(ada(), source(message));
    let forgotten = facts.forget(&forget("Globex-20")).await.unwrap();
    assert_eq!((forgotten.removed, forgotten.remaining), (1, 0));
    // Not even the end of the earlier fact remains.
    let history = facts.about(&ada(), "Ada", None).await.unwrap();
    assert_eq!(shown(&history), ["Ada works at Initech (as of 2026-01-01)"]);
    assert_eq!(history[0].superseded_by, None);
    let forgotten = facts.forget(&forget("Initech-0")).await.unwrap();
    assert_eq!((forgotten.removed, forgotten.remaining), (1, 0));
    let history = facts.about(&ada(), "Ada", None).await.unwrap();
    assert_eq!(history[0].sources, [source("Initech-10")]);
    // The statement stays forgotten, whoever repeats it for that message.
    let stated = facts.state(&ada(), &said).await.unwrap();
    assert!(matches!(
        &stated[..],
        [StatementOutcome::Forgotten, StatementOutcome::Known(_), StatementOutcome::Forgotten]
    ));
    // Forgetting by id removes the whole fact.
    facts.state(&ada(), &[works("Initech", 40)]).await.unwrap();
    let memories = facts
        .recall(&RecallQuery::new(ada(), "Initech"), &CancelSignal::never())
        .await
        .unwrap()
        .memories;
    let id = memories[0].id.clone().unwrap();
    let forgotten = facts.forget(&MemoryForget::ids(ada(), [id])).await.unwrap();
    assert_eq!((forgotten.removed, forgotten.remaining), (2, 0));
    assert_eq!(facts.about(&ada(), "Ada", None).await.unwrap(), []);
    let left = store.memories().unwrap().memory_stats(&"ada".into(), 10, None).await.unwrap();
    assert!(left.items.is_empty());
}

#[tokio::test]
async fn bad_statements_are_refused_before_anything_is_written() {
    let store = Arc::new(InMemoryStore::default());
    let facts = facts(&store);
    let good = works("Initech", 0);
    for bad in [
        Statement::new("", "is", "b", Cardinality::One, day(0)),
        Statement::new("a", "…", "b", Cardinality::One, day(0)),
        Statement::new("a", "is", "b\nc", Cardinality::One, day(0)),
        Statement::new("a", "is", "x".repeat(201), Cardinality::One, day(0)),
        works("x", 0).from(day(1)).until(day(1)),
        works("x", 0).source(MemorySource::message("s", "")),
    ] {
        let refused = facts.state(&ada(), &[good.clone(), bad]).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid);
    }
    assert!(facts.state(&ada(), &[]).await.is_err());
    assert!(facts.about(&ada(), " ", None).await.is_err());
    let in_session = facts.clone().scope_level(ScopeLevel::Session);
    assert!(in_session.state(&ada(), &[good]).await.is_err());
    let stats = store.memories().unwrap().memory_stats(&"ada".into(), 10, None).await.unwrap();
    assert!(stats.items.is_empty());
}

#[tokio::test]
async fn nothing_shows_what_a_fact_says() {
    let facts = facts(&Arc::new(InMemoryStore::default()));
    let said = Statement::new("hush", "hush", "hush", Cardinality::One, day(0));
    facts.state(&ada(), std::slice::from_ref(&said)).await.unwrap();
    let history = facts.about(&ada(), "hush", None).await.unwrap();
    let refused = facts
        .state(&ada(), &[Statement::new("hush", "hu\nsh", "", Cardinality::One, day(0))])
        .await
        .unwrap_err();
    let shown = format!("{said:?} {history:?} {facts:?} {refused:?}");
    assert!(!shown.contains("hu"), "{shown}");
}

/// Statements of few objects and times, so that they overlap.
fn statements() -> impl Strategy<Value = Vec<Statement>> {
    let time = || proptest::option::of(0..8_i64);
    let said = (0..4_usize, time(), time(), 0..8_i64, any::<bool>(), 0..30_u32);
    proptest::collection::vec(said, 1..14).prop_map(|said| {
        let statement = |(object, from, until, at, many, message): (
            usize,
            Option<i64>,
            Option<i64>,
            i64,
            bool,
            u32,
        )| {
            let cardinality = if many { Cardinality::Many } else { Cardinality::One };
            let object = ["A", "a", "B", "C"][object];
            let mut statement = Statement::new("x", "is", object, cardinality, day(at));
            statement.from = from.map(day);
            statement.until =
                until.map(day).filter(|until| statement.from.is_none_or(|from| from < *until));
            // A message has one time.
            statement.source(source(&format!("{message}-{at}")))
        };
        said.into_iter().map(statement).collect()
    })
}

async fn told(order: &[Statement], rule: Option<Cardinality>) -> (Arc<InMemoryStore>, Facts) {
    let store = Arc::new(InMemoryStore::default());
    let mut facts = facts(&store);
    if let Some(rule) = rule {
        facts = facts.relation("is", rule);
    }
    for statement in order {
        facts.state(&ada(), std::slice::from_ref(statement)).await.unwrap();
    }
    (store, facts)
}

fn unique(statements: Vec<Statement>) -> Vec<Statement> {
    // Of two statements that differ only in spelling and cardinality the first is kept, which does
    // not depend on the order tested here.
    let mut kept: Vec<Statement> = Vec::new();
    for statement in statements {
        let same = |there: &Statement| {
            there.object.eq_ignore_ascii_case(&statement.object)
                && (there.from, there.until, &there.source)
                    == (statement.from, statement.until, &statement.source)
        };
        if !kept.iter().any(same) {
            kept.push(statement);
        }
    }
    kept
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_arrival_gives_the_same_history(
        said in statements().prop_map(unique), seed in any::<u64>(),
            rule in proptest::option::of(prop_oneof![
                Just(Cardinality::One),
                Just(Cardinality::Many),
            ]),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (_, in_order) = told(&said, rule).await;
            let expected = in_order.about(&ada(), "x", None).await.unwrap();
            let mut mixed = said.clone();
            let mut random = Random::new(seed);
            for at in (1..mixed.len()).rev() {
                mixed.swap(at, random.below(at + 1));
            }
            let (_, other) = told(&mixed, rule).await;
            assert_eq!(other.about(&ada(), "x", None).await.unwrap(), expected);

            // Every statement contributes to a fact, and a relation that holds one value has one at
            // each time.
            let sources: Vec<_> = expected.iter().flat_map(|fact| &fact.statements).collect();
            assert!(said.len() <= sources.len());
            let is_one = expected[0].cardinality == Cardinality::One;
            for at in 0..10 {
                let now: Vec<_> = expected.iter().filter(|fact| fact.holds_at(day(at))).collect();
                assert!(!is_one || now.len() <= 1);
                let mut objects: Vec<_> =
                    now.iter().map(|fact| fact.object.to_lowercase()).collect();
                objects.sort();
                objects.dedup();
                assert_eq!(objects.len(), now.len());
            }
        });
    }

    #[test]
    fn what_is_forgotten_is_as_if_it_had_never_been_said(said in statements().prop_map(unique),
        pick in any::<prop::sample::Index>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let gone = said[pick.index(said.len())].source.clone().unwrap();
            let (store, facts) = told(&said, None).await;
            let forgotten = facts.forget(&MemoryForget::source(ada(), gone.clone())).await.unwrap();
            assert_eq!(forgotten.remaining, 0);
            let mut left = said.clone();
            left.retain(|statement| statement.source.as_ref() != Some(&gone));
            assert_eq!(forgotten.removed as usize, said.len() - left.len());
            let (_, never) = told(&left, None).await;
            let expected = never.about(&ada(), "x", None).await.unwrap();
            assert_eq!(facts.about(&ada(), "x", None).await.unwrap(), expected);
            // Repeating the statements brings nothing back.
            for statement in &said {
                facts.state(&ada(), std::slice::from_ref(statement)).await.unwrap();
            }
            assert_eq!(facts.about(&ada(), "x", None).await.unwrap(), expected);
            // Forgetting the user removes everything.
            let all = facts.forget(&MemoryForget::Scope(ada())).await.unwrap();
            assert_eq!((all.removed as usize, all.remaining), (left.len(), 0));
            assert!(store.memories().unwrap().memory_stats(&"ada".into(), 9,
                None).await.unwrap().items.is_empty());
        });
    }

    #[test]
    fn facts_are_seen_where_their_scope_is_and_nowhere_else(filed in scopes(), asked in scopes()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let level = match filed.session {
                Some(_) => ScopeLevel::Session,
                None => ScopeLevel::Agent,
            };
            let facts = facts(&Arc::new(InMemoryStore::default())).scope_level(level);
            facts.state(&filed, &[works("Initech", 0)]).await.unwrap();
            let is_seen = asked.sees(&filed);
            assert_eq!(recalled(&facts,
                RecallQuery::new(asked.clone(), "works Initech")).await.len(),
                usize::from(is_seen));
            assert_eq!(facts.about(&asked, "Ada", None).await.unwrap().len(), usize::from(is_seen));
            assert_eq!(facts.about(&asked, "Ada", Some("works at")).await.unwrap().len(),
                usize::from(is_seen));
        });
    }
}

#[tokio::test]
async fn a_narrower_scope_supersedes_for_those_who_see_both() {
    let facts = facts(&Arc::new(InMemoryStore::default()));
    let (user, project) = (ada(), ada().project("p"));
    facts.state(&user, &[works("Initech", 0)]).await.unwrap();
    facts.state(&project, &[works("Globex", 10)]).await.unwrap();
    let now = |scope: MemoryScope| {
        let facts = facts.clone();
        async move { shown(&facts.as_of(&scope, "Ada", None, day(20)).await.unwrap()) }
    };
    assert_eq!(now(project).await, ["Ada works at Globex (as of 2026-01-11)"]);
    assert_eq!(now(user).await, ["Ada works at Initech (as of 2026-01-01)"]);
    assert_eq!(
        facts.forget(&MemoryForget::ids(ada(), [MemoryId::from("none")])).await.unwrap().removed,
        0
    );
}
