//! The subgraph of the active branches.

use std::collections::{BTreeMap, BTreeSet};

use super::{Bridge, Trajectory};
use context_core::trajectory::{Edge, NodeId, Round, TrajectoryNodeKind};

/// The active branches of a trajectory, with the data and responses attached to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pruned {
    /// The retained nodes.
    pub nodes: BTreeSet<NodeId>,
    /// The edges between retained nodes.
    pub edges: Vec<Edge>,
}

impl Trajectory {
    /// Retains the nodes that led to the active endpoints of each round, and the data and responses
    /// attached to them. If the newest round has no active endpoint, everything is retained. A
    /// round without endpoints is retained completely.
    pub fn pruned(&self) -> Pruned {
        let all = self.endpoints().is_empty();
        let live: BTreeMap<u32, Vec<bool>> =
            self.rounds().map(|round| (round.round().round, live(round, all))).collect();
        let is_live =
            |id: NodeId| live.get(&id.round).and_then(|round| round.get(id.ordinal as usize));
        let is_live = |id: NodeId| is_live(id).is_some_and(|live| *live);
        let nodes = self.nodes().map(|node| node.id).filter(|id| is_live(*id)).collect();
        let own = self.rounds().flat_map(|round| round.edges());
        let own = own.filter(|edge| is_live(edge.from) && is_live(edge.to)).cloned();
        let bridges =
            self.bridges().iter().filter(|bridge| is_live(bridge.from) && is_live(bridge.to));
        Pruned { nodes, edges: own.chain(bridges.map(Bridge::edge)).collect() }
    }
}

/// Returns for each node of a round, by number, whether it is retained.
fn live(round: &Round, all: bool) -> Vec<bool> {
    if all || round.endpoints().len() == 0 {
        return round.leads_to(round.nodes().map(|node| node.id));
    }
    let mut live = round.leads_to(round.endpoints().chain(round.query().map(|query| query.id)));
    let hangs_on =
        |kind: TrajectoryNodeKind| !kind.is_computation() || kind == TrajectoryNodeKind::Response;
    for id in round.order() {
        let hanging = round.node(id).is_some_and(|node| hangs_on(node.kind()));
        if hanging && round.predecessors(id).any(|edge| live[edge.from.ordinal as usize]) {
            live[id.ordinal as usize] = true;
        }
    }
    live
}
