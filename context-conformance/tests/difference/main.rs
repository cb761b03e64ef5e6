//! Tests of differential testing: equal stores have no difference, different ones do, and the
//! difference is shown with the shortest sequence.

use std::sync::Arc;

use async_trait::async_trait;
use context_conformance::{CaseSettings, StoreFixture, find_difference};
use context_core::store::{
    BlobStore, FragmentStore, HistoryStore, Maintenance, MemoryRecordStore, StoreInfo,
    TrajectoryStore,
};
use context_core::{Result, Store};
use context_store_inmem::InMemoryStore;

/// A store that delegates to two stores, which are separate if `parted` is set.
#[derive(Debug, Default)]
struct SplitStore {
    one: InMemoryStore,
    other: InMemoryStore,
    parted: bool,
}

impl Store for SplitStore {
    fn info(&self) -> StoreInfo {
        self.one.info()
    }

    fn history(&self) -> &dyn HistoryStore {
        self.one.history()
    }

    fn fragments(&self) -> &dyn FragmentStore {
        self.one.fragments()
    }

    fn blobs(&self) -> Option<&dyn BlobStore> {
        if self.parted { self.other.blobs() } else { self.one.blobs() }
    }

    fn trajectories(&self) -> Option<&dyn TrajectoryStore> {
        self.one.trajectories()
    }

    fn memories(&self) -> Option<&dyn MemoryRecordStore> {
        self.one.memories()
    }

    fn maintenance(&self) -> Option<&dyn Maintenance> {
        self.one.maintenance()
    }
}

/// A named subject. The flag separates the two stores of a [`SplitStore`].
struct SplitFixture(&'static str, bool);

#[async_trait]
impl StoreFixture for SplitFixture {
    fn name(&self) -> &str {
        self.0
    }

    async fn open(&self, _namespace: &str) -> Result<Arc<dyn Store>> {
        Ok(Arc::new(SplitStore { parted: self.1, ..SplitStore::default() }))
    }

    async fn reopen(&self, _namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        Ok(None)
    }

    async fn second_handle(&self, _namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        Ok(None)
    }
}

fn settings(sequences: u32) -> CaseSettings {
    let mut settings = CaseSettings::default();
    settings.sequences = sequences;
    settings
}

#[tokio::test]
async fn stores_that_are_alike_do_not_come_apart() {
    let subjects: [Arc<dyn StoreFixture>; 2] =
        [Arc::new(SplitFixture("one", false)), Arc::new(SplitFixture("two", false))];
    let difference = find_difference(&subjects, &settings(8)).await.unwrap();
    assert!(difference.is_none(), "{}", difference.unwrap());
}

#[tokio::test]
async fn a_store_that_forgets_whose_blobs_it_has_is_found_out_in_one_move() {
    let subjects: [Arc<dyn StoreFixture>; 2] =
        [Arc::new(SplitFixture("right", false)), Arc::new(SplitFixture("wrong", true))];
    // It is found out by the answer to a move, or by a look at the chats after one.
    let (mut by_an_answer, mut by_a_look) = (0, 0);
    for seed in 1..=16 {
        let mut settings = settings(8);
        settings.seed = seed;
        let difference =
            find_difference(&subjects, &settings).await.unwrap().expect("they come apart");
        assert_eq!(difference.moves.len(), 1, "{difference}");
        let text = difference.to_string();
        if text.contains("right saw Ok(") && text.contains("wrong saw Err(NotFound)") {
            by_an_answer += 1;
        } else {
            assert!(text.contains("wrong: ") && text.contains("not_found"), "{text}");
            by_a_look += 1;
        }
        assert!(text.contains("Blob(") && text.contains("CONTEXT_CONFORMANCE_SEED=0x"), "{text}");
    }
    assert!(by_an_answer > 0 && by_a_look > 0, "{by_an_answer}, {by_a_look}");
}
