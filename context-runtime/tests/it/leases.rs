//! Engines under a lease: the owner saves, all others are refused until it ends.

use std::sync::Arc;
use std::time::Duration;

use context_runtime::store::{Lease, LeaseOutcome, LeaseRefusal};
use context_runtime::{ContextEngine, ErrorKind, Store};
use context_simulator::faults::{Fault, FaultPlan, FaultStore, Operation};

use crate::kit::{HandClock, builder, say, store, stored};

async fn open(store: &Arc<dyn Store>, clock: &HandClock) -> ContextEngine {
    builder(store).clock(clock.clone()).open().await.unwrap()
}

const TTL: Duration = Duration::from_secs(30);

fn taken(outcome: LeaseOutcome) -> Lease {
    match outcome {
        LeaseOutcome::Taken(lease) => lease,
        LeaseOutcome::Held(lease) => panic!("held: {lease:?}"),
    }
}

#[tokio::test]
async fn the_owner_saves_and_others_are_told_who_holds_the_chat() {
    let (store, clock) = (store().await, HandClock::default());
    let (mut one, mut two) = (open(&store, &clock).await, open(&store, &clock).await);
    let lease = taken(one.lease("one", TTL).await.unwrap());
    assert_eq!(two.lease("two", TTL).await.unwrap(), LeaseOutcome::Held(lease.clone()));
    two.set([say("u2", "from two")]);
    for _ in 0..2 {
        let error = two.save().await.unwrap_err();
        assert_eq!((error.kind(), error.get("holder")), (ErrorKind::Conflict, Some("one")));
        assert_eq!(LeaseRefusal::of(&error).unwrap().lease.as_ref(), Some(&lease));
    }
    one.set([say("u1", "from one")]);
    let _saved = one.save().await.unwrap();
    assert!(one.pin(&"u1".into()).await.unwrap());
    assert!(one.release_lease().await.unwrap());
    assert!(!one.release_lease().await.unwrap());
    // What was pending is saved as soon as the chat is free.
    let _saved = two.save().await.unwrap();
    assert_eq!(stored(&store, "main").await, ["u1: from one", "u2: from two"]);
}

#[tokio::test]
async fn an_owner_that_slept_through_the_end_of_its_lease_writes_nothing() {
    let (store, clock) = (store().await, HandClock::default());
    let (mut one, mut two) = (open(&store, &clock).await, open(&store, &clock).await);
    let first = taken(one.lease("one", TTL).await.unwrap());
    clock.advance(20);
    assert_eq!(taken(one.lease("one", TTL).await.unwrap()).number, first.number);
    clock.advance(30);
    let second = taken(two.lease("two", TTL).await.unwrap());
    assert!(second.number > first.number);
    one.set([say("u1", "late")]);
    let error = one.save().await.unwrap_err();
    assert_eq!(LeaseRefusal::of(&error).unwrap().lease, Some(second));
    two.set([say("u2", "in time")]);
    let _saved = two.save().await.unwrap();
    assert_eq!(stored(&store, "main").await, ["u2: in time"]);
    clock.advance(30);
    let _taken = taken(one.lease("one", TTL).await.unwrap());
    let _saved = one.save().await.unwrap();
    assert_eq!(stored(&store, "main").await, ["u2: in time", "u1: late"]);
}

#[tokio::test]
async fn a_save_whose_reply_was_lost_is_repeated_after_the_end_of_a_lease() {
    let (inner, clock) = (store().await, HandClock::default());
    let mut one = open(&inner, &clock).await;
    let plan = FaultPlan::default().with(Operation::Commit, 0, Fault::BeforeApply);
    let faulty: Arc<dyn Store> = Arc::new(FaultStore::new(Arc::clone(&inner), plan));
    let mut two = open(&faulty, &clock).await;
    two.set([say("u1", "from two")]);
    assert_eq!(two.save().await.unwrap_err().kind(), ErrorKind::Unavailable);
    let _lease = taken(one.lease("one", TTL).await.unwrap());
    clock.advance(31);
    let _saved = two.save().await.unwrap();
    assert_eq!(stored(&inner, "main").await, ["u1: from two"]);
}
