//! Conversion between rounds and records.

use super::super::{Relation, RoundRecord, TrajectoryError, TrajectoryNodeKind};
use super::Round;
use crate::base::limits;

impl Round {
    /// Creates a round from a record. Refuses a record that contradicts itself: missing ends of
    /// edges, edges to other rounds that are not references to earlier ones, duplicate labels,
    /// cycles.
    pub fn from_record(record: RoundRecord) -> Result<Self, TrajectoryError> {
        let RoundRecord { head, nodes, edges } = record;
        let damaged = |damage: String| Err(TrajectoryError::Damaged { damage });
        let mut round = Self::new(head.round.clone(), head.created_at);
        let number = head.round.round;
        TrajectoryError::too_much("nodes of a round", head.next as usize, limits::MAX_ROUND_NODES)?;
        round.nodes.reserve(nodes.len());
        round.edges.reserve(nodes.len(), edges.len());
        for node in nodes {
            let fine = node.id.round == number
                && node.id.ordinal < head.next
                && round.index_of(node.id).is_none();
            if !fine {
                return damaged(format!("{} is not a new node of round {number}", node.id));
            }
            let kind = node.kind();
            if round.labels.find(kind, &node.label, &round.nodes).is_some() {
                return Err(TrajectoryError::DuplicateLabel { kind, label: (*node.label).into() });
            }
            round.put_node(node);
        }
        round.nodes.resize(head.next as usize, None);
        round.edges.cover(head.next as usize);
        // Edges that lead to later nodes close no cycle.
        let mut forward = true;
        for edge in edges {
            let inside = edge.to.round == number;
            if round.index_of(edge.from).is_none() || (inside && round.index_of(edge.to).is_none())
            {
                return damaged(format!(
                    "an edge from {} to {} has an end that does not exist",
                    edge.from, edge.to
                ));
            }
            let back = edge.to.round < number && edge.relation() == Relation::Reference;
            if !inside && !back {
                return damaged(format!(
                    "an edge from {} to {} leads out of its round",
                    edge.from, edge.to
                ));
            }
            forward &= !inside || edge.from.ordinal < edge.to.ordinal;
            round.put_edge(edge);
        }
        let known = |ordinal: &u32| round.nodes.get(*ordinal as usize).is_some_and(Option::is_some);
        if let Some(lost) = head.endpoints.iter().chain(&head.query).find(|ordinal| !known(ordinal))
        {
            return damaged(format!("the head names {lost}, which does not exist"));
        }
        round.endpoints = head.endpoints.iter().copied().collect();
        let nodes = round.nodes().count();
        round.head = head;
        round.head.nodes = nodes as u32;
        round.head.endpoints = Vec::new();
        if !forward && round.order().len() != nodes {
            return damaged("its flow has a cycle".into());
        }
        Ok(round)
    }

    /// Returns the record of the round.
    pub fn to_record(&self) -> RoundRecord {
        RoundRecord::new(
            self.head(),
            self.nodes().cloned().collect(),
            self.edges().cloned().collect(),
        )
    }

    /// Returns the number of nodes of each kind that occurs.
    pub fn kinds(&self) -> Vec<(TrajectoryNodeKind, usize)> {
        let mut counts = TrajectoryNodeKind::ALL.map(|kind| (kind, 0));
        self.nodes().for_each(|node| counts[node.kind() as usize].1 += 1);
        counts.into_iter().filter(|(_, count)| *count > 0).collect()
    }
}
