//! The measured rounds, the same in every run.

use std::sync::Arc;

use context_runtime::trajectory::{
    Change, Changes, Measures, MessageLink, NewNode, NewQuery, NodeBody, NodeId, Round,
    RoundRecord, RoundState, TrajectoryNode, edge,
};
use context_runtime::{
    Timestamp,
    store::RoundCommit,
    trajectory::{AgentRef, RoundRef},
};

/// The number of nodes in a round.
pub(crate) const NODES: usize = 40;

/// Returns the agent whose rounds are measured.
pub(crate) fn agent(session: &str) -> AgentRef {
    AgentRef::main("user", session)
}

pub(crate) fn at(i: usize) -> Timestamp {
    Timestamp::from_micros(1_790_000_000_000_000 + i as i64)
}

/// Returns the output of an action: 400 characters.
pub(crate) fn output(i: usize) -> Changes {
    let mut text = format!("Row {i}:");
    while text.len() < 400 {
        text.push_str(" 2026-03-01, Funchal, 19 degrees;");
    }
    text.truncate(400);
    Changes::new().set("output", serde_json::Value::from(text)).set("success", true)
}

/// Returns the body of a node by its number, from 1.
pub(crate) fn body(i: usize) -> NodeBody {
    match i % 3 {
        1 => NodeBody::state(format!("Step {i}: what was found says where it is warm in March.")),
        2 => NodeBody::action(
            "weather",
            serde_json::json!({"place": "Funchal", "month": 3, "page": i}),
        ),
        _ => NodeBody::file(format!("/data/weather/page-{i}.csv")),
    }
}

/// A round that grows.
#[derive(Clone)]
pub(crate) struct GrowingRound {
    pub(crate) round: Round,
    /// The newest computation.
    last: NodeId,
    pub(crate) next: usize,
}

impl GrowingRound {
    /// Creates a round with a question.
    pub(crate) fn new(round: RoundRef) -> (Self, Vec<Change>) {
        let mut round = Round::new(round, at(0));
        let (last, changes) =
            round.ask(NewQuery::new("Where is it warm in March?"), at(0)).unwrap();
        (Self { round, last, next: 1 }, changes)
    }

    /// Creates a round of this many nodes, and returns the changes that made it.
    pub(crate) fn of(round: RoundRef, nodes: usize) -> (Self, Vec<Change>) {
        let (mut growing, mut changes) = Self::new(round);
        while growing.next < nodes {
            changes.extend(growing.step());
        }
        (growing, changes)
    }

    pub(crate) fn add(&mut self, body: NodeBody) -> Vec<Change> {
        let new = place(self.next, body, self.last);
        let (id, changes) = self.round.add(new, at(self.next)).unwrap();
        self.last = last(self.next, id, self.last);
        self.next += 1;
        changes
    }

    /// Adds a node, and changes the output of an action.
    fn step(&mut self) -> Vec<Change> {
        let i = self.next;
        let mut changes = self.add(body(i));
        if i % 3 == 2 {
            changes.extend(self.round.change(self.last, &output(i), None, at(i)).unwrap());
        }
        changes
    }

    /// Returns a commit of these changes.
    pub(crate) fn commit(&mut self, changes: Vec<Change>) -> RoundCommit {
        self.round.committed();
        RoundCommit::new(format!("key-{}", self.round.revision()), changes, self.round.head())
    }
}

/// Returns a node after the newest computation.
pub(crate) fn place(i: usize, body: NodeBody, after: NodeId) -> NewNode {
    let new = NewNode::new(body, [after]);
    if i.is_multiple_of(3) { new.edge(edge::PRODUCES) } else { new }
}

/// Returns the newest computation after a node was added.
pub(crate) fn last(i: usize, added: NodeId, before: NodeId) -> NodeId {
    if i.is_multiple_of(3) { before } else { added }
}

/// Returns rounds of an agent, each with the commit that writes it.
pub(crate) fn rounds(
    agent: &AgentRef,
    numbers: std::ops::Range<usize>,
) -> Vec<(Arc<Round>, RoundCommit)> {
    let round = |number| {
        let (mut growing, changes) = GrowingRound::of(agent.round(number as u32), NODES);
        let commit = growing.commit(changes);
        (Arc::new(growing.round), commit)
    };
    numbers.map(round).collect()
}

/// Returns a node for plain collections.
pub(crate) fn plain(i: usize, body: NodeBody) -> Arc<TrajectoryNode> {
    let label = format!("{}{i:05}", body.kind().lower());
    Arc::new(TrajectoryNode::new(NodeId::new(0, i as u32), label, body, at(i)))
}

/// The number of nodes of the round of a turn.
pub(crate) const TURN_NODES: usize = 4;

/// Returns the commits of the round of a turn with one tool call, each with what it adds.
pub(crate) fn turn(number: usize) -> [(RoundCommit, RoundRecord); 3] {
    let mut round = Round::new(agent("turns").round(number as u32), at(0));
    let link = |message: usize| MessageLink::new("chat", format!("message-{number}-{message}"));
    let mut measures = Measures::default();
    (measures.started_at, measures.ended_at) = (Some(at(0)), Some(at(1)));
    (measures.provider, measures.model) = (Some("anthropic".into()), Some("large".into()));
    (measures.input_tokens, measures.output_tokens) = (Some(900), Some(30));

    let question = NewQuery::new("How is the weather in Lisbon?").message(link(0));
    let (question, asked) = round.ask(question, at(0)).unwrap();
    let asked = added(&mut round, asked, (0, 0));

    let answer = NewNode::new(NodeBody::state("I look it up."), [question]);
    let (answer, mut changes) =
        round.add(answer.message(link(1)).measure(measures.clone()), at(1)).unwrap();
    let call = NodeBody::action("weather", serde_json::json!({"city": "Lisbon"}));
    let call = NewNode::new(call, [answer]).message(link(1)).message(link(2));
    let (call, more) = round.add(call, at(2)).unwrap();
    changes.extend(more);
    changes.extend(round.change(call, &output(number), None, at(3)).unwrap());
    let called = added(&mut round, changes, (1, 0));

    let response = NodeBody::response("It is warm, and the train leaves at nine.");
    let response = NewNode::new(response, [call]).message(link(3)).measure(measures);
    let (_, changes) = round.add(response, at(4)).unwrap();
    round.set_state(RoundState::Closed, at(4));
    let closed = added(&mut round, changes, (3, 2));
    [asked, called, closed]
}

/// Returns a commit of these changes with what it adds: the nodes and edges from these places on.
fn added(
    round: &mut Round,
    changes: Vec<Change>,
    (node, edge): (usize, usize),
) -> (RoundCommit, RoundRecord) {
    round.committed();
    let commit = RoundCommit::new(format!("key-{}", round.revision()), changes, round.head());
    let RoundRecord { nodes, edges, .. } = round.to_record();
    let record = RoundRecord::new(round.head(), nodes[node..].to_vec(), edges[edge..].to_vec());
    (commit, record)
}
