//! Memories under concurrent writers, and very many memories.

use context_core::Store;
use context_core::base::limits;
use context_core::memory::{MemoryForget, MemoryScope};
use context_core::store::{MemoryExpected, MemoryFind, MemoryOutcome, MemoryWritten};
use tokio::task::JoinSet;

use crate::fixture::{StoreFixture, nothing_is_wrong};
use crate::memory_tables::{found, remembered, words, write};

pub(crate) async fn of_several_writers_of_a_new_memory_one_writes_it() {
    let fixture = StoreFixture::new();
    let mut writers = JoinSet::new();
    for writer in 0..6_usize {
        let store = fixture.open().await;
        writers.spawn(async move {
            // Each writer uses another order, in two scopes that do not exist yet.
            let ids = (0..30).map(|n| (n * 7 + writer * 11) % 30);
            let scope = |n| {
                if n % 2 == 0 {
                    MemoryScope::new("ada")
                } else {
                    MemoryScope::new("ada").project("p")
                }
            };
            let writes: Vec<_> = ids
                .clone()
                .map(|n| remembered(&scope(n), &n.to_string(), &format!("common w{n} by{writer}")))
                .collect();
            let written = write(&store, &writes).await;
            ids.zip(written).collect::<Vec<_>>()
        });
    }
    let mut first = [0; 30];
    for (id, written) in writers.join_all().await.into_iter().flatten() {
        match written {
            MemoryWritten::Written(1) => first[id] += 1,
            MemoryWritten::Unchanged(1) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(first, [1; 30]);
    nothing_is_wrong(&fixture.open().await).await;
    fixture.drop().await;
}

pub(crate) async fn of_several_writers_of_a_version_one_wins() {
    let fixture = StoreFixture::new();
    let scope = MemoryScope::new("ada");
    for version in 0..4 {
        let mut writers = JoinSet::new();
        for writer in 0..6 {
            let (store, scope) = (fixture.open().await, scope.clone());
            writers.spawn(async move {
                let changed = remembered(&scope, "a", &format!("common v{version} by{writer}"));
                let other = remembered(&scope, &format!("b{version} {writer}"), "common");
                let writes = [other, changed.expected(MemoryExpected::Version(version))];
                store.memories().unwrap().write_memories(&writes).await.unwrap()
            });
        }
        let mut won = 0;
        for outcome in writers.join_all().await {
            match outcome {
                MemoryOutcome::Applied(written) => {
                    assert_eq!(
                        written,
                        [MemoryWritten::Written(1), MemoryWritten::Written(version + 1)]
                    );
                    won += 1;
                }
                MemoryOutcome::Conflict { write, stored } => {
                    assert_eq!(
                        (write, stored.map(|stored| stored.version)),
                        (1, Some(version + 1))
                    );
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(won, 1);
    }
    nothing_is_wrong(&fixture.open().await).await;
    fixture.drop().await;
}

pub(crate) async fn writing_and_forgetting_at_once_leaves_what_is_counted_right() {
    let fixture = StoreFixture::new();
    let mut tasks = JoinSet::new();
    for task in 0..6_usize {
        let store = fixture.open().await;
        tasks.spawn(async move {
            let ada = MemoryScope::new("ada");
            for round in 0..8 {
                let scope =
                    if (task + round) % 2 == 0 { ada.clone() } else { ada.clone().session("s") };
                let writes = [
                    remembered(&scope, &format!("{}", round % 3), &format!("common t{task}")),
                    remembered(&ada.clone().agent("a"), &format!("{task}"), "common"),
                ];
                let writes = writes.map(|write| write.expected(MemoryExpected::Anything));
                write(&store, &writes).await;
                let forget = match (task + round) % 4 {
                    0 => MemoryForget::Scope(scope),
                    1 => MemoryForget::ids(scope, ["0", "1"]),
                    2 => MemoryForget::source(
                        ada.clone(),
                        context_core::memory::MemorySource::message("session", "2"),
                    ),
                    _ => continue,
                };
                let forgotten = store.memories().unwrap().forget_memories(&forget).await.unwrap();
                assert_eq!(forgotten.remaining, 0);
            }
        });
    }
    tasks.join_all().await;
    let store = fixture.open().await;
    nothing_is_wrong(&store).await;
    let forget = MemoryForget::Scope(MemoryScope::new("ada"));
    assert_eq!(store.memories().unwrap().forget_memories(&forget).await.unwrap().remaining, 0);
    nothing_is_wrong(&store).await;
    fixture.drop().await;
}

/// Above the exact limits, in several scopes and several ranges of places: a record with all words
/// is found however common the words are and however old it is, so is one that also has a rare
/// word, and among equal records the newest.
pub(crate) async fn what_fits_best_is_found_among_very_many() {
    let fixture = StoreFixture::new();
    let store = fixture.open().await;
    let (ada, project) = (MemoryScope::new("ada"), MemoryScope::new("ada").project("p"));
    let long = "this that and some more words so that it is the longest of them all";
    write(&store, &[remembered(&project, "both", "a b e")]).await;
    write(&store, &[remembered(&project, "rare", &format!("c d {long}"))]).await;
    let many = |n: usize| {
        let scope = if n.is_multiple_of(3) { &project } else { &ada };
        let id = n.to_string();
        let words = ["a", "b", "b c", "a c"][n % 4];
        remembered(scope, &id, words)
    };
    for batch in 0..9 {
        let writes: Vec<_> = (batch * 1000..(batch + 1) * 1000).map(many).collect();
        write(&store, &writes).await;
    }
    let find = |wanted: &[&str], limit| {
        MemoryFind::new(vec![ada.clone(), project.clone()], words(wanted), limit)
    };
    let postings =
        store.memories().unwrap().find_memories(&find(&["a", "b"], 1)).await.unwrap().bm25.found;
    assert_eq!(postings, [4501, 4501]);
    assert!(postings.iter().all(|found| *found > limits::EXACT_MEMORY_POSTINGS));
    let best = found(&store, &find(&["a", "b"], 2)).await;
    assert_eq!(best, ["both", "8996"]);
    let best = found(&store, &find(&["a", "c", "nowhere", "d"], 3)).await;
    assert_eq!(best, ["rare", "8999", "8995"]);
    assert_eq!(found(&store, &find(&["a"], 3)).await, ["8996", "8992", "8988"]);
    let mut kinds = find(&["a", "b"], 3);
    kinds.kinds = words(&["episode"]);
    assert_eq!(found(&store, &kinds).await, [""; 0]);
    let forget =
        MemoryForget::source(ada.clone(), context_core::memory::MemorySource::session("session"));
    assert_eq!(store.memories().unwrap().forget_memories(&forget).await.unwrap().removed, 9002);
    nothing_is_wrong(&store).await;
    fixture.drop().await;
}
