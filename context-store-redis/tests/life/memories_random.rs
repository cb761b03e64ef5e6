//! Random operations on memories, compared with the in-memory store.

use context_core::base::MemoryId;
use context_core::memory::{
    MemoriesForgotten, MemoryForget, MemoryRecord, MemoryScope, MemorySource, MemoryVector,
};
use context_core::store::{
    Cursor, Maintenance, MemoryExpected, MemoryFind, MemoryList, MemoryOutcome, MemoryRecordStore,
    MemoryWrite, Page,
};
use context_core::{CancelSignal, Store, Timestamp};
use context_store_inmem::InMemoryStore;
use context_store_redis::RedisStore;
use proptest::prelude::*;

use crate::fixture::RedisFixture;

/// The parts that ids, keys, kinds, sessions and messages are made of.
const ODD: [&str; 6] = ["a", "b\0", "\0\0", "é\u{1f600}", "{a}:%s\r\n", "0 1"];
const WORDS: [&str; 7] = ["a", "ab", "b", "é", "北", "0", "x'y"];
const KINDS: [&str; 3] = ["episode", "fact", "\0"];

/// An operation on both stores.
#[derive(Clone, Debug)]
struct Step {
    operation: u8,
    scope: usize,
    parts: Vec<Part>,
}

/// A record to write.
#[derive(Clone, Debug)]
struct Part {
    id: usize,
    kind: usize,
    from: usize,
    key: usize,
    words: Vec<usize>,
    vector: u8,
    expected: u8,
    scope: usize,
}

fn step() -> impl Strategy<Value = Step> {
    let words = prop::collection::vec(0..WORDS.len(), 0..9);
    let part =
        (0..ODD.len(), 0..KINDS.len(), 0usize..9, 0usize..4, words, 0u8..6, 0u8..6, 0usize..6);
    let part = part.prop_map(|(id, kind, from, key, words, vector, expected, scope)| Part {
        id,
        kind,
        from,
        key,
        words,
        vector,
        expected,
        scope,
    });
    let parts = prop::collection::vec(part, 1..5);
    (0u8..10, 0usize..6, parts).prop_map(|(operation, scope, parts)| Step {
        operation,
        scope,
        parts,
    })
}

fn scopes(user: &str) -> [MemoryScope; 6] {
    let of = |user: &str| MemoryScope::new(user);
    let other = format!("{user}'");
    [
        of(user),
        of(user).project("p"),
        of(user).project("p").agent("\"],"),
        of(user).session("s\0"),
        of(user).project("p").session("s"),
        of(&other),
    ]
}

fn source(n: usize) -> Option<MemorySource> {
    match n {
        0 => None,
        1..=2 => Some(MemorySource::session(ODD[n])),
        _ => Some(MemorySource::message(ODD[n % 3], ODD[n / 3])),
    }
}

fn vector(n: u8) -> Option<MemoryVector> {
    match n {
        0 => None,
        1 => Some(MemoryVector::new("other", [1.0, 0.5].as_slice())),
        2 => Some(MemoryVector::new("e", [1.0, 0.0, 0.0].as_slice())),
        n => Some(MemoryVector::new("e", [f32::from(n), -1.0].as_slice())),
    }
}

struct Both<'a> {
    ours: &'a dyn MemoryRecordStore,
    other: &'a dyn MemoryRecordStore,
}

impl Both<'_> {
    async fn write(&self, writes: &[MemoryWrite]) {
        let (ours, other) =
            (self.ours.write_memories(writes).await, self.other.write_memories(writes).await);
        match (ours, other) {
            (
                Ok(MemoryOutcome::Conflict { write, stored }),
                Ok(MemoryOutcome::Conflict { write: other, stored: others }),
            ) => {
                let about = |stored: Option<Box<context_core::memory::StoredMemory>>| {
                    stored.map(|stored| (stored.record, stored.version))
                };
                assert_eq!((write, about(stored)), (other, about(others)));
            }
            (Ok(ours), Ok(other)) => assert_eq!(ours, other, "{writes:?}"),
            (ours, other) => {
                assert_eq!(ours.unwrap_err().kind(), other.unwrap_err().kind());
            }
        }
    }

    async fn forget(&self, forget: &MemoryForget) -> MemoriesForgotten {
        let ours = self.ours.forget_memories(forget).await.unwrap();
        assert_eq!(ours, self.other.forget_memories(forget).await.unwrap(), "{forget:?}");
        ours
    }

    async fn listed(&self, list: &MemoryList) {
        let (mut ours, mut other): (Option<Cursor>, Option<Cursor>) = (None, None);
        loop {
            let one = self.ours.list_memories(&list.clone().after(ours)).await.unwrap();
            let two = self.other.list_memories(&list.clone().after(other)).await.unwrap();
            // Places are counted per user in this store, and over all users in memory.
            let records = |page: &Page<context_core::memory::StoredMemory>| {
                let items = page.items.iter();
                items.map(|stored| (stored.record.clone(), stored.version)).collect::<Vec<_>>()
            };
            assert_eq!(records(&one), records(&two), "{list:?}");
            (ours, other) = (one.next, two.next);
            assert_eq!(ours.is_none(), other.is_none(), "{list:?}");
            if ours.is_none() {
                return;
            }
        }
    }

    async fn found(&self, find: &MemoryFind) {
        let ours = self.ours.find_memories(find).await.unwrap();
        let other = self.other.find_memories(find).await.unwrap();
        assert_eq!(ours.bm25, other.bm25, "{find:?}");
        let hits = |found: &context_core::store::MemoriesFound| {
            let hits = found.hits.iter();
            hits.map(|hit| (hit.stored.record.clone(), hit.score, hit.similarity))
                .collect::<Vec<_>>()
        };
        assert_eq!(hits(&ours), hits(&other), "{find:?}");
    }

    async fn same(&self, user: &str) {
        let all = scopes(user);
        let ids: Vec<MemoryId> = ODD.iter().map(|id| MemoryId::from(*id)).collect();
        for scope in &all {
            let ours = self.ours.memories(scope, &ids).await.unwrap();
            let other = self.other.memories(scope, &ids).await.unwrap();
            let records = |of: &[context_core::memory::StoredMemory]| {
                of.iter().map(|stored| (stored.record.clone(), stored.version)).collect::<Vec<_>>()
            };
            assert_eq!(records(&ours), records(&other));
            for each_side in [0, 1, 3] {
                let ours = self.ours.memory_neighbours(scope, &ids, each_side).await.unwrap();
                let other = self.other.memory_neighbours(scope, &ids, each_side).await.unwrap();
                let records = |of: Vec<Vec<context_core::memory::StoredMemory>>| {
                    of.iter().map(|beside| records(beside)).collect::<Vec<_>>()
                };
                assert_eq!(records(ours), records(other));
            }
            self.listed(&MemoryList::new(vec![scope.clone()], 2)).await;
        }
        let own = all[..5].to_vec();
        let twice = [own.clone(), own[..1].to_vec()].concat();
        self.listed(&MemoryList::new(twice.clone(), 3)).await;
        for n in 0..3 {
            self.listed(&MemoryList::new(own.clone(), 2).kind(KINDS[n])).await;
            self.listed(&MemoryList::new(own.clone(), 2).key(ODD[n])).await;
            let mut list = MemoryList::new(own.clone(), 2).kind(KINDS[n]).kind("fact");
            list.source = source(n + 1);
            self.listed(&list).await;
        }
        let words = |some: &[usize]| some.iter().map(|n| WORDS[*n].to_owned()).collect::<Vec<_>>();
        let finds = [
            MemoryFind::new(own.clone(), words(&[0, 1, 2, 3, 4, 5, 6]), 1000),
            MemoryFind::new(own.clone(), words(&[6, 0]), 3),
            MemoryFind::new(twice, words(&[1, 1, 4]), 2),
            MemoryFind::new(own[..1].to_vec(), words(&[2]), 1),
            MemoryFind::new(own.clone(), vec!["nobody".into()], 5),
        ];
        for mut find in finds {
            self.found(&find).await;
            find.kinds = vec!["fact".into(), "never".into()];
            self.found(&find).await;
            find.vector = Some(MemoryVector::new("e", [1.0, 1.0].as_slice()));
            self.found(&find).await;
            find.kinds.clear();
            self.found(&find).await;
            find.words.clear();
            self.found(&find).await;
        }
        for user in [&all[0].user, &all[5].user] {
            let mut after = None;
            loop {
                let ours = self.ours.memory_stats(user, 2, after.as_ref()).await.unwrap();
                assert_eq!(ours, self.other.memory_stats(user, 2, after.as_ref()).await.unwrap());
                after = ours.next;
                if after.is_none() {
                    break;
                }
            }
        }
    }
}

fn writes(user: &str, step: &Step, n: i64) -> Vec<MemoryWrite> {
    let scopes = scopes(user);
    let write = |part: &Part| {
        let Part { id, kind, from, key, words, vector: of, expected, scope } = part;
        // Mostly in one scope, sometimes in several.
        let scope = if *scope == 5 { step.scope } else { (*scope).min(2) };
        let at = Timestamp::from_micros(if *expected == 5 { 7 } else { n });
        let text = format!("text {from}");
        let mut record = MemoryRecord::new(scopes[scope].clone(), ODD[*id], KINDS[*kind], at, text);
        record.key = ODD[..3].get(*key).map(ToString::to_string);
        record.source = source(*from);
        record.data.insert("words", WORDS[words.len() % 7]);
        let words: Vec<&str> = words.iter().map(|word| WORDS[*word]).collect();
        let mut write = MemoryWrite::new(record, words.join(" "));
        write.vector = vector(*of);
        write.expected(match expected {
            0 | 1 => MemoryExpected::Absent,
            2 => MemoryExpected::Anything,
            3 => MemoryExpected::Version(0),
            4 => MemoryExpected::Version(1),
            _ => MemoryExpected::Version(2),
        })
    };
    step.parts.iter().map(write).collect()
}

async fn replay(store: &RedisStore, user: &str, steps: &[Step]) {
    let memory = InMemoryStore::default();
    let both = Both { ours: store.memories().unwrap(), other: memory.memories().unwrap() };
    for (n, step) in steps.iter().enumerate() {
        let n = i64::try_from(n).unwrap();
        let scope = scopes(user)[step.scope].clone();
        let Part { id, from, .. } = &step.parts[0];
        match step.operation {
            0 => drop(both.forget(&MemoryForget::ids(scope, [ODD[*id], ODD[(*id + 1) % 6]])).await),
            1 => {
                if let Some(source) = source(*from) {
                    let _ = both.forget(&MemoryForget::source(scope, source)).await;
                }
            }
            2 if step.parts.len() == 4 => drop(both.forget(&MemoryForget::Scope(scope)).await),
            operation => {
                let writes = writes(user, step, n);
                both.write(&writes).await;
                if operation == 9 {
                    both.write(&writes).await;
                }
            }
        }
    }
    both.same(user).await;
    let report = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let maintenance: [&dyn Maintenance; 2] =
        [store.maintenance().unwrap(), memory.maintenance().unwrap()];
    for user in [user.to_owned(), format!("{user}'")] {
        let mut erased = Vec::new();
        for store in maintenance {
            let users = store.users(1000, None).await.unwrap().items;
            let erasure =
                store.erase_user(&user.as_str().into(), &CancelSignal::never()).await.unwrap();
            erased.push((
                users.contains(&user.as_str().into()),
                erasure.memories,
                erasure.remaining,
            ));
        }
        assert_eq!(erased[0], erased[1], "{user}");
    }
    both.same(user).await;
}

/// Runs random cases on a store.
fn run(store: &RedisStore, runtime: &tokio::runtime::Runtime, cases: u32) {
    let config = ProptestConfig { failure_persistence: None, cases, ..ProptestConfig::default() };
    let case = std::cell::Cell::new(0);
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let run = runner.run(&prop::collection::vec(step(), 1..40), |steps| {
        case.set(case.get() + 1);
        runtime.block_on(replay(store, &format!("u{}", case.get()), &steps));
        Ok(())
    });
    if let Err(error) = run {
        panic!("{error}");
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

pub(crate) fn what_is_remembered_in_both_they_say_alike() {
    let runtime = runtime();
    let fixture = runtime.block_on(RedisFixture::new());
    run(&fixture.store, &runtime, 16);
    let (left, of_store) = (fixture.keys(""), format!("{}{{store}}:", fixture.config.prefix));
    assert!(left.iter().all(|key| key.starts_with(&of_store)), "{left:?}");
    // The connection needs the runtime while it is dropped.
    let _guard = runtime.enter();
    drop(fixture);
}

#[cfg(feature = "cluster")]
pub(crate) fn and_so_they_do_on_a_cluster() {
    let runtime = runtime();
    let url = context_conformance::server_url("CONTEXT_TEST_REDIS_CLUSTER_URL");
    let config = context_store_redis::RedisConfig::from_url(&url)
        .unwrap()
        .prefix(format!("life-{}-c:", std::process::id()));
    let store = runtime.block_on(RedisStore::open(config)).unwrap();
    run(&store, &runtime, 6);
    let _guard = runtime.enter();
    drop(store);
}
