//! Memories: writing, finding and forgetting give the same results as the reference store.

use context_core::memory::{
    MemoryForget, MemoryRecord, MemoryScope, MemorySource, MemoryVector, StoredMemory,
};
use context_core::store::{
    Cursor, MemoriesFound, MemoryExpected, MemoryFind, MemoryList, MemoryOutcome,
    MemoryRecordStore, MemoryWrite,
};
use context_core::{Metadata, Store, Timestamp, UserId};
use context_store_inmem::InMemoryStore;
use context_store_postgres::PostgresStore;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::fixture::{StoreFixture, nothing_is_wrong};

/// A record to write.
#[derive(Clone, Debug)]
struct Draft {
    scope: u8,
    id: u8,
    kind: u8,
    words: Vec<u8>,
    vector: Option<Vec<i8>>,
    expected: u8,
    source: Option<(u8, Option<u8>)>,
    key: Option<u8>,
}

/// The next step.
#[derive(Clone, Debug)]
enum Step {
    Write(Vec<Draft>),
    ForgetIds(u8, Vec<u8>),
    ForgetSource(u8, u8, Option<u8>),
    ForgetScope(u8),
    Find {
        scopes: Vec<u8>,
        kinds: Vec<u8>,
        words: Vec<u8>,
        vector: Option<Vec<i8>>,
        limit: usize,
    },
    List {
        scopes: Vec<u8>,
        kinds: Vec<u8>,
        key: Option<u8>,
        source: Option<(u8, Option<u8>)>,
        limit: usize,
    },
    Look {
        scope: u8,
        ids: Vec<u8>,
        each_side: usize,
    },
}

const SCOPES: u8 = 7;
const KINDS: [&str; 3] = ["episode", "fa\0ct", "block"];
const WORDS: [&str; 7] = ["lisbon", "to", "é#$1", "hotel", "東", "'{},", "tickets"];
/// A word that occurs nowhere.
const NOWHERE: &str = "nowhere";

fn scope(n: u8) -> MemoryScope {
    let ada = MemoryScope::new("us\0er");
    match n % SCOPES {
        0 => ada,
        1 => ada.session("s\0"),
        2 => ada.project("p").session("s\0"),
        3 => ada.project("p"),
        4 => ada.agent("p"),
        5 => ada.project("\"p\"").agent("a").session("s"),
        _ => MemoryScope::new("bob"),
    }
}

fn source((session, message): (u8, Option<u8>)) -> MemorySource {
    let session = format!("session\0{}", session % 2);
    match message {
        None => MemorySource::session(session),
        Some(message) => MemorySource::message(session, format!("m{}", message % 3)),
    }
}

fn vector(numbers: &[i8]) -> MemoryVector {
    let values: Vec<f32> = numbers.iter().map(|number| f32::from(*number) / 4.0).collect();
    MemoryVector::new(if numbers.len() == 2 { "two" } else { "other" }, values)
}

fn id(n: u8) -> String {
    format!("m\0{}", n % 9)
}

fn drafted(draft: &Draft, at: i64) -> MemoryWrite {
    let words: Vec<_> =
        draft.words.iter().map(|word| WORDS[usize::from(*word) % WORDS.len()]).collect();
    let words = words.join(if at % 2 == 0 { " " } else { "  " });
    let kind = KINDS[usize::from(draft.kind) % KINDS.len()];
    let at = Timestamp::from_micros(at);
    let mut record =
        MemoryRecord::new(scope(draft.scope), id(draft.id), kind, at, format!("{words}\0"));
    record.source = draft.source.map(source);
    record.key = draft.key.map(|key| format!("key\0{}", key % 2));
    record.data = Metadata::default().with("n\0", 15);
    let mut write = MemoryWrite::new(record, words).expected(match draft.expected {
        0..3 => MemoryExpected::Absent,
        3..6 => MemoryExpected::Anything,
        version => MemoryExpected::Version(u64::from(version - 6)),
    });
    write.vector = draft.vector.as_deref().map(vector);
    write
}

fn vectors() -> impl Strategy<Value = Option<Vec<i8>>> {
    let two = prop::collection::vec(-3..4_i8, 2);
    prop::option::of(prop_oneof![4 => two, 1 => prop::collection::vec(-3..4_i8, 3)])
}

fn drafts() -> impl Strategy<Value = Draft> {
    let source = prop::option::weighted(0.8, (0..2_u8, prop::option::of(0..3_u8)));
    let key = prop::option::weighted(0.4, 0..2_u8);
    let words = prop::collection::vec(0..7_u8, 0..9);
    (0..SCOPES, 0..9_u8, 0..3_u8, words, vectors(), 0..9_u8, source, key).prop_map(
        |(scope, id, kind, words, vector, expected, source, key)| Draft {
            scope: if scope == 6 { 0 } else { scope },
            id,
            kind,
            words,
            vector,
            expected,
            source,
            key,
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let some = |of: u8, most: usize| prop::collection::vec(0..of, 0..most);
    let source = || prop::option::weighted(0.3, (0..2_u8, prop::option::of(0..3_u8)));
    let step = prop_oneof![
        6 => prop::collection::vec(drafts(), 1..12).prop_map(Step::Write),
        2 => (0..SCOPES, some(9, 4)).prop_map(|(scope, ids)| Step::ForgetIds(scope, ids)),
        1 => (0..SCOPES, 0..2_u8,
            prop::option::of(0..3_u8)).prop_map(|(s, a, b)| Step::ForgetSource(s, a, b)),
        1 => (0..SCOPES).prop_map(Step::ForgetScope),
        6 => (prop::collection::vec(0..6_u8, 1..6), some(3, 3), some(8, 8), vectors(),
            1..8_usize).prop_map(
            |(scopes, kinds, words, vector, limit)| Step::Find { scopes, kinds, words, vector,
                limit }
        ),
        2 => (prop::collection::vec(0..6_u8, 1..6), some(3, 3), prop::option::of(0..2_u8),
            source(), 1..6_usize)
            .prop_map(|(scopes, kinds, key, source, limit)| Step::List { scopes, kinds, key,
                source, limit }),
        2 => (0..SCOPES, some(9, 5), 0..4_usize)
            .prop_map(|(scope, ids, each_side)| Step::Look { scope, ids, each_side }),
    ];
    prop::collection::vec(step, 1..30)
}

/// Returns a record without its place, which differs between stores.
fn plain(stored: &StoredMemory) -> (MemoryRecord, u64) {
    (stored.record.clone(), stored.version)
}

fn same_found([ours, theirs]: [MemoriesFound; 2]) {
    assert_eq!(ours.bm25, theirs.bm25);
    let plain = |found: &MemoriesFound| {
        found
            .hits
            .iter()
            .map(|hit| (plain(&hit.stored), hit.score, hit.similarity))
            .collect::<Vec<_>>()
    };
    assert_eq!(plain(&ours), plain(&theirs));
}

async fn write(stores: [&dyn MemoryRecordStore; 2], mut drafts: Vec<Draft>, at: i64) {
    let mut seen = std::collections::HashSet::new();
    drafts.retain(|draft| seen.insert((draft.scope, draft.id)));
    let mut writes: Vec<_> = drafts.iter().map(|draft| drafted(draft, at)).collect();
    let [ours, theirs] = stores.map(|store| store.write_memories(&writes));
    let outcomes = [ours.await.unwrap(), theirs.await.unwrap()];
    match outcomes {
        [MemoryOutcome::Applied(ours), MemoryOutcome::Applied(theirs)] => assert_eq!(ours, theirs),
        [
            MemoryOutcome::Conflict { write, stored },
            MemoryOutcome::Conflict { write: theirs, stored: their_stored },
        ] => {
            assert_eq!(write, theirs);
            assert_eq!(stored.as_deref().map(plain), their_stored.as_deref().map(plain));
            // The conflicting write is left out, and the others are written.
            writes.remove(write);
            if !writes.is_empty() {
                let [ours, theirs] = stores.map(|store| store.write_memories(&writes));
                let (ours, theirs) = (ours.await.unwrap(), theirs.await.unwrap());
                assert_eq!(
                    matches!(ours, MemoryOutcome::Applied(_)),
                    matches!(theirs, MemoryOutcome::Applied(_))
                );
            }
        }
        other => panic!("{other:?}"),
    }
    // Repeated, as after a lost reply.
    let [ours, theirs] = stores.map(|store| store.write_memories(&writes[..writes.len().min(1)]));
    if !writes.is_empty() {
        let (ours, theirs) = (ours.await.unwrap(), theirs.await.unwrap());
        assert_eq!(
            matches!(ours, MemoryOutcome::Applied(_)),
            matches!(theirs, MemoryOutcome::Applied(_))
        );
    }
}

async fn pages(store: &dyn MemoryRecordStore, list: &MemoryList) -> Vec<(MemoryRecord, u64)> {
    let (mut all, mut after, mut last) = (Vec::new(), None::<Cursor>, u64::MAX);
    loop {
        let page = store.list_memories(&list.clone().after(after)).await.unwrap();
        assert!(page.items.len() <= list.limit);
        for stored in &page.items {
            assert!(stored.place < last);
            last = stored.place;
            all.push(plain(stored));
        }
        let Some(next) = page.next else { return all };
        after = Some(next);
    }
}

async fn take(stores: [&dyn MemoryRecordStore; 2], step: &Step, at: i64) {
    let kinds_of =
        |kinds: &[u8]| kinds.iter().map(|kind| KINDS[usize::from(*kind)].to_owned()).collect();
    match step {
        Step::Write(drafts) => write(stores, drafts.clone(), at).await,
        Step::ForgetIds(of, ids) => {
            let forget = MemoryForget::ids(scope(*of), ids.iter().map(|n| id(*n)));
            forgets(stores, &forget).await;
        }
        Step::ForgetSource(of, session, message) => {
            forgets(stores, &MemoryForget::source(scope(*of), source((*session, *message)))).await;
        }
        Step::ForgetScope(of) => forgets(stores, &MemoryForget::Scope(scope(*of))).await,
        Step::Find { scopes, kinds, words, vector: meant, limit } => {
            let mut wanted: Vec<String> = words
                .iter()
                .map(|word| WORDS.get(usize::from(*word)).copied().unwrap_or(NOWHERE).to_owned())
                .collect();
            if at % 3 > 0 {
                wanted.sort();
                wanted.dedup();
            }
            let mut find =
                MemoryFind::new(scopes.iter().map(|n| scope(*n)).collect(), wanted, *limit);
            find.kinds = kinds_of(kinds);
            find.vector = meant.as_deref().map(vector);
            let [ours, theirs] = stores.map(|store| store.find_memories(&find));
            same_found([ours.await.unwrap(), theirs.await.unwrap()]);
        }
        Step::List { scopes, kinds, key, source: from, limit } => {
            let mut list = MemoryList::new(scopes.iter().map(|n| scope(*n)).collect(), *limit);
            list.kinds = kinds_of(kinds);
            list.key = key.map(|key| format!("key\0{key}"));
            list.source = from.map(source);
            assert_eq!(pages(stores[0], &list).await, pages(stores[1], &list).await);
        }
        Step::Look { scope: of, ids, each_side } => {
            let (scope, ids): (_, Vec<_>) =
                (scope(*of), ids.iter().map(|n| id(*n).into()).collect());
            let [ours, theirs] = stores.map(|store| store.memories(&scope, &ids));
            let plain_all = |all: Vec<StoredMemory>| all.iter().map(plain).collect::<Vec<_>>();
            assert_eq!(plain_all(ours.await.unwrap()), plain_all(theirs.await.unwrap()));
            let [ours, theirs] =
                stores.map(|store| store.memory_neighbours(&scope, &ids, *each_side));
            let plain_each = |all: Vec<Vec<_>>| all.into_iter().map(plain_all).collect::<Vec<_>>();
            assert_eq!(plain_each(ours.await.unwrap()), plain_each(theirs.await.unwrap()));
        }
    }
}

async fn forgets(stores: [&dyn MemoryRecordStore; 2], forget: &MemoryForget) {
    let [ours, theirs] = stores.map(|store| store.forget_memories(forget));
    assert_eq!(ours.await.unwrap(), theirs.await.unwrap());
}

async fn stats_are_the_same(stores: [&dyn MemoryRecordStore; 2], user: &UserId) {
    let mut after = None;
    loop {
        let [ours, theirs] = stores.map(|store| store.memory_stats(user, 2, after.as_ref()));
        let (ours, theirs) = (ours.await.unwrap(), theirs.await.unwrap());
        assert_eq!(ours.items, theirs.items);
        assert_eq!(ours.next, theirs.next);
        if ours.next.is_none() {
            return;
        }
        after = ours.next;
    }
}

/// Runs any steps on a store and on the reference.
fn whatever_is_done_the_reference_does_the_same(
    fixture: StoreFixture,
    open: impl AsyncFnOnce(&StoreFixture) -> PostgresStore,
    cases: u32,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let store = runtime.block_on(open(&fixture));
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&steps(), |steps| {
        let reference = InMemoryStore::default();
        runtime.block_on(async {
            let stores = [store.memories().unwrap(), reference.memories().unwrap()];
            for user in ["us\0er", "bob"] {
                let forget = MemoryForget::Scope(MemoryScope::new(user));
                let _before = stores[0].forget_memories(&forget).await.unwrap();
            }
            for (at, step) in (1..).zip(&steps) {
                take(stores, step, at).await;
            }
            for user in ["us\0er", "bob"] {
                stats_are_the_same(stores, &user.into()).await;
            }
            let [ours, theirs] =
                [&store as &dyn Store, &reference].map(|store| store.maintenance().unwrap());
            let (ours, theirs) =
                (ours.users(9, None).await.unwrap(), theirs.users(9, None).await.unwrap());
            assert_eq!(ours.items, theirs.items);
            nothing_is_wrong(&store).await;
        });
        Ok(())
    });
    runtime.block_on(fixture.drop());
    result.unwrap();
}

pub(crate) fn what_is_remembered_is_what_the_reference_remembers() {
    let fixture = StoreFixture::new();
    whatever_is_done_the_reference_does_the_same(
        fixture,
        async |fixture| fixture.open().await,
        cases(),
    );
}

pub(crate) fn with_pgvector_it_is_the_same() {
    let fixture = StoreFixture::with_pgvector();
    let open = async |fixture: &StoreFixture| {
        let store = fixture.open().await;
        assert!(store.pgvector(), "{store:?}");
        store
    };
    whatever_is_done_the_reference_does_the_same(fixture, open, cases());
}

/// The number of cases, which can be raised by hand.
fn cases() -> u32 {
    std::env::var("CONTEXT_TEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(48)
}
