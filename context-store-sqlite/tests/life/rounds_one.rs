//! Rounds that are written as a run proceeds, with one statement for each commit, and commits that
//! this fast path rejects.

use context_core::store::{RecordOutcome, RoundCommit};
use context_core::trajectory::{
    AgentRef, Change, Changes, Measures, MessageLink, NewNode, NewQuery, NodeBody, NodeId, Round,
    RoundState, TrajectoryNode, TrajectoryNodeKind, edge,
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

/// Whether later nodes follow a node of this kind. Others are produced by the node before.
fn is_computed(body: &NodeBody) -> bool {
    use TrajectoryNodeKind::{Action, Response, State};
    matches!(body.kind(), State | Action | Response)
}

fn node(body: NodeBody, before: NodeId) -> NewNode {
    let is_computed = is_computed(&body);
    let node = NewNode::new(body, [before]);
    if is_computed { node } else { node.edge(edge::PRODUCES) }
}

/// Builds a round with a node of every kind. `step` gets the round and the changes of each step.
async fn steps(agent: &AgentRef, mut step: impl AsyncFnMut(&mut Round, Vec<Change>)) -> Round {
    let mut round = Round::new(agent.round(0), T);
    let (query, first) = round.ask(NewQuery::new("Will it rain?"), T).unwrap();
    step(&mut round, first).await;
    let mut last = query;
    for body in bodies() {
        let mut measures = Measures::default();
        measures.input_tokens = Some(3);
        let is_computed = is_computed(&body);
        let new = node(body, last).author("planner").measure(measures);
        let (added, changes) = round.add(new, T).unwrap();
        last = if is_computed { added } else { last };
        step(&mut round, changes).await;
    }
    round
}

#[tokio::test]
async fn a_node_at_a_time_is_kept_as_all_at_once() {
    let fixture = StoreFixture::new().await;
    let (single, whole) = (AgentRef::new("ada", "monday", 0), AgentRef::new("ada", "monday", 1));
    let mut together = Vec::new();
    let mut all = steps(&whole, async |_, step| together.extend(step)).await;
    record(&fixture, &mut all, together).await;
    let round = steps(&single, async |round, step| {
        assert!(round.len() == 1 || step.len() == 2, "a node and its edge");
        record(&fixture, round, step).await;
    });
    let round = round.await;
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
    let round = steps(&agent, async |round, step| record(&fixture, round, step).await).await;
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

/// The changes of a run, and which of them are written together.
struct Recording<'f> {
    fixture: &'f StoreFixture,
    round: Round,
    waiting: Vec<Change>,
    /// Bit by bit, whether a step is written before the next.
    writes: u32,
}

impl Recording<'_> {
    async fn step(&mut self, changes: Vec<Change>) {
        self.waiting.extend(changes);
        if self.writes & 1 == 1 {
            record(self.fixture, &mut self.round, std::mem::take(&mut self.waiting)).await;
        }
        self.writes >>= 1;
    }
}

/// A question, a conclusion, a call, its result, a table, an answer and the end of the round.
const TURN_STEPS: u32 = 7;

async fn turn(fixture: &StoreFixture, agent: &AgentRef, writes: u32) -> Round {
    let round = Round::new(agent.round(0), T);
    let mut recording = Recording { fixture, round, waiting: Vec::new(), writes };
    let link = |message: &str| MessageLink::new("trip", message);
    // A text with NUL is kept as any other.
    let question = NewQuery::new("Will it\0rain?").message(link("m1"));
    let (query, changes) = recording.round.ask(question, T).unwrap();
    recording.step(changes).await;
    let state = NewNode::new(NodeBody::state("I look it up."), [query]).message(link("m2"));
    let (state, changes) = recording.round.add(state, T).unwrap();
    recording.step(changes).await;
    let call = NewNode::new(NodeBody::action("search", json!({})), [state]).author("planner");
    let (call, changes) =
        recording.round.add(call.message(link("m2")).message(link("m3")), T).unwrap();
    recording.step(changes).await;
    let outcome = Changes::new().set("output", json!("a\0b")).set("success", true);
    let changes = recording.round.change(call, &outcome, Some("executor".into()), T).unwrap();
    recording.step(changes).await;
    let table = NewNode::new(NodeBody::table("/rain.csv"), [call]).edge(edge::PRODUCES);
    let (_, changes) = recording.round.add(table, T).unwrap();
    recording.step(changes).await;
    let answer = NewNode::new(NodeBody::response("Take a coat."), [call]).message(link("m4"));
    let (_, changes) = recording.round.add(answer, T).unwrap();
    recording.step(changes).await;
    recording.round.set_state(RoundState::Closed, T);
    recording.writes = 1;
    recording.step(Vec::new()).await;
    recording.round
}

#[tokio::test]
async fn a_turn_is_kept_alike_however_its_steps_are_written() {
    let fixture = StoreFixture::new().await;
    let trajectories = fixture.store.trajectories().unwrap();
    let mut whole = None;
    for writes in 0..1 << (TURN_STEPS - 1) {
        let agent = AgentRef::new("ada", "monday", writes);
        let round = turn(&fixture, &agent, writes).await;
        let kept = trajectories.load_rounds(&agent, 0..=0).await.unwrap().remove(0);
        assert_eq!(kept.head, round.head(), "{writes:b}");
        let whole = whole.get_or_insert_with(|| kept.clone());
        assert_eq!((&kept.nodes, &kept.edges), (&whole.nodes, &whole.edges), "{writes:b}");
    }
    assert_eq!(fixture.problems().await, [""; 0]);
}

/// The connection keeps statements for a limited number of forms of commits. Others are written
/// too.
#[tokio::test]
async fn commits_of_many_forms_are_written() {
    let fixture = StoreFixture::new().await;
    for links in 0..16 {
        let agent = AgentRef::new("ada", "monday", links);
        let link = |at: u32| MessageLink::new("trip", format!("m{at}"));
        let mut round = Round::new(agent.round(0), T);
        let question = (0..links)
            .fold(NewQuery::new("Will it rain?"), |question, at| question.message(link(at)));
        let (query, changes) = round.ask(question, T).unwrap();
        record(&fixture, &mut round, changes).await;
        let mut last = query;
        for body in bodies().into_iter().take(6) {
            let is_computed = is_computed(&body);
            let new = (0..links).fold(node(body, last), |new, at| new.message(link(at)));
            let (added, changes) = round.add(new, T).unwrap();
            last = if is_computed { added } else { last };
            record(&fixture, &mut round, changes).await;
        }
        let trajectories = fixture.store.trajectories().unwrap();
        let kept = trajectories.load_rounds(&agent, 0..=0).await.unwrap().remove(0);
        assert_eq!(kept.head, round.head());
        assert!(kept.nodes.iter().all(|node| node.messages.len() == links as usize), "{links}");
    }
    assert_eq!(fixture.problems().await, [""; 0]);
}
