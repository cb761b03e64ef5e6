//! Combined rounds: bridges, pruning, traversal.

use std::sync::Arc;

use context_core::trajectory::{
    AgentRef, Edge, NewNode, NewQuery, NodeBody, NodeId, Round, TrajectoryError,
};
use context_trajectory::{BridgeFrom, Trajectory};

use context_core::Timestamp;

/// An arbitrary time.
const NOW: Timestamp = Timestamp::from_micros(1_000_000);

fn agent() -> AgentRef {
    AgentRef::main("ann", "monday")
}

/// Creates a round with a query, which is node 0.
fn asked(number: u32) -> Round {
    let mut round = Round::new(agent().round(number), NOW);
    round.ask(NewQuery::new("why?"), NOW).unwrap();
    round
}

fn id(ordinal: u32) -> NodeId {
    NodeId::new(0, ordinal)
}

fn action() -> NodeBody {
    NodeBody::action("probe", serde_json::json!({}))
}

fn state() -> NodeBody {
    NodeBody::state("so it is")
}

fn file() -> NodeBody {
    NodeBody::file("/data/notes.txt")
}

/// Adds a node. An edge whose name cannot be inferred is named.
fn add(round: &mut Round, body: NodeBody, after: &[u32]) -> NodeId {
    let number = round.round().round;
    let new = NewNode::new(body, after.iter().map(|ordinal| NodeId::new(number, *ordinal)));
    match round.add(new.clone(), NOW) {
        Err(TrajectoryError::EdgeNameRequired { .. }) => round.add(new.edge("produces"), NOW),
        added => added,
    }
    .unwrap()
    .0
}

/// Creates a round with a query, an action with a file, and a conclusion.
fn worked(number: u32) -> Round {
    let mut round = asked(number);
    add(&mut round, action(), &[0]);
    add(&mut round, file(), &[1]);
    add(&mut round, state(), &[1]);
    round
}

fn together(rounds: impl IntoIterator<Item = Round>) -> Trajectory {
    Trajectory::new(rounds.into_iter().map(Arc::new), BridgeFrom::Leaves)
}

fn bridges(trajectory: &Trajectory) -> Vec<String> {
    let shown = trajectory.bridges().iter();
    shown
        .map(|bridge| format!("{}->{} missing {}", bridge.from, bridge.to, bridge.missing))
        .collect()
}

#[test]
fn every_leaf_leads_to_the_next_question() {
    let both = together([worked(0), worked(1)]);
    assert_eq!(bridges(&both), ["0.2->1.0 missing 0", "0.3->1.0 missing 0"]);
    assert_eq!(both.root().unwrap().id, id(0));
    let endpoints = Trajectory::new([worked(0), worked(1)].map(Arc::new), BridgeFrom::Endpoints);
    assert_eq!(bridges(&endpoints), ["0.3->1.0 missing 0"]);
}

#[test]
fn open_branches_both_lead_on() {
    let mut open = asked(0);
    add(&mut open, action(), &[0]);
    open.add(NewNode::new(action(), [id(0)]).append(), NOW).unwrap();
    assert_eq!(bridges(&together([open, asked(1)])), ["0.1->1.0 missing 0", "0.2->1.0 missing 0"]);
}

#[test]
fn bridges_are_the_same_whenever_one_looks() {
    let two = together([worked(0), worked(1)]);
    let three = together([worked(2), worked(0), worked(1)]);
    assert_eq!(three.bridges()[..2], two.bridges()[..]);
    assert_eq!(three.bridges().len(), 4);
}

#[test]
fn gaps_are_bridged_and_marked() {
    let gap = together([worked(0), worked(2), asked(3)]);
    assert_eq!(bridges(&gap)[0], "0.2->2.0 missing 1");
    assert_eq!(gap.order().count(), gap.len());
    let kept = gap.pruned().nodes;
    assert!(kept.contains(&NodeId::new(3, 0)) && kept.contains(&id(0)), "past and present stay");
    let headless = together([worked(1), asked(2)]);
    assert_eq!(headless.root().unwrap().id, NodeId::new(1, 0));
    assert_eq!(headless.pruned().nodes.len(), 5);
}

#[test]
fn rounds_with_the_same_labels_stay_apart() {
    let same = together([worked(0), worked(1)]);
    assert_eq!(same.len(), 8);
    assert_eq!(
        same.resolve("Query(query00000)").unwrap().id,
        NodeId::new(1, 0),
        "the newest of a name"
    );
    assert_eq!(same.order().count(), 8, "no cycle");
}

#[test]
fn numbers_go_on_from_round_to_round() {
    let first = worked(0);
    let mut next = Round::new(agent().round(1), NOW).continuing(&first.head());
    next.ask(NewQuery::new("and?"), NOW).unwrap();
    assert_eq!(next.query().unwrap().title().to_string(), "Query(query00001)");
}

#[test]
fn reading_an_old_file_again_closes_no_cycle() {
    let old = worked(0);
    let read = old.node(id(2)).unwrap().clone();
    let mut new = asked(1);
    let reading = add(&mut new, action(), &[0]);
    new.refer(reading, &read, NOW).unwrap();
    let both = together([old, Round::from_record(new.to_record()).unwrap()]);
    assert_eq!(both.order().count(), both.len());
    assert!(both.edges().any(|edge| edge.from == reading && edge.to == read.id));
    assert!(!both.ancestors(reading, false).is_empty());
    let alone = together([Round::clone(both.round(1).unwrap())]);
    assert_eq!(alone.edges().count(), 1, "a reference to what is not there is not shown");
}

/// A regression test from a fuzzer: an edge leads to a node of another round whose number exists in
/// this round. The topological order counted the edge and underflowed.
#[test]
fn a_record_whose_flow_leads_to_another_round_is_damaged() {
    let mut record = worked(1).to_record();
    for (edge, fine) in [
        (Edge::new(NodeId::new(1, 1), NodeId::new(0, 2), "refers_to"), true),
        (Edge::new(NodeId::new(1, 1), NodeId::new(2, 2), "refers_to"), false),
        (Edge::new(NodeId::new(1, 1), NodeId::new(0, 2), "triggers"), false),
        (Edge::new(NodeId::new(1, 1), NodeId::new(2, 3), "triggers"), false),
    ] {
        record.edges.push(edge.clone());
        let restored = Round::from_record(record.clone());
        assert_eq!(restored.is_ok(), fine, "{edge:?}");
        if let Err(error) = restored {
            assert!(error.to_string().contains("leads out of its round"), "{error}");
        }
        record.edges.pop();
    }
}

#[test]
fn dead_branches_go_with_all_that_hangs_on_them() {
    let mut round = asked(0);
    add(&mut round, action(), &[0]);
    round.add(NewNode::new(action(), [id(0)]).append(), NOW).unwrap();
    add(&mut round, file(), &[2]);
    round.add(NewNode::new(state(), [id(2)]).close(), NOW).unwrap();
    add(&mut round, state(), &[1]);
    add(&mut round, NodeBody::response("so"), &[5]);
    let pruned = together([round]).pruned();
    let kept: Vec<u32> = pruned.nodes.iter().map(|id| id.ordinal).collect();
    assert_eq!(kept, [0, 1, 5, 6]);
    assert_eq!(pruned.edges.len(), 3);
}

#[test]
fn a_dead_conclusion_goes_though_its_action_lives() {
    let mut round = asked(0);
    add(&mut round, action(), &[0]);
    add(&mut round, state(), &[1]);
    round.add(NewNode::new(state(), [id(1)]).append(), NOW).unwrap();
    round.add(NewNode::new(state(), [id(3)]).close(), NOW).unwrap();
    let kept: Vec<u32> = together([round]).pruned().nodes.iter().map(|id| id.ordinal).collect();
    assert_eq!(kept, [0, 1, 2]);
}

#[test]
fn without_endpoints_everything_stays() {
    let mut round = asked(0);
    round.add(NewNode::new(action(), [id(0)]).close(), NOW).unwrap();
    let all = together([worked(0), Round::from_record(round.to_record()).unwrap()]);
    assert_eq!(all.pruned().nodes.len(), all.len());
}

#[test]
fn data_of_an_action_is_what_it_made_and_what_is_below_tables() {
    let mut round = asked(0);
    let act = add(&mut round, action(), &[0]);
    let table = add(&mut round, NodeBody::table("/data/t.csv"), &[1]);
    let column =
        round.add(NewNode::new(NodeBody::column("t"), [table]).edge("has_column"), NOW).unwrap().0;
    let fact = add(&mut round, NodeBody::knowledge("domain", "k"), &[1]);
    assert_eq!(round.data_of(act).unwrap(), [table, fact, column]);
    assert_eq!(round.data_of(id(0)).unwrap_err().code(), "node_not_found");
}
