//! All rounds of an agent as one graph.

mod prune;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use context_core::trajectory::{
    Edge, NodeId, NodeTitle, Relation, Round, TrajectoryError, TrajectoryNode, edge,
};

pub use prune::Pruned;

/// The nodes of a round where bridges to the next round start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BridgeFrom {
    /// All nodes without successors, including data nodes.
    #[default]
    Leaves,
    /// The active endpoints at the end of the round. The leaves if there are no endpoints.
    Endpoints,
}

/// An edge from the end of a round to the query of the next available round. Derived whenever
/// rounds are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Bridge {
    /// The node where the edge starts.
    pub from: NodeId,
    /// The query where the bridge ends.
    pub to: NodeId,
    /// Number of missing rounds between the two.
    pub missing: u32,
}

impl Bridge {
    /// Converts the bridge into an edge.
    pub fn edge(&self) -> Edge {
        Edge::new(self.from, self.to, edge::CONTINUES_TO)
    }
}

/// The rounds of an agent, combined with bridges into one graph that starts with the first query.
///
/// The bridges are a function of the rounds alone, so they are deterministic.
///
/// ```
/// use std::sync::Arc;
///
/// use context_trajectory::{BridgeFrom, Trajectory};
/// use context_core::trajectory::{NewQuery, Round, TrajectoryError};
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
    continues_from: Option<u32>,
}

impl Trajectory {
    /// Combines rounds of one agent. Of two rounds with the same number the last one wins.
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
        Self { rounds, bridges, continues_from: None }
    }

    /// Marks the rounds as the end of a longer trajectory.
    pub(crate) fn continuing_from(mut self, earlier: Option<u32>) -> Self {
        self.continues_from = earlier;
        self
    }

    /// Returns the number of the newest round before the first one, if these rounds are the
    /// [end](crate::Trajectories::trajectory_end) of a longer trajectory. The bridges from that
    /// round to the first query are not among the [bridges](Self::bridges), since it was not read.
    pub fn continues_from(&self) -> Option<u32> {
        self.continues_from
    }

    /// Returns the rounds, by number.
    pub fn rounds(&self) -> impl DoubleEndedIterator<Item = &Arc<Round>> {
        self.rounds.values()
    }

    /// Returns one round.
    pub fn round(&self, number: u32) -> Option<&Arc<Round>> {
        self.rounds.get(&number)
    }

    /// Returns the first query, that of the rounds that were read.
    pub fn root(&self) -> Option<&Arc<TrajectoryNode>> {
        self.rounds.values().find_map(|round| round.query())
    }

    /// Returns the edges between rounds.
    pub fn bridges(&self) -> &[Bridge] {
        &self.bridges
    }

    /// Returns all nodes, ordered by round and number.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = &Arc<TrajectoryNode>> {
        self.rounds.values().flat_map(|round| round.nodes())
    }

    /// Returns all edges of the rounds, followed by the bridges. References to missing nodes are
    /// left out.
    pub fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        let own = self.rounds.values().flat_map(|round| round.edges());
        let own = own
            .filter(|edge| edge.relation() == Relation::Flow || self.node(edge.to).is_some())
            .cloned();
        own.chain(self.bridges.iter().map(Bridge::edge))
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.rounds.values().map(|round| round.len()).sum()
    }

    /// Returns whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.rounds.values().all(|round| round.is_empty())
    }

    /// Returns a node.
    pub fn node(&self, id: NodeId) -> Option<&Arc<TrajectoryNode>> {
        self.rounds.get(&id.round)?.node(id)
    }

    /// Returns the newest node with this title.
    pub fn find(&self, title: &NodeTitle) -> Option<&Arc<TrajectoryNode>> {
        self.rounds.values().rev().find_map(|round| round.find(title))
    }

    /// Finds a node by text, in the syntax of [`Round::resolve`]. Of several nodes with one title,
    /// the newest.
    pub fn resolve(&self, text: &str) -> Result<&Arc<TrajectoryNode>, TrajectoryError> {
        let node = match text.parse::<NodeId>() {
            Ok(id) => self.node(id),
            Err(_) => self.find(&text.parse()?),
        };
        node.ok_or_else(|| TrajectoryError::UnknownNode { node: text.into() })
    }

    /// Returns the active endpoints of the newest round that is not empty.
    pub fn endpoints(&self) -> Vec<NodeId> {
        let newest = self.rounds.values().rev().find(|round| !round.is_empty());
        newest.map(|round| round.endpoints().collect()).unwrap_or_default()
    }

    /// Returns the edges that lead to a node, including bridges but not references.
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

    /// Returns the edges that lead from a node, including bridges but not references.
    pub fn successors(&self, id: NodeId) -> Vec<Edge> {
        let own =
            self.rounds.get(&id.round).into_iter().flat_map(|round| round.successors(id)).cloned();
        // Bridges are also sorted by their start.
        let at = self.bridges.partition_point(|bridge| bridge.from < id);
        let bridges = self.bridges[at..].iter().take_while(|bridge| bridge.from == id);
        own.chain(bridges.map(Bridge::edge)).collect()
    }

    /// Returns the nodes in the order of the flow, round by round.
    pub fn order(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.rounds.values().flat_map(|round| round.order())
    }

    /// Returns the data that an action made, including data below its tables.
    pub fn data_of(&self, id: NodeId) -> Result<Vec<NodeId>, TrajectoryError> {
        match self.rounds.get(&id.round) {
            Some(round) => round.data_of(id),
            None => Err(TrajectoryError::UnknownNode { node: id.to_string() }),
        }
    }

    /// Returns the nodes that led to a node, over all rounds, including the node: the provenance of
    /// a result. References are followed if `references` is set.
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
