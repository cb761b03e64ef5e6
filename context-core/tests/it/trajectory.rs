//! Trajectories: the graph of a round, and combined rounds.

mod edges;
mod edits;
mod endpoints;
mod indexes;
mod nodes;
mod properties;

use context_core::Timestamp;
use context_core::trajectory::{
    AgentRef, Change, NewNode, NewQuery, NodeBody, NodeId, Round, TrajectoryError,
};

/// An arbitrary time.
const NOW: Timestamp = Timestamp::from_micros(1_000_000);

fn agent() -> AgentRef {
    AgentRef::main("ann", "monday")
}

fn round(number: u32) -> Round {
    Round::new(agent().round(number), NOW)
}

/// Creates a round with a query, which is node 0.
fn round_with_query(number: u32) -> Round {
    let mut round = round(number);
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

type Added = Result<(NodeId, Vec<Change>), TrajectoryError>;

fn add(round: &mut Round, body: NodeBody, after: &[u32]) -> NodeId {
    let number = round.round().round;
    let after = after.iter().map(|ordinal| NodeId::new(number, *ordinal));
    let new = NewNode::new(body, after);
    let new = if new_needs_a_name(&new, round) { new.edge("produces") } else { new };
    round.add(new, NOW).unwrap().0
}

/// Returns whether the name of the edge to a node cannot be inferred.
fn new_needs_a_name(new: &NewNode, round: &Round) -> bool {
    let mut trial = round.clone();
    matches!(trial.add(new.clone(), NOW), Err(TrajectoryError::EdgeNameRequired { .. }))
}

fn try_add(round: &mut Round, new: NewNode) -> Added {
    round.add(new, NOW)
}

fn titles(round: &Round) -> Vec<String> {
    round.nodes().map(|node| node.title().to_string()).collect()
}

fn endpoints(round: &Round) -> Vec<u32> {
    round.endpoints().map(|id| id.ordinal).collect()
}

/// Checks that a call is refused with this code, and that the round is unchanged.
#[track_caller]
fn refused<T>(
    round: &mut Round,
    code: &str,
    call: impl FnOnce(&mut Round) -> Result<T, TrajectoryError>,
) {
    let before = round.to_record();
    let Err(error) = call(round) else { panic!("not refused: {code}") };
    assert_eq!(error.code(), code);
    assert_eq!(round.to_record(), before, "a refusal changed the round");
}
