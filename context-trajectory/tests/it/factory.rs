//! One open round per round in a process, built once and kept as long as required.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use context_core::store::{RoundPrune, RoundQuery};
use context_core::trajectory::{
    AgentRef, EdgeNames, NewQuery, NodeId, ParentNode, Round, RoundState,
};
use context_core::{SessionId, UserId};
use context_store_inmem::InMemoryStore;
use context_trajectory::{OpenOptions, RecordError, Trajectories};

use crate::fixture::{ada, open, process, round_store, small_round};

#[tokio::test]
async fn the_same_tuple_is_the_same_context_and_any_other_is_another() {
    let trajectories = Trajectories::builder(Arc::new(InMemoryStore::default())).build().unwrap();
    let context = open(&trajectories, 0).await;
    small_round(&context).await;
    assert!(context.is_same(&open(&trajectories, 0).await));
    let others = [
        AgentRef::new("ada", "trip", 1).round(0),
        ada().round(1),
        AgentRef::main("ada", "work").round(0),
        AgentRef::main("bob", "trip").round(0),
    ];
    for other in others {
        let other = trajectories.open(&other, OpenOptions::new()).await.unwrap();
        assert!(!other.is_same(&context) && other.round().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_who_open_one_round_at_once_build_one() {
    let store = round_store();
    let trajectories = process(&store, "a").build().unwrap();
    *store.slow_session.lock().unwrap() = Some("trip".into());
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let trajectories = trajectories.clone();
            tokio::spawn(async move { open(&trajectories, 0).await })
        })
        .collect();
    // A slow store delays only its own session.
    let other = trajectories
        .open(&AgentRef::main("ada", "work").round(0), OpenOptions::new())
        .await
        .unwrap();
    assert!(other.round().is_empty());
    store.gate().add_permits(1);
    let mut contexts = Vec::new();
    for task in tasks {
        contexts.push(task.await.unwrap());
    }
    assert!(contexts.iter().all(|context| context.is_same(&contexts[0])));
    assert_eq!(store.loads.load(Ordering::SeqCst), 2, "one for each round");
}

#[tokio::test]
async fn an_opening_that_is_dropped_leaves_nothing_behind() {
    let store = round_store();
    let trajectories = process(&store, "a").build().unwrap();
    *store.slow_session.lock().unwrap() = Some("trip".into());
    let round = ada().round(0);
    let opening = trajectories.open(&round, OpenOptions::new());
    assert!(futures_util::FutureExt::now_or_never(opening).is_none());
    assert_eq!(trajectories.open_rounds(), 0);
    *store.slow_session.lock().unwrap() = None;
    small_round(&open(&trajectories, 0).await).await;
}

#[tokio::test]
async fn options_that_conflict_with_those_of_the_open_context_are_named() {
    let store = round_store();
    let trajectories = process(&store, "a").build().unwrap();
    let names = OpenOptions::new().edge_names(EdgeNames::known(["cites"]));
    let context = trajectories.open(&ada().round(0), names.clone()).await.unwrap();
    assert!(
        trajectories.open(&ada().round(0), OpenOptions::new()).await.unwrap().is_same(&context)
    );
    assert!(trajectories.open(&ada().round(0), names).await.unwrap().is_same(&context));
    let other = OpenOptions::new().edge_names(EdgeNames::Any);
    let error = trajectories.open(&ada().round(0), other).await.unwrap_err();
    assert!(
        matches!(&error, RecordError::ConflictingOption { option: "edge_names", .. }),
        "{error}"
    );
    let parent = OpenOptions::new().parent(ParentNode { agent: 0, node: NodeId::new(0, 1) });
    let error = trajectories.open(&ada().round(0), parent).await.unwrap_err();
    assert!(matches!(&error, RecordError::ConflictingOption { option: "parent", .. }), "{error}");
}

#[tokio::test]
async fn sub_agents_are_numbered_by_session_and_the_number_is_taken_by_a_write() {
    let store = round_store();
    let (one, two) = (process(&store, "a").build().unwrap(), process(&store, "b").build().unwrap());
    let work = AgentRef::main("ada", "work").round(0);
    let busy = one.open(&work, OpenOptions::new()).await.unwrap();
    let [_, caller, _] = small_round(&busy).await;
    for number in 1..=6 {
        let sub = one.open_sub_agent(&busy, caller, OpenOptions::new()).await.unwrap();
        assert_eq!(sub.reference().agent.agent, number);
    }
    let parent = open(&one, 0).await;
    let [_, action, _] = small_round(&parent).await;
    let first = one.open_sub_agent(&parent, action, OpenOptions::new()).await.unwrap();
    assert_eq!(first.reference(), &AgentRef::new("ada", "trip", 1).round(0));
    let elsewhere =
        two.open_sub_agent(&open(&two, 0).await, action, OpenOptions::new()).await.unwrap();
    assert_eq!(elsewhere.reference().agent.agent, 2);
    let head = elsewhere.round().head();
    assert_eq!(head.parent, Some(ParentNode { agent: 0, node: action }));
    let nobody = one.open_sub_agent(&parent, NodeId::new(0, 99), OpenOptions::new()).await;
    assert!(matches!(nobody, Err(RecordError::Refused(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sub_agents_that_are_opened_at_once_get_different_numbers() {
    let store = round_store();
    let processes = [process(&store, "a").build().unwrap(), process(&store, "b").build().unwrap()];
    let node = small_round(&open(&processes[0], 0).await).await[1];
    let tasks: Vec<_> = (0..16)
        .map(|number| {
            let trajectories = processes[number % 2].clone();
            tokio::spawn(async move {
                let parent = open(&trajectories, 0).await;
                let sub =
                    trajectories.open_sub_agent(&parent, node, OpenOptions::new()).await.unwrap();
                sub.reference().agent.agent
            })
        })
        .collect();
    let mut numbers = Vec::new();
    for task in tasks {
        numbers.push(task.await.unwrap());
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=16).collect::<Vec<_>>());
}

#[tokio::test]
async fn rounds_that_nobody_holds_are_bounded_and_none_that_is_unsaved_goes() {
    let store = round_store();
    let trajectories = process(&store, "a").keep(10).build().unwrap();
    let held = open(&trajectories, 5_000).await;
    let dirty = open(&trajectories, 6_000).await;
    dirty.ask_later(NewQuery::new("Kept?")).unwrap();
    drop(dirty);
    for round in 0..1_000 {
        open(&trajectories, round).await;
    }
    assert_eq!(trajectories.open_rounds(), 1 + 1 + 9, "held, unsaved, and what is kept with it");
    assert!(open(&trajectories, 5_000).await.is_same(&held));
    assert_eq!(open(&trajectories, 6_000).await.round().len(), 1);
    trajectories.flush_all().await.unwrap();
    assert_eq!(store.all(&ada()).await.len(), 1);
    for round in 0..20 {
        open(&trajectories, round).await;
    }
    assert_eq!(trajectories.open_rounds(), 11);
}

/// After opening and closing thousands of rounds, only the graphs of the kept rounds are in memory.
#[tokio::test]
async fn ten_thousand_closed_rounds_leave_the_graphs_that_are_kept() {
    const KEPT: usize = 16;
    let store = round_store();
    let trajectories = process(&store, "a").keep(KEPT).build().unwrap();
    let mut graphs: Vec<Weak<Round>> = Vec::new();
    for session in 0..10_000 {
        let round = AgentRef::main("ada", format!("{session}")).round(0);
        let context = trajectories.open(&round, OpenOptions::new()).await.unwrap();
        context.ask(NewQuery::new("Where to?")).await.unwrap();
        context.close(RoundState::Closed).await.unwrap();
        graphs.push(Arc::downgrade(&context.round()));
    }
    let alive = graphs.iter().filter(|graph| graph.strong_count() > 0).count();
    assert!((1..=KEPT + 1).contains(&alive), "{alive} graphs are in memory");
    assert_eq!(trajectories.open_rounds(), KEPT);
}

#[tokio::test]
async fn a_release_counts_once() {
    let store = round_store();
    let trajectories = process(&store, "a").build().unwrap();
    let user = UserId::from("ada");
    let session = SessionId::from("trip");
    let held = open(&trajectories, 0).await;
    open(&trajectories, 1).await;
    trajectories.open(&AgentRef::main("ada", "trips").round(0), OpenOptions::new()).await.unwrap();
    assert_eq!(trajectories.release(&user, Some(&session), Some(0), None), 1);
    assert_eq!(trajectories.release(&user, Some(&session), Some(0), None), 0);
    assert!(!open(&trajectories, 0).await.is_same(&held));
    assert_eq!(trajectories.release(&user, Some(&session), None, Some(0)), 2);
    let dirty = open(&trajectories, 2).await;
    dirty.ask_later(NewQuery::new("Kept?")).unwrap();
    assert_eq!(trajectories.release(&user, None, None, None), 1, "the one of the other session");
    dirty.flush().await.unwrap();
    assert_eq!(trajectories.release(&user, None, None, None), 1);
}

#[tokio::test]
async fn sessions_and_rounds_are_listed_and_removed() {
    let store = round_store();
    let trajectories = process(&store, "a").build().unwrap();
    for session in ["a", "b", "c"] {
        for round in 0..3 {
            let round = AgentRef::main("ada", session).round(round);
            let context = trajectories.open(&round, OpenOptions::new()).await.unwrap();
            context.ask(NewQuery::new("Where to?")).await.unwrap();
        }
    }
    let user = UserId::from("ada");
    let sessions = trajectories.sessions(&user, None, 2).await.unwrap();
    assert_eq!(sessions, ["a", "b"].map(SessionId::from));
    assert_eq!(
        trajectories.sessions(&user, sessions.last(), 2).await.unwrap(),
        ["c"].map(SessionId::from)
    );
    let agent = AgentRef::main("ada", "b");
    let page = trajectories.rounds(&RoundQuery::of_agent(&agent).limit(2)).await.unwrap();
    assert_eq!(page.items.iter().map(|head| head.round.round).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(trajectories.next_round(&agent).await.unwrap(), agent.round(3));
    assert_eq!(trajectories.trajectory(&agent).await.unwrap().bridges().len(), 2);
    let pruned = trajectories.prune(&RoundPrune::of_user("ada").session("b")).await.unwrap();
    assert_eq!((pruned.rounds, pruned.nodes), (3, 3));
    let again = trajectories.open(&agent.round(0), OpenOptions::new()).await.unwrap();
    assert!(again.round().is_empty());
}
