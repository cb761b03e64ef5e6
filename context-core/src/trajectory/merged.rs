//! All rounds of an agent as one graph.

mod prune;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Edge, Node, NodeId, NodeTitle, Relation, Round, TrajectoryError, edge};

pub use prune::Pruned;

/// From where a round leads to the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BridgeFrom {
    /// From every node that nothing follows, data among them.
    #[default]
    Leaves,
    /// From the active endpoints at its end; where there is none, from the leaves.
    Endpoints,
}

/// An edge from the end of a round to the question of the next one that is there. Derived whenever
/// rounds are laid side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Bridge {
    /// From here.
    pub from: NodeId,
    /// To this question.
    pub to: NodeId,
    /// How many rounds between the two are not there.
    pub missing: u32,
}

impl Bridge {
    /// As an edge.
    pub fn edge(&self) -> Edge {
        Edge::new(self.from, self.to, edge::CONTINUES_TO)
    }
}

/// The rounds of an agent side by side, bridged: one graph that begins with the first question.
///
/// The bridges are a function of the rounds alone, so they are the same whenever one looks.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::trajectory::{BridgeFrom, NewQuery, Round, Trajectory, TrajectoryError};
/// use context_core::Timestamp;
/// use context_core::trajectory::AgentRef;
///
/// let (agent, now) = (AgentRef::main("ada", "lisbon"), Timestamp::default());
/// let asked = |number, text: &str| {
///     let mut round = Round::new(agent.round(number), now);
///     round.ask(NewQuery::new(text), now)?;
///     Ok::<_, TrajectoryError>(Arc::new(round))
/// };
/// let both = Trajectory::new([asked(0, "A train?")?, asked(1, "A cheaper one?")?], BridgeFrom::default());
/// assert_eq!((both.len(), both.bridges().len()), (2, 1)); // the second question goes on from the first
/// # Ok::<(), TrajectoryError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Trajectory {
    rounds: BTreeMap<u32, Arc<Round>>,
    bridges: Vec<Bridge>,
}

impl Trajectory {
    /// Lays rounds of one agent side by side. Of two with the same number the later one counts.
    pub fn new(rounds: impl IntoIterator<Item = Arc<Round>>, from: BridgeFrom) -> Self {
        let rounds: BTreeMap<u32, Arc<Round>> =
            rounds.into_iter().map(|round| (round.round().round, round)).collect();
        let mut bridges = Vec::new();
        let mut last: Option<&Round> = None;
        for round in rounds.values().filter(|round| !round.is_empty()) {
            if let (Some(earlier), Some(query)) = (last, round.query()) {
                let missing = round.round().round - earlier.round().round - 1;
                let mut tails: Vec<NodeId> = match from {
                    BridgeFrom::Leaves => Vec::new(),
                    BridgeFrom::Endpoints => earlier.endpoints().collect(),
                };
                if tails.is_empty() {
                    tails.extend(earlier.leaves());
                }
                bridges.extend(tails.into_iter().map(|from| Bridge {
                    from,
                    to: query.id,
                    missing,
                }));
            }
            last = Some(round);
        }
        Self { rounds, bridges }
    }

    /// The rounds, by number.
    pub fn rounds(&self) -> impl DoubleEndedIterator<Item = &Arc<Round>> {
        self.rounds.values()
    }

    /// One round.
    pub fn round(&self, number: u32) -> Option<&Arc<Round>> {
        self.rounds.get(&number)
    }

    /// The question that everything follows.
    pub fn root(&self) -> Option<&Arc<Node>> {
        self.rounds.values().find_map(|round| round.query())
    }

    /// What leads from round to round.
    pub fn bridges(&self) -> &[Bridge] {
        &self.bridges
    }

    /// All nodes, by round and number.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = &Arc<Node>> {
        self.rounds.values().flat_map(|round| round.nodes())
    }

    /// All edges: those of each round, then its bridge to the next. References to what is not there
    /// are left out.
    pub fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        let own = self.rounds.values().flat_map(|round| round.edges());
        let own = own
            .filter(|edge| edge.relation() == Relation::Flow || self.node(edge.to).is_some())
            .cloned();
        own.chain(self.bridges.iter().map(Bridge::edge))
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.rounds.values().map(|round| round.len()).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rounds.values().all(|round| round.is_empty())
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> Option<&Arc<Node>> {
        self.rounds.get(&id.round)?.node(id)
    }

    /// The newest node of this name.
    pub fn find(&self, title: &NodeTitle) -> Option<&Arc<Node>> {
        self.rounds.values().rev().find_map(|round| round.find(title))
    }

    /// The node that a text means, as [`Round::resolve`] reads it; of several with one title, the
    /// newest.
    pub fn resolve(&self, text: &str) -> Result<&Arc<Node>, TrajectoryError> {
        let node = match text.parse::<NodeId>() {
            Ok(id) => self.node(id),
            Err(_) => self.find(&text.parse()?),
        };
        node.ok_or_else(|| TrajectoryError::UnknownNode { node: text.into() })
    }

    /// The active endpoints: those of the newest round that is there.
    pub fn endpoints(&self) -> Vec<NodeId> {
        let newest = self.rounds.values().rev().find(|round| !round.is_empty());
        newest.map(|round| round.endpoints().collect()).unwrap_or_default()
    }

    /// The edges that lead to a node, bridges among them, references not.
    pub fn predecessors(&self, id: NodeId) -> Vec<Edge> {
        let own = self
            .rounds
            .get(&id.round)
            .into_iter()
            .flat_map(|round| round.predecessors(id))
            .cloned();
        let at = self.bridges.partition_point(|bridge| bridge.to < id);
        let bridges = self.bridges[at..].iter().take_while(|bridge| bridge.to == id);
        own.chain(bridges.map(Bridge::edge)).collect()
    }

    /// The edges that lead from a node, bridges among them, references not.
    pub fn successors(&self, id: NodeId) -> Vec<Edge> {
        let own =
            self.rounds.get(&id.round).into_iter().flat_map(|round| round.successors(id)).cloned();
        // They are in the order of where they begin, too.
        let at = self.bridges.partition_point(|bridge| bridge.from < id);
        let bridges = self.bridges[at..].iter().take_while(|bridge| bridge.from == id);
        own.chain(bridges.map(Bridge::edge)).collect()
    }

    /// The nodes in the order of the flow, round by round.
    pub fn order(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.rounds.values().flat_map(|round| round.order())
    }

    /// The data that an action made, or that stands below its tables.
    pub fn data_of(&self, id: NodeId) -> Result<Vec<NodeId>, TrajectoryError> {
        match self.rounds.get(&id.round) {
            Some(round) => round.data_of(id),
            None => Err(TrajectoryError::UnknownNode { node: id.to_string() }),
        }
    }

    /// Which nodes led to one, over all rounds, with it: where a result comes from. References are
    /// followed if `references` says so.
    pub fn ancestors(&self, id: NodeId, references: bool) -> Vec<NodeId> {
        let (mut open, mut seen) = (vec![id], std::collections::BTreeSet::new());
        while let Some(next) = open.pop() {
            if self.node(next).is_none() || !seen.insert(next) {
                continue;
            }
            open.extend(self.predecessors(next).into_iter().map(|edge| edge.from));
            let round = self.rounds.get(&next.round).filter(|_| references);
            let read = round.into_iter().flat_map(|round| round.edges_from(next));
            open.extend(
                read.filter(|edge| edge.relation() == Relation::Reference).map(|edge| edge.to),
            );
        }
        seen.into_iter().collect()
    }
}
