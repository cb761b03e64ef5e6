//! Rounds that are written node by node, with one statement each, and commits that this fast path
//! rejects.

use context_core::store::{RecordOutcome, RoundCommit};
use context_core::trajectory::{
    AgentRef, Change, Measures, NewNode, NewQuery, NodeBody, Round, TrajectoryNode,
    TrajectoryNodeKind, edge,
};
use context_core::{ErrorKind, Store};
use serde_json::json;

use crate::rounds::{id, record};
use crate::store_fixture::{StoreFixture, T};

/// A body of every kind but the question, which begins every round.
fn bodies() -> [NodeBody; 10] {
    [
        NodeBody::state("It rains.").with("uncertainty", "little").unwrap(),
        NodeBody::action("search", json!({ "text": "rain" })),
        NodeBody::knowledge("fact", "It often rains."),
        NodeBody::tool(json!({}), json!([])),
        NodeBody::table("/rain.csv"),
        NodeBody::column("/rain.csv").with("values", json!(["wet", "dry"])).unwrap(),
        NodeBody::file("/f"),
        NodeBody::script("print(1)", "python"),
        NodeBody::skill("/s"),
        NodeBody::response("Take a coat."),
    ]
}

/// Returns the changes that build a round with a node of every kind, step by step.
fn steps(agent: &AgentRef) -> (Round, Vec<Vec<Change>>) {
    let mut round = Round::new(agent.round(0), T);
    let (query, first) = round.ask(NewQuery::new("Will it rain?"), T).unwrap();
    let (mut steps, mut last) = (vec![first], query);
    for body in bodies() {
        let mut measures = Measures::default();
        measures.input_tokens = Some(3);
        let kind = body.kind();
        let new = NewNode::new(body, [last]).author("planner").measure(measures);
        let is_computed =
            [TrajectoryNodeKind::State, TrajectoryNodeKind::Action, TrajectoryNodeKind::Response]
                .contains(&kind);
        let new = if is_computed { new } else { new.edge(edge::PRODUCES) };
        let (added, changes) = round.add(new, T).unwrap();
        last = if is_computed { added } else { last };
        steps.push(changes);
    }
    (round, steps)
}

#[tokio::test]
async fn a_node_at_a_time_is_kept_as_all_at_once() {
    let fixture = StoreFixture::new().await;
    let (single, whole) = (AgentRef::new("ada", "monday", 0), AgentRef::new("ada", "monday", 1));
    let (mut all, together) = steps(&whole);
    record(&fixture, &mut all, together.concat()).await;
    let (mut round, separate) = steps(&single);
    assert!(separate.iter().skip(1).all(|step| step.len() == 2), "a node and its edge");
    for step in separate {
        record(&fixture, &mut round, step).await;
    }
    let trajectories = fixture.store.trajectories().unwrap();
    let one = trajectories.load_rounds(&single, 0..=0).await.unwrap().remove(0);
    let other = trajectories.load_rounds(&whole, 0..=0).await.unwrap().remove(0);
    assert_eq!((&one.nodes, &one.edges), (&other.nodes, &other.edges));
    assert_eq!(one.head, round.head());
    assert_eq!((one.head.revision, one.nodes.len()), (11, TrajectoryNodeKind::ALL.len()));
    assert_eq!(fixture.problems().await, [""; 0]);
}

#[tokio::test]
async fn a_node_of_its_own_commit_is_refused_as_any_other() {
    let fixture = StoreFixture::new().await;
    let agent = AgentRef::main("ada", "monday");
    let (mut round, steps) = steps(&agent);
    for step in steps.clone() {
        record(&fixture, &mut round, step).await;
    }
    let trajectories = fixture.store.trajectories().unwrap();
    let before = trajectories.load_rounds(&agent, 0..=0).await.unwrap();
    let node = |ordinal: u32, body: NodeBody, label: &str| {
        vec![Change::NodeAdded { node: TrajectoryNode::new(id(0, ordinal), label, body, T).into() }]
    };
    let mut head = round.head();
    (head.revision, head.next, head.nodes) = (12, 12, 12);
    for wrong in [
        node(2, NodeBody::action("again", json!({})), "again"),
        node(2, NodeBody::file("/g"), "the number of another kind"),
        node(11, NodeBody::table("/rain.csv"), &before[0].nodes[5].label),
    ] {
        let commit = RoundCommit::new("wrong", wrong, head.clone());
        let error = trajectories.record_round(&commit).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert_eq!(trajectories.load_rounds(&agent, 0..=0).await.unwrap(), before);
    }
    let right =
        |key: &str| RoundCommit::new(key, node(11, NodeBody::file("/g"), "g"), head.clone());
    for (key, outcome) in [
        ("right", RecordOutcome::Applied),
        ("right", RecordOutcome::Replayed),
        ("late", RecordOutcome::Conflict { actual: 12 }),
    ] {
        assert_eq!(trajectories.record_round(&right(key)).await.unwrap(), outcome);
    }
    let nowhere = RoundCommit::new("nowhere", node(11, NodeBody::file("/g"), "g"), {
        let mut head = head.clone();
        head.round.agent.session = "tuesday".into();
        head
    });
    let outcome = trajectories.record_round(&nowhere).await.unwrap();
    assert_eq!(outcome, RecordOutcome::Conflict { actual: 0 });
    assert_eq!(fixture.problems().await, [""; 0]);
}
