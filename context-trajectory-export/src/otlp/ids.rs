//! Ids of traces and spans, derived deterministically from rounds and nodes.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::form::{SpanId, TraceId};
use context_trajectory::{AgentNode, SessionGraph};

/// An agent and the number of one of its rounds.
pub(super) type AgentRound = (u32, u32);

/// The ids of a session.
pub(super) struct Ids {
    session: blake3::Hasher,
    /// For each round, the round with which its trace starts.
    roots: HashMap<AgentRound, AgentRound>,
}

impl Ids {
    pub(super) fn of(graph: &SessionGraph) -> Self {
        let mut session = blake3::Hasher::new_derive_key("context trajectory, ids of traces, 1");
        for name in [graph.user().as_str(), graph.session().as_str()] {
            session.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes());
        }
        Self { session, roots: roots(graph) }
    }

    /// Returns the trace of a round: that of the round that called it, if there is one.
    pub(super) fn trace(&self, round: AgentRound) -> TraceId {
        let (agent, round) = self.roots.get(&round).copied().unwrap_or(round);
        TraceId(self.id(b"trace", &[agent, round]))
    }

    /// Returns whether a round starts a trace, because no selected node called it.
    pub(super) fn begins_trace(&self, round: AgentRound) -> bool {
        self.roots.get(&round).is_none_or(|root| *root == round)
    }

    /// Returns the span of a whole round.
    pub(super) fn round(&self, (agent, round): AgentRound) -> SpanId {
        SpanId(self.id(b"round", &[agent, round]))
    }

    /// Returns the span of a node.
    pub(super) fn node(&self, node: AgentNode) -> SpanId {
        SpanId(self.id(b"node", &[node.agent, node.node.round, node.node.ordinal]))
    }

    fn id<const N: usize>(&self, kind: &[u8], numbers: &[u32]) -> [u8; N] {
        let mut hasher = self.session.clone();
        hasher.update(kind);
        for number in numbers {
            hasher.update(&number.to_le_bytes());
        }
        let mut id = [0; N];
        hasher.finalize_xof().fill(&mut id);
        id
    }
}

/// Follows the callers of each round up to a round without a selected caller. Rounds that call each
/// other in a cycle, which only happens with damaged heads, get traces of their own.
fn roots(graph: &SessionGraph) -> HashMap<AgentRound, AgentRound> {
    let callers: BTreeMap<AgentRound, AgentRound> = graph
        .agents()
        .flat_map(|agent| agent.rounds().map(move |round| (agent.number(), round)))
        .filter_map(|(agent, round)| {
            let parent = round.parent().filter(|parent| graph.shows(*parent))?;
            Some(((agent, round.number()), (parent.agent, parent.node.round)))
        })
        .collect();
    let mut roots: HashMap<AgentRound, AgentRound> = HashMap::new();
    for start in callers.keys().copied() {
        let (mut way, mut on_way, mut at) = (Vec::new(), HashSet::new(), start);
        let root = loop {
            if let Some(root) = roots.get(&at) {
                break Some(*root);
            }
            if !on_way.insert(at) {
                break None;
            }
            way.push(at);
            match callers.get(&at) {
                Some(caller) => at = *caller,
                None => break Some(at),
            }
        };
        roots.extend(way.into_iter().map(|round| (round, root.unwrap_or(round))));
    }
    roots
}
