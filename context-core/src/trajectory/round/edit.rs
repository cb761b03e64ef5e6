//! Changing and removing nodes.

use std::sync::Arc;

use super::super::{Change, Changes, Edge, NodeId, TrajectoryError, Version};
use super::Round;
use crate::Timestamp;
use crate::base::limits;

/// The treatment of the successors of a removed node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeRemoval {
    /// Refuse if there are successors.
    #[default]
    Leaf,
    /// Remove nodes that only this node leads to, too.
    Cascade,
    /// Connect the predecessors to the successors, with the names of the incoming edges. A query
    /// cannot be spliced.
    Splice,
}

impl Round {
    /// Sets fields of a node and records their previous values as a version. Values that are
    /// already set create no version.
    pub fn change(
        &mut self,
        id: NodeId,
        changes: &Changes,
        author: Option<Arc<str>>,
        at: Timestamp,
    ) -> Result<Vec<Change>, TrajectoryError> {
        let index = self
            .index_of(id)
            .ok_or_else(|| TrajectoryError::UnknownNode { node: id.to_string() })?;
        let Some(node) = &mut self.nodes[index] else { return Ok(Vec::new()) };
        let now = node.check(changes)?;
        if now.is_empty() {
            return Ok(Vec::new());
        }
        TrajectoryError::too_much(
            "versions of a node",
            node.versions.len() + 1,
            limits::MAX_NODE_VERSIONS,
        )?;
        let author_bytes = author.as_ref().map_or(0, |author| author.len());
        TrajectoryError::too_much("author, bytes", author_bytes, limits::MAX_ID_BYTES)?;
        let grown = now.iter().filter(|(name, _)| node.kind().field(name).is_some());
        let (mut bytes, mut was) = (node.body.bytes(), 0);
        for (name, value) in grown {
            bytes += value.bytes();
            was += node.value(name).map_or(0, |old| old.bytes());
        }
        TrajectoryError::too_much("fields of a node, bytes", bytes - was, limits::MAX_BODY_BYTES)?;
        let node = Arc::make_mut(node);
        let number = node.versions.last().map_or(0, |last| last.number + 1);
        let version = Version { number, at, author, previous: node.change(&now) };
        node.versions.push(version.clone());
        self.touch(at);
        Ok(vec![Change::NodeChanged { id, version, now }])
    }

    /// Removes a node. If it was an endpoint, its predecessors become endpoints.
    pub fn remove(
        &mut self,
        id: NodeId,
        removal: NodeRemoval,
        at: Timestamp,
    ) -> Result<Vec<Change>, TrajectoryError> {
        self.index_of(id).ok_or_else(|| TrajectoryError::UnknownNode { node: id.to_string() })?;
        let successors: Vec<NodeId> = self.successors(id).map(|edge| edge.to).collect();
        let is_query = self.head.query == Some(id.ordinal);
        let mut was_endpoint = self.endpoints.contains(&id.ordinal);
        let mut changes = Vec::new();
        match removal {
            _ if successors.is_empty() => {}
            NodeRemoval::Splice if !is_query => {}
            NodeRemoval::Cascade => {
                // Newest first, so that each node is a leaf when it is removed.
                for below in self.exclusive_descendants(id).into_iter().rev() {
                    was_endpoint |= self.endpoints.contains(&below.ordinal);
                    self.remove_node(below, &mut changes);
                }
            }
            NodeRemoval::Leaf | NodeRemoval::Splice => {
                return Err(TrajectoryError::HasSuccessors {
                    node: id,
                    successors: successors.len(),
                });
            }
        }
        let incoming: Vec<Edge> = self.predecessors(id).cloned().collect();
        let remaining: Vec<NodeId> = self.successors(id).map(|edge| edge.to).collect();
        self.remove_node(id, &mut changes);
        for before in &incoming {
            for to in &remaining {
                let edge = Edge::new(before.from, *to, before.name.clone());
                if !self.edges_from(before.from).any(|known| *known == edge) {
                    self.put_edge(edge.clone());
                    changes.push(Change::EdgeAdded { edge });
                }
            }
            if was_endpoint {
                self.endpoints.insert(before.from.ordinal);
            }
        }
        self.touch(at);
        Ok(changes)
    }

    /// Returns the nodes that only `id` leads to, in the order of the flow, without `id` itself.
    fn exclusive_descendants(&self, id: NodeId) -> Vec<NodeId> {
        let mut removed = std::collections::BTreeSet::from([id]);
        let mut below = Vec::new();
        for next in self.order() {
            let mut before = self.predecessors(next).map(|edge| edge.from).peekable();
            if before.peek().is_some()
                && before.all(|from| removed.contains(&from))
                && removed.insert(next)
            {
                below.push(next);
            }
        }
        below
    }

    fn remove_node(&mut self, id: NodeId, changes: &mut Vec<Change>) {
        let index = id.ordinal as usize;
        let Some(node) = self.nodes[index].take() else { return };
        self.labels.remove(&node);
        self.edges.remove(index, id.round);
        self.endpoints.remove(&id.ordinal);
        self.head.nodes -= 1;
        if self.head.query == Some(id.ordinal) {
            self.head.query = None;
            self.head.title = "".into();
        }
        changes.push(Change::NodeRemoved { id });
    }
}
