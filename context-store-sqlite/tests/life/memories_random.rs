//! Random operations on memories, compared with the reference store after every step.

use context_core::base::MemoryId;
use context_core::memory::{
    MemoryForget, MemoryRecord, MemoryScope, MemorySource, MemoryVector, StoredMemory,
};
use context_core::store::{
    MemoryExpected, MemoryFind, MemoryList, MemoryRecordStore, MemoryWrite, Page,
};
use context_core::{Metadata, Result, Store, Timestamp};
use context_store_inmem::InMemoryStore;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::store_fixture::StoreFixture;

#[derive(Clone, Debug)]
enum Step {
    Write {
        user: Index,
        writes: Vec<RecordDraft>,
    },
    Forget {
        scope: Index,
        selection: Selection,
    },
    Find(SearchDraft),
    List {
        user: Index,
        kind: Option<&'static str>,
        key: Option<&'static str>,
        source: Option<MemorySource>,
    },
}

#[derive(Clone, Debug)]
struct RecordDraft {
    scope: Index,
    id: &'static str,
    kind: &'static str,
    key: Option<&'static str>,
    source: Option<MemorySource>,
    words: Vec<&'static str>,
    vector: Option<MemoryVector>,
    expected: MemoryExpected,
    text: u8,
}

#[derive(Clone, Debug)]
enum Selection {
    Ids(Vec<&'static str>),
    Source(MemorySource),
    All,
}

#[derive(Clone, Debug)]
struct SearchDraft {
    user: Index,
    scopes: Vec<Index>,
    kinds: Vec<&'static str>,
    words: Vec<&'static str>,
    vector: Option<MemoryVector>,
    limit: usize,
}

const USERS: [&str; 2] = ["ada", "b\0b"];
const IDS: [&str; 7] = ["a", "b", "c", "d", "e", "with\0nul", "Zoë 'q'"];
const KINDS: [&str; 3] = ["episode", "fact", "b\0ck"];
/// Similar words that must not be confused with each other.
const WORDS: [&str; 12] =
    ["rain", "Rain", "café", "cafe", "foo-bar", "foo", "bar", "AND", "*", "北京", "(", "x\u{301}"];

fn word() -> impl Strategy<Value = &'static str> {
    // Some words are common.
    prop_oneof![3 => Just("rain"), 2 => Just("foo"), 5 => select(&WORDS[..])]
}

fn vector() -> impl Strategy<Value = Option<MemoryVector>> {
    let values = prop::collection::vec((-2i8..3).prop_map(f32::from), 2..4);
    let vector = (select(&["small", "large"][..]), values);
    prop::option::of(vector.prop_map(|(model, values)| MemoryVector::new(model, values)))
}

fn source() -> impl Strategy<Value = MemorySource> {
    let message = prop::option::of(select(&["m1", "m2", "m\0"][..]));
    (select(&["s", "t", "s\0"][..]), message).prop_map(|(session, message)| match message {
        Some(message) => MemorySource::message(session, message),
        None => MemorySource::session(session),
    })
}

fn one() -> impl Strategy<Value = RecordDraft> {
    let expected = prop_oneof![
        4 => Just(MemoryExpected::Absent),
        3 => Just(MemoryExpected::Anything),
        2 => (0u64..4).prop_map(MemoryExpected::Version),
    ];
    let key = prop::option::of(select(&["k", "l"][..]));
    let named = (any::<Index>(), select(&IDS[..]), select(&KINDS[..]), key);
    let said = (prop::option::weighted(0.7, source()), prop::collection::vec(word(), 0..9));
    (named, said, vector(), expected, 0u8..3).prop_map(
        |((scope, id, kind, key), (source, words), vector, expected, text)| RecordDraft {
            scope,
            id,
            kind,
            key,
            source,
            words,
            vector,
            expected,
            text,
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let selection = prop_oneof![
        4 => prop::collection::vec(select(&IDS[..]), 1..4).prop_map(Selection::Ids),
        3 => source().prop_map(Selection::Source),
        1 => Just(Selection::All),
    ];
    let kinds =
        prop_oneof![3 => Just(Vec::new()), 2 => prop::collection::vec(select(&KINDS[..]), 1..3)];
    let sought = (
        any::<Index>(),
        prop::collection::vec(any::<Index>(), 1..5),
        kinds,
        prop::collection::vec(word(), 0..6),
        vector(),
        1usize..6,
    );
    let sought = sought.prop_map(|(user, scopes, kinds, words, vector, limit)| SearchDraft {
        user,
        scopes,
        kinds,
        words,
        vector,
        limit,
    });
    let kind = prop::option::of(select(&KINDS[..]));
    let listed = (
        any::<Index>(),
        kind,
        prop::option::of(select(&["k", "l"][..])),
        prop::option::of(source()),
    );
    let step = prop_oneof![
        6 => (any::<Index>(), prop::collection::vec(one(), 1..9))
            .prop_map(|(user, writes)| Step::Write { user, writes }),
        2 => (any::<Index>(), selection)
            .prop_map(|(scope, selection)| Step::Forget { scope, selection }),
        4 => sought.prop_map(Step::Find),
        2 => listed.prop_map(|(user, kind, key, source)| Step::List { user, kind, key, source }),
    ];
    prop::collection::vec(step, 1..24)
}

fn scopes(user: &str) -> Vec<MemoryScope> {
    let user = MemoryScope::new(user);
    let project = user.clone().project("p\0");
    vec![
        user.clone(),
        project.clone(),
        project.clone().session("s"),
        user.session("s"),
        project.agent("a"),
    ]
}

fn pick<T: Clone>(from: &[T], index: &Index) -> T {
    from[index.index(from.len())].clone()
}

fn written(one: RecordDraft, scopes: &[MemoryScope]) -> MemoryWrite {
    let at = Timestamp::from_micros(i64::from(one.text));
    let text = "what was said ".repeat(usize::from(one.text));
    let mut record = MemoryRecord::new(pick(scopes, &one.scope), one.id, one.kind, at, text);
    (record.key, record.source) = (one.key.map(Into::into), one.source);
    record.speaker = (one.text == 2).then(|| "Zoë \"Q\"".to_owned());
    record.data = Metadata::default().with("n", i64::from(one.text));
    let mut write = MemoryWrite::new(record, one.words.join(" ")).expected(one.expected);
    write.vector = one.vector;
    write
}

fn comparable<T>(result: Result<T>) -> Result<T, (context_core::ErrorKind, String)> {
    result.map_err(|error| (error.kind(), error.message().to_owned()))
}

async fn all(store: &dyn MemoryRecordStore, mut list: MemoryList) -> Vec<StoredMemory> {
    let mut items = Vec::new();
    loop {
        let Page { items: some, next } = store.list_memories(&list).await.unwrap();
        items.extend(some);
        if next.is_none() {
            return items;
        }
        list = list.after(next);
    }
}

/// Applies a step to both stores and compares the answers.
async fn take(step: Step, store: &dyn MemoryRecordStore, reference: &dyn MemoryRecordStore) {
    match step {
        Step::Write { user, writes } => {
            let scopes = scopes(pick(&USERS, &user));
            let mut writes: Vec<_> = writes.into_iter().map(|one| written(one, &scopes)).collect();
            let mut seen = Vec::new();
            writes.retain(|write| {
                let name = (write.record.scope.clone(), write.record.id.clone());
                let fresh = !seen.contains(&name);
                seen.push(name);
                fresh
            });
            assert_eq!(
                comparable(store.write_memories(&writes).await),
                comparable(reference.write_memories(&writes).await)
            );
            // A call whose reply was lost is repeated.
            assert_eq!(
                comparable(store.write_memories(&writes).await),
                comparable(reference.write_memories(&writes).await)
            );
        }
        Step::Forget { scope, selection } => {
            let everyone: Vec<_> = USERS.iter().flat_map(|user| scopes(user)).collect();
            let scope = pick(&everyone, &scope);
            let forget = match selection {
                Selection::Ids(ids) => MemoryForget::ids(scope, ids),
                Selection::Source(source) => MemoryForget::source(scope, source),
                Selection::All => MemoryForget::Scope(scope),
            };
            assert_eq!(
                comparable(store.forget_memories(&forget).await),
                comparable(reference.forget_memories(&forget).await)
            );
        }
        Step::Find(sought) => {
            let scopes = scopes(pick(&USERS, &sought.user));
            let words = sought.words.iter().map(|word| (*word).to_owned()).collect();
            let asked = sought.scopes.iter().map(|scope| pick(&scopes, scope)).collect();
            let mut find = MemoryFind::new(asked, words, sought.limit);
            find.kinds = sought.kinds.iter().map(|kind| (*kind).to_owned()).collect();
            find.vector = sought.vector;
            assert_eq!(
                store.find_memories(&find).await.unwrap(),
                reference.find_memories(&find).await.unwrap()
            );
        }
        Step::List { user, kind, key, source } => {
            let mut list = MemoryList::new(scopes(pick(&USERS, &user)), 3);
            list.kinds.extend(kind.map(ToOwned::to_owned));
            (list.key, list.source) = (key.map(ToOwned::to_owned), source);
            assert_eq!(all(store, list.clone()).await, all(reference, list).await);
        }
    }
}

/// Compares everything that the store shows.
async fn compare(store: &dyn MemoryRecordStore, reference: &dyn MemoryRecordStore) {
    for user in USERS {
        let list = MemoryList::new(scopes(user), 4);
        assert_eq!(all(store, list.clone()).await, all(reference, list).await);
        let (mut after, mut others) = (None, None);
        loop {
            let page = store.memory_stats(&user.into(), 2, after.as_ref()).await.unwrap();
            let other = reference.memory_stats(&user.into(), 2, others.as_ref()).await.unwrap();
            assert_eq!(page, other);
            (after, others) = (page.next, other.next);
            if after.is_none() {
                break;
            }
        }
        let ids: Vec<MemoryId> =
            IDS.iter().rev().chain(&IDS[..2]).map(|id| MemoryId::from(*id)).collect();
        for scope in scopes(user) {
            assert_eq!(
                store.memories(&scope, &ids).await.unwrap(),
                reference.memories(&scope, &ids).await.unwrap()
            );
            for each_side in [0, 2] {
                let beside = store.memory_neighbours(&scope, &ids, each_side).await.unwrap();
                assert_eq!(
                    beside,
                    reference.memory_neighbours(&scope, &ids, each_side).await.unwrap()
                );
            }
        }
    }
}

async fn live(steps: Vec<Step>) {
    let fixture = StoreFixture::new().await;
    let other = fixture.again().await;
    let reference = InMemoryStore::default();
    let expected = reference.memories().unwrap();
    for (at, step) in steps.into_iter().enumerate() {
        let store = if at % 3 == 2 { &other } else { &fixture.store };
        let told = format!("{step:?}");
        take(step, store.memories().unwrap(), expected).await;
        compare(other.memories().unwrap(), expected).await;
        assert_eq!(fixture.problems().await, [""; 0], "after {told}");
        let users = (
            fixture.maintenance().users(10, None).await,
            reference.maintenance().unwrap().users(10, None).await,
        );
        assert_eq!(users.0.unwrap(), users.1.unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_shrink_iters: 20,
        ..ProptestConfig::with_cases(32) })]

    #[test]
    fn any_life_of_memories_shows_what_the_reference_shows(steps in steps()) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(live(steps));
    }
}
