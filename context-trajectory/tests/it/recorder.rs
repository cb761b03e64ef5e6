//! When changes are written, and what happens if a store fails.

use std::sync::atomic::Ordering;

use context_core::trajectory::{
    Changes, NewQuery, NodeId, NodeRemoval, Round, RoundState, TrajectoryError,
};
use context_trajectory::{RecordError, Step, StepCall, StepNodes};
use futures_util::FutureExt;

use crate::fixture::{action, ada, file, open, process, round_store, small_round};

#[tokio::test]
async fn calls_that_wait_together_are_one_commit() {
    let store = round_store();
    let context = open(&process(&store, "a").build().unwrap(), 0).await;
    let query = context.ask(NewQuery::new("Where to?")).await.unwrap();
    store.slow_writes.store(true, Ordering::SeqCst);
    let adds = (0..10).map(|_| context.add(action(query).append()));
    let all = futures_util::future::join_all(adds);
    let free = async {
        while store.waiting.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        store.gate().add_permits(2);
    };
    let (nodes, ()) = tokio::join!(all, free);
    assert!(nodes.iter().all(Result::is_ok));
    assert_eq!(
        store.writes.load(Ordering::SeqCst),
        3,
        "the question, the first, the nine that waited"
    );
    assert_eq!(store.all(&ada()).await[0].nodes.len(), 11);
    assert_eq!(context.unsaved(), 0);
}

#[tokio::test]
async fn a_failed_write_stays_unsaved_and_goes_with_the_next_under_its_key() {
    let store = round_store();
    let context = open(&process(&store, "a").build().unwrap(), 0).await;
    let query = context.ask(NewQuery::new("Where to?")).await.unwrap();
    for lost_reply in [false, true] {
        let faults = if lost_reply { &store.fail_after } else { &store.fail_before };
        faults.store(1, Ordering::SeqCst);
        let error = context.add(action(query).append()).await.unwrap_err();
        assert!(matches!(error, RecordError::Store(_)), "{error}");
        assert_eq!(context.unsaved(), 1);
        context.add(action(query).append()).await.unwrap();
        assert_eq!(context.unsaved(), 0);
    }
    let record = store.all(&ada()).await.remove(0);
    assert_eq!(record, context.round().to_record());
    assert_eq!((record.nodes.len(), record.head.revision), (5, 5));
}

#[tokio::test]
async fn a_call_that_is_dropped_loses_and_doubles_nothing() {
    let store = round_store();
    let context = open(&process(&store, "a").build().unwrap(), 0).await;
    let query = context.ask(NewQuery::new("Where to?")).await.unwrap();
    store.slow_writes.store(true, Ordering::SeqCst);
    assert!(context.add(action(query)).now_or_never().is_none());
    assert_eq!(context.unsaved(), 1);
    store.slow_writes.store(false, Ordering::SeqCst);
    context.flush().await.unwrap();
    assert_eq!(store.all(&ada()).await[0].nodes.len(), 2);
}

#[tokio::test]
async fn whoever_comes_second_to_a_round_is_told_and_can_open_it_again() {
    let store = round_store();
    let (one, two) = (process(&store, "a").build().unwrap(), process(&store, "b").build().unwrap());
    let first = open(&one, 0).await;
    let [query, ..] = small_round(&first).await;
    let second = open(&two, 0).await;
    first.add(action(query).append()).await.unwrap();
    let error = second.add(action(query).append()).await.unwrap_err();
    assert!(
        matches!(&error, RecordError::Superseded { round } if **round == ada().round(0)),
        "{error}"
    );
    assert!(matches!(second.flush().await, Err(RecordError::Superseded { .. })));
    assert_eq!((second.unsaved(), second.round().len()), (1, 4), "it shows what it has");
    let again = open(&two, 0).await;
    assert!(!again.is_same(&second));
    again.add(action(query).append()).await.unwrap();
    assert_eq!(store.all(&ada()).await[0].nodes.len(), 5);
}

#[tokio::test]
async fn what_is_refused_changes_and_writes_nothing() {
    let store = round_store();
    let context = open(&process(&store, "a").build().unwrap(), 0).await;
    let early = context.add(action(NodeId::new(0, 0))).await;
    assert!(matches!(early, Err(RecordError::Refused(TrajectoryError::NoQueryYet))));
    let [query, act, _] = small_round(&context).await;
    let (before, writes) = (context.round().to_record(), store.writes.load(Ordering::SeqCst));
    assert!(context.ask(NewQuery::new("Again?")).await.is_err());
    assert!(context.change(act, &Changes::new().set("colour", "red")).await.is_err());
    assert!(context.remove(query, NodeRemoval::Leaf).await.is_err());
    assert!(context.connect(act, query, Some("generates")).await.is_err());
    context.change(act, &Changes::new()).await.unwrap();
    context.set_state(RoundState::Open).await.unwrap();
    assert_eq!(context.round().to_record(), before);
    assert_eq!(store.writes.load(Ordering::SeqCst), writes);
}

#[tokio::test]
async fn an_amendment_of_an_earlier_round_is_written_to_that_round() {
    let store = round_store();
    let one = process(&store, "a").build().unwrap();
    let (earlier, present) = (open(&one, 0).await, open(&one, 1).await);
    let [_, _, old] = small_round(&earlier).await;
    let [_, act, _] = small_round(&present).await;
    // The round is open in this process and shows the change at once.
    present.change(old, &Changes::new().describe("A map.")).await.unwrap();
    assert_eq!(&*earlier.round().node(old).unwrap().description, "A map.");
    // The round is not open: another process changes it.
    let two = process(&store, "b").build().unwrap();
    let later = open(&two, 2).await;
    small_round(&later).await;
    later.change(old, &Changes::new().describe("A map of the coast.")).await.unwrap();
    let node = later.trajectory().await.unwrap().node(old).unwrap().clone();
    assert_eq!((&*node.description, node.versions.len()), ("A map of the coast.", 2));
    assert_eq!(*store.all(&ada()).await[0].nodes[2], *node);
    let nobody = later.change(NodeId::new(1, 77), &Changes::new().describe("?")).await;
    assert!(matches!(nobody, Err(RecordError::Refused(TrajectoryError::UnknownNode { .. }))));
    // A new node never follows a node of an earlier round. A reference to one is allowed and stays.
    let below = present.add(action(old)).await;
    assert!(matches!(
        below,
        Err(RecordError::Refused(TrajectoryError::HistoricalPredecessor { .. }))
    ));
    present.refer(act, old).await.unwrap();
    let stored = Round::from_record(store.all(&ada()).await.remove(1)).unwrap();
    assert!(stored.edges_from(act).any(|edge| edge.to == old));
}

#[tokio::test]
async fn a_step_is_a_conclusion_and_its_calls_or_the_answer() {
    let store = round_store();
    let context = open(&process(&store, "a").build().unwrap(), 0).await;
    let query = context.ask(NewQuery::new("Where to?")).await.unwrap();
    let call = |id: &str| StepCall::new(id, "search", serde_json::json!({"q": id}));
    let step = Step::new("Let me see.").reasoning("Hm.").call(call("c1")).call(call("c2"));
    let step = step.call(StepCall::invalid("c3", "serch", serde_json::json!("{"), "no such tool"));
    let StepNodes::Calls { state, actions } = context.step(step).await.unwrap() else {
        panic!("calls")
    };
    let round = context.round();
    assert_eq!(round.predecessors(state).map(|edge| edge.from).collect::<Vec<_>>(), [query]);
    assert_eq!(round.endpoints().collect::<Vec<_>>(), actions);
    assert_eq!(
        context.tool_result("c2", serde_json::json!("sea"), true).await.unwrap(),
        actions[1]
    );
    let unknown = context.tool_result("c9", serde_json::json!("?"), true).await;
    assert!(matches!(unknown, Err(RecordError::UnknownCall { .. })));
    // The same id again is another action, and the result belongs to it.
    let StepNodes::Calls { actions: again, .. } =
        context.step(Step::new("On.").call(call("c2"))).await.unwrap()
    else {
        panic!("calls")
    };
    assert_eq!(
        context.tool_result("c2", serde_json::json!("hills"), true).await.unwrap(),
        again[0]
    );
    let answer = context.step(Step::new("To the hills.")).await.unwrap();
    assert!(matches!(answer, StepNodes::Response(_)));
    let round = context.round();
    assert_eq!(round.endpoints().collect::<Vec<_>>(), again);
    let shown: Vec<String> = round
        .nodes()
        .map(|node| {
            let output = node.body.get("output").map(|output| format!(" {}", output.to_json()));
            format!("{}{}", node.title(), output.unwrap_or_default())
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    Query(query00000)
    State(state00000)
    Action(c1) "Pending"
    Action(c2) "sea"
    Action(c3) "no such tool"
    State(state00001)
    Action(c2#2) "hills"
    Response(response00000)
    "#);
    assert_eq!(store.all(&ada()).await[0], round.to_record());
}

#[tokio::test]
async fn a_step_that_is_refused_leaves_nothing_and_branches_apart_must_be_named() {
    let store = round_store();
    let context = open(&process(&store, "a").build().unwrap(), 0).await;
    let query = context.ask(NewQuery::new("Where to?")).await.unwrap();
    let fine = StepCall::new("c1", "search", serde_json::json!({}));
    let long = StepCall::new("x".repeat(10_000), "search", serde_json::json!({}));
    let endpoints: Vec<NodeId> = context.round().endpoints().collect();
    assert!(context.step(Step::new("Both.").call(fine.clone()).call(long)).await.is_err());
    assert_eq!((context.round().len(), context.unsaved()), (1, 0));
    assert_eq!(context.round().endpoints().collect::<Vec<_>>(), endpoints);
    let first = context.add(action(query)).await.unwrap();
    let state = Step::new("One.").call(fine.clone());
    let StepNodes::Calls { actions, .. } = context.step(state).await.unwrap() else {
        panic!("calls")
    };
    context.add(action(query).append()).await.unwrap();
    let apart = context.step(Step::new("Which?").call(fine.clone())).await;
    assert!(matches!(apart, Err(RecordError::ParallelBranches { endpoints: 2 })));
    context.step(Step::new("This.").call(fine).after(actions)).await.unwrap();
    assert!(context.round().node(first).is_some());
    let record = store.all(&ada()).await.remove(0);
    assert_eq!(Round::from_record(record).unwrap().to_record(), context.round().to_record());
}

#[tokio::test]
async fn more_than_a_commit_holds_is_written_in_several() {
    let store = round_store();
    let context = open(&process(&store, "a").build().unwrap(), 0).await;
    let query = context.ask(NewQuery::new("Where to?")).await.unwrap();
    for number in 0..6_000 {
        context.add_later(file(query, &format!("/data/{number}"))).unwrap();
    }
    assert_eq!(context.unsaved(), 6_000);
    let cascade = context.remove(query, NodeRemoval::Cascade).await;
    assert!(matches!(cascade, Err(RecordError::Refused(TrajectoryError::TooMuch { .. }))));
    context.flush().await.unwrap();
    let record = store.all(&ada()).await.remove(0);
    assert_eq!(record, context.round().to_record());
    assert!(record.head.revision > 2);
}
