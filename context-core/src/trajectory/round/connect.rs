//! Edges between existing nodes.

use super::super::{Change, Edge, NodeId, Relation, TrajectoryError, TrajectoryNode, edge};
use super::Round;
use crate::Timestamp;

impl Round {
    /// Adds an edge between two nodes of this round. Without a name, the name is inferred.
    pub fn connect(
        &mut self,
        from: NodeId,
        to: NodeId,
        name: Option<&str>,
        at: Timestamp,
    ) -> Result<Vec<Change>, TrajectoryError> {
        for end in [from, to] {
            if end.round != self.head.round.round {
                return Err(TrajectoryError::HistoricalPredecessor { node: end });
            }
        }
        let known = |id: NodeId| {
            self.node(id).cloned().ok_or(TrajectoryError::UnknownNode { node: id.to_string() })
        };
        let (source, target) = (known(from)?, known(to)?);
        let name = match name {
            Some(name) => {
                self.names.check(name)?;
                name
            }
            None => edge::infer(&[source.kind()], target.kind())?,
        };
        if Relation::of(name) == Relation::Reference {
            return self.refer(from, &target, at);
        }
        if from == to || self.reaches(to, from) {
            return Err(TrajectoryError::Cycle { from, to });
        }
        self.connected(Edge::new(from, to, name), at)
    }

    /// Records that a computation of this round read data that is already recorded, in this round
    /// or an earlier one.
    pub fn refer(
        &mut self,
        from: NodeId,
        to: &TrajectoryNode,
        at: Timestamp,
    ) -> Result<Vec<Change>, TrajectoryError> {
        let source =
            self.node(from).ok_or(TrajectoryError::UnknownNode { node: from.to_string() })?;
        let backwards = to.id.round <= from.round;
        if !source.kind().is_computation() || to.kind().is_computation() || !backwards {
            return Err(TrajectoryError::BadReference { from, to: to.id });
        }
        if to.id.round == from.round {
            if self.index_of(to.id).is_none() {
                return Err(TrajectoryError::UnknownNode { node: to.id.to_string() });
            }
            if self.reaches(to.id, from) {
                return Err(TrajectoryError::Cycle { from, to: to.id });
            }
        }
        self.connected(Edge::new(from, to.id, edge::REFERS_TO), at)
    }

    fn connected(&mut self, edge: Edge, at: Timestamp) -> Result<Vec<Change>, TrajectoryError> {
        if self.edges_from(edge.from).any(|known| *known == edge) {
            let Edge { from, to, name } = edge;
            return Err(TrajectoryError::DuplicateEdge { from, to, name: (*name).into() });
        }
        self.put_edge(edge.clone());
        self.touch(at);
        Ok(vec![Change::EdgeAdded { edge }])
    }

    /// Returns whether edges of any relation lead from one node to another.
    fn reaches(&self, from: NodeId, to: NodeId) -> bool {
        let mut seen = vec![false; self.nodes.len()];
        let mut open = vec![from];
        while let Some(id) = open.pop() {
            if id == to {
                return true;
            }
            let Some(at) = self.index_of(id) else { continue };
            if !std::mem::replace(&mut seen[at], true) {
                open.extend(self.edges_from(id).map(|edge| edge.to));
            }
        }
        false
    }
}
