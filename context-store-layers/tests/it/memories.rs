//! Memories through layers: which store keeps them, and the answers after a lost reply.

use std::sync::Arc;

use context_core::memory::{MemoryForget, MemoryRecord, MemoryScope};
use context_core::store::{MemoryExpected, MemoryFind, MemoryOutcome, MemoryWrite, MemoryWritten};
use context_core::{CancelSignal, Store};
use context_simulator::faults::{Fault, FaultPlan, FaultStore, Operation};
use context_store_inmem::InMemoryStore;
use context_store_layers::{CachedStore, RetryStore, SplitStore, TracedStore};

use crate::fixture::{Numbers, at};
use crate::retry::RecordingSleeper;

fn note(id: &str, words: &str, expected: MemoryExpected) -> MemoryWrite {
    let record = MemoryRecord::new(MemoryScope::new("ada"), id, "note", at(1), words);
    MemoryWrite::new(record, words).expected(expected)
}

async fn found(store: &dyn Store, word: &str) -> Vec<String> {
    let find = MemoryFind::new(vec![MemoryScope::new("ada")], vec![word.to_owned()], 9);
    let found = store.memories().unwrap().find_memories(&find).await.unwrap();
    found.hits.iter().map(|hit| hit.stored.record.id.to_string()).collect()
}

#[tokio::test(flavor = "current_thread")]
async fn all_layers_together_find_what_is_in_the_store_of_the_history() {
    let (main, files) = (Arc::new(InMemoryStore::default()), Arc::new(InMemoryStore::default()));
    let split = SplitStore::builder(Arc::clone(&main) as _).blobs(Arc::clone(&files) as _);
    let split = split.trajectories(Arc::clone(&files) as _).build().unwrap();
    let cached = CachedStore::new(Arc::new(split), 1 << 20);
    let retry = RetryStore::new(Arc::new(cached), Arc::new(Numbers::default()));
    let store = TracedStore::new(Arc::new(retry));
    let writes =
        [note("m1", "lisbon", MemoryExpected::Absent), note("m2", "porto", MemoryExpected::Absent)];
    let outcome = store.memories().unwrap().write_memories(&writes).await.unwrap();
    assert_eq!(outcome, MemoryOutcome::Applied(vec![MemoryWritten::Written(1); 2]));
    assert_eq!(found(&store, "porto").await, ["m2"]);
    assert_eq!((found(&*main, "porto").await.len(), found(&*files, "porto").await.len()), (1, 0));
    let forget = MemoryForget::ids(MemoryScope::new("ada"), ["m1"]);
    let forgotten = store.memories().unwrap().forget_memories(&forget).await.unwrap();
    assert_eq!((forgotten.removed, forgotten.remaining), (1, 0));
    let maintenance = store.maintenance().unwrap();
    let report = maintenance.check(&CancelSignal::never()).await.unwrap();
    assert_eq!((report.memories, report.findings), (1, Vec::new()));
    let erased = maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await.unwrap();
    assert_eq!((erased.memories, erased.remaining), (1, 0));
}

/// A retry returns the present state, and never conflicts with what the lost try wrote.
#[tokio::test(flavor = "current_thread")]
async fn a_write_whose_reply_is_lost_is_made_again() {
    for fault in [Fault::AfterApply, Fault::BeforeApply] {
        let plan = FaultPlan::default().with(Operation::WriteMemories, 1, fault).with(
            Operation::ForgetMemories,
            0,
            fault,
        );
        let bare = Arc::new(InMemoryStore::default());
        let broken = FaultStore::new(Arc::clone(&bare) as _, plan);
        let store = RetryStore::new(Arc::new(broken.clone()), Arc::new(Numbers::default()));
        let store = store.sleeper(Arc::new(RecordingSleeper::default()));
        let memories = store.memories().unwrap();
        let first = [
            note("old", "first", MemoryExpected::Absent),
            note("any", "first", MemoryExpected::Absent),
        ];
        let _written = memories.write_memories(&first).await.unwrap();
        let writes = [
            note("new", "second", MemoryExpected::Absent),
            note("old", "second", MemoryExpected::Version(1)),
            note("any", "second", MemoryExpected::Anything),
        ];
        let outcome = memories.write_memories(&writes).await.unwrap();
        use MemoryWritten::{Unchanged, Written};
        let lost = fault == Fault::AfterApply;
        let expected = if lost {
            [Unchanged(1), Written(2), Written(3)]
        } else {
            [Written(1), Written(2), Written(2)]
        };
        assert_eq!(outcome, MemoryOutcome::Applied(expected.to_vec()));
        assert_eq!(broken.calls(Operation::WriteMemories), 3);
        assert_eq!(found(&*bare, "second").await, ["new", "any", "old"]);
        assert!(found(&*bare, "first").await.is_empty());
        let forgotten =
            memories.forget_memories(&MemoryForget::Scope(MemoryScope::new("ada"))).await.unwrap();
        assert_eq!((forgotten.removed, forgotten.remaining), (if lost { 0 } else { 3 }, 0));
    }
}
