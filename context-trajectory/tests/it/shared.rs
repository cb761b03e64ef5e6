//! Recorders of one process over the same channels share their open rounds.

use std::sync::Arc;

use context_conformance::FixedClock;
use context_core::Store;
use context_core::store::TrajectoryStore;
use context_core::trajectory::RoundState;
use context_store_inmem::InMemoryStore;
use context_trajectory::{OpenOptions, Step, StepCall, Trajectories};

use crate::fixture::{ada, open, round_store, small_round};

fn recorder(store: &Arc<InMemoryStore>) -> Trajectories {
    Trajectories::new(store.clone()).unwrap()
}

#[tokio::test]
async fn two_recorders_over_one_store_record_one_round_together() {
    let store = Arc::new(InMemoryStore::default());
    let (one, two) = (recorder(&store), recorder(&store));
    let (first, second) = (open(&one, 0).await, open(&two, 0).await);
    assert!(first.is_same(&second));
    first.ask("Where to?").await.unwrap();
    for (handle, call) in [(&first, "c1"), (&second, "c2"), (&first, "c3"), (&second, "c4")] {
        let call = StepCall::new(call, "search", serde_json::json!({}));
        handle.step(Step::new("I look.").call(call)).await.unwrap();
    }
    second.close(RoundState::Closed).await.unwrap();
    assert_eq!(first.round().state(), RoundState::Closed);
    let stored = two.trajectory(&ada()).await.unwrap();
    assert_eq!((stored.len(), one.open_rounds()), (9, two.open_rounds()));
}

#[tokio::test]
async fn rounds_outlive_the_recorder_that_opened_them() {
    let store = Arc::new(InMemoryStore::default());
    let first = open(&recorder(&store), 0).await;
    small_round(&first).await;
    assert!(open(&recorder(&store), 0).await.is_same(&first));
}

#[tokio::test]
async fn sub_agents_of_two_recorders_get_different_numbers() {
    let store = Arc::new(InMemoryStore::default());
    let (one, two) = (recorder(&store), recorder(&store));
    let parent = open(&one, 0).await;
    let [query, ..] = small_round(&parent).await;
    let (left, right) = tokio::join!(
        one.open_sub_agent(&parent, query, OpenOptions::new()),
        two.open_sub_agent(&parent, query, OpenOptions::new()),
    );
    let numbers = [left, right].map(|opened| opened.unwrap().reference().agent.agent);
    assert!(numbers == [1, 2] || numbers == [2, 1], "{numbers:?}");
}

#[tokio::test]
async fn a_round_keeps_the_clock_of_the_recorder_that_opened_it_first() {
    let store = Arc::new(InMemoryStore::default());
    let at = |time| {
        let clock = Arc::new(FixedClock::at(time));
        Trajectories::builder(store.clone()).clock(clock).build().unwrap()
    };
    let (early, late) = (at(1_000), at(2_000));
    let (first, second) = (open(&early, 0).await, open(&late, 0).await);
    let query = second.ask("Where to?").await.unwrap();
    assert_eq!(first.round().node(query).unwrap().created_at.as_micros(), 1_000);
    let next = open(&late, 1).await;
    let query = next.ask("And then?").await.unwrap();
    assert_eq!(next.round().node(query).unwrap().created_at.as_micros(), 2_000);
}

#[tokio::test]
async fn recorders_over_other_channels_stay_apart() {
    let store = Arc::new(InMemoryStore::default());
    let first = open(&recorder(&store), 0).await;
    let elsewhere = open(&recorder(&Arc::new(InMemoryStore::default())), 0).await;
    assert!(!elsewhere.is_same(&first));
    let with_copy = |copy: &Arc<dyn TrajectoryStore>| {
        let store: Arc<dyn Store> = store.clone();
        Trajectories::builder(store).channel(copy.clone()).build().unwrap()
    };
    let copies: [Arc<dyn TrajectoryStore>; 2] = [round_store(), round_store()];
    let [left, right] = [with_copy(&copies[0]), with_copy(&copies[1])];
    let [left, right] = [open(&left, 0).await, open(&right, 0).await];
    assert!(!left.is_same(&first) && !left.is_same(&right));
    assert!(left.is_same(&open(&with_copy(&copies[0]), 0).await));
}
