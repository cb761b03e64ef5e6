//! Traversal of a round.

use std::collections::{HashSet, VecDeque};

use super::super::{Edge, NodeId, Relation, TrajectoryError, TrajectoryNodeKind};
use super::Round;
use super::links::End;

impl Round {
    /// Returns the flow edges that lead to a node.
    pub fn predecessors(&self, id: NodeId) -> impl Iterator<Item = &Edge> {
        let edges = self.index_of(id).into_iter().flat_map(|at| self.edges.of(at, End::Target));
        edges.filter(|edge| edge.relation() == Relation::Flow)
    }

    /// Returns the flow edges that lead from a node.
    pub fn successors(&self, id: NodeId) -> impl Iterator<Item = &Edge> {
        self.edges_from(id).filter(|edge| edge.relation() == Relation::Flow)
    }

    /// Returns the edges of both relations that lead from a node.
    pub fn edges_from(&self, id: NodeId) -> impl Iterator<Item = &Edge> {
        self.index_of(id).into_iter().flat_map(|at| self.edges.of(at, End::Source))
    }

    /// Returns the nodes without successors.
    pub fn leaves(&self) -> impl Iterator<Item = NodeId> {
        let ids = self.nodes().map(|node| node.id);
        ids.filter(|id| self.successors(*id).next().is_none())
    }

    /// Returns the nodes in topological order of the flow. Nodes at the same distance are in the
    /// order of their edges. Nodes on a cycle, which only a damaged record has, are left out.
    pub fn order(&self) -> Vec<NodeId> {
        let mut waiting: Vec<usize> = vec![0; self.nodes.len()];
        let mut ready = VecDeque::new();
        for node in self.nodes() {
            let before = self.predecessors(node.id).count();
            waiting[node.id.ordinal as usize] = before;
            if before == 0 {
                ready.push_back(node.id);
            }
        }
        let mut order = Vec::with_capacity(self.len());
        while let Some(id) = ready.pop_front() {
            order.push(id);
            for edge in self.successors(id) {
                let left = &mut waiting[edge.to.ordinal as usize];
                *left -= 1;
                if *left == 0 {
                    ready.push_back(edge.to);
                }
            }
        }
        order
    }

    /// Returns the nodes that led to these nodes, including them.
    pub fn ancestors(&self, ids: impl IntoIterator<Item = NodeId>) -> HashSet<NodeId> {
        let led = self.leads_to(ids);
        self.nodes().map(|node| node.id).filter(|id| led[id.ordinal as usize]).collect()
    }

    /// Returns the ancestors as flags by node number.
    pub fn leads_to(&self, ids: impl IntoIterator<Item = NodeId>) -> Vec<bool> {
        let mut open: Vec<NodeId> =
            ids.into_iter().filter(|id| self.index_of(*id).is_some()).collect();
        let mut seen = vec![false; self.nodes.len()];
        while let Some(id) = open.pop() {
            if !std::mem::replace(&mut seen[id.ordinal as usize], true) {
                open.extend(self.predecessors(id).map(|edge| edge.from));
            }
        }
        seen
    }

    /// Returns the data of an action: its direct data successors, and the data below its tables.
    /// Fails for a node that is not an action.
    pub fn data_of(&self, id: NodeId) -> Result<Vec<NodeId>, TrajectoryError> {
        let node = self.node(id).ok_or(TrajectoryError::UnknownNode { node: id.to_string() })?;
        if node.kind() != TrajectoryNodeKind::Action {
            return Err(TrajectoryError::UnknownNode {
                node: format!("{} among the actions", node.title()),
            });
        }
        let (mut open, mut seen) = (VecDeque::from([id]), HashSet::from([id]));
        let mut data = Vec::new();
        while let Some(next) = open.pop_front() {
            for edge in self.successors(next) {
                let Some(node) = self.node(edge.to).filter(|node| !node.kind().is_computation())
                else {
                    continue;
                };
                if seen.insert(edge.to) {
                    data.push(edge.to);
                    if node.kind() == TrajectoryNodeKind::Table {
                        open.push_back(edge.to);
                    }
                }
            }
        }
        Ok(data)
    }

    /// Returns the only common predecessor of all these nodes, if there is exactly one: the start
    /// of parallel branches.
    pub fn common_predecessor(&self, ids: impl IntoIterator<Item = NodeId>) -> Option<NodeId> {
        let mut common: Option<HashSet<NodeId>> = None;
        for id in ids {
            let before: HashSet<_> = self.predecessors(id).map(|edge| edge.from).collect();
            common = Some(match common {
                Some(common) => &common & &before,
                None => before,
            });
        }
        let common = common?;
        (common.len() == 1).then(|| common.into_iter().next()).flatten()
    }
}
