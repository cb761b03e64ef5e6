//! The net effect of a commit to a round: the rows to add, change and remove.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use context_core::store::RoundCommit;
use context_core::trajectory::{
    Change, Changes, Edge, NodeId, RoundRecord, TrajectoryNode, Version,
};

use crate::error::Result;

/// The name of the operation.
pub(crate) const RECORD: &str = "record_round";

/// The rows to write. Nodes that are added and removed again are in none of them.
pub(crate) struct RoundPlan<'a> {
    pub(crate) commit: &'a RoundCommit,
    /// New nodes in their final state, with their versions.
    pub(crate) added: Vec<Arc<TrajectoryNode>>,
    pub(crate) edges: Vec<Edge>,
    /// New values of existing nodes.
    pub(crate) changed: BTreeMap<u32, Changes>,
    /// Earlier versions of these nodes.
    pub(crate) versions: Vec<(u32, &'a Version)>,
    /// Existing nodes that are removed.
    pub(crate) removed: BTreeSet<u32>,
}

impl<'a> RoundPlan<'a> {
    pub(crate) fn of(commit: &'a RoundCommit) -> Result<Self> {
        let added: BTreeSet<NodeId> = commit.changes.iter().filter_map(added).collect();
        // Applying the changes of new nodes to an empty record yields their final state and the
        // edges that remain.
        let own: Vec<Change> = commit
            .changes
            .iter()
            .filter(|change| subject(change).is_none_or(|id| added.contains(&id)))
            .cloned()
            .collect();
        let mut record = RoundRecord::new(commit.head.clone(), Vec::new(), Vec::new());
        record.apply(&own, &commit.head).map_err(|error| error.during(RECORD))?;
        let mut plan = Self {
            commit,
            added: record.nodes,
            edges: record.edges,
            changed: BTreeMap::new(),
            versions: Vec::new(),
            removed: BTreeSet::new(),
        };
        for change in &commit.changes {
            match change {
                Change::NodeChanged { id, version, now } if !added.contains(id) => {
                    let changes = plan.changed.entry(id.ordinal).or_default();
                    *changes =
                        now.iter().fold(std::mem::take(changes), |changes, (name, value)| {
                            changes.set(name, value.clone())
                        });
                    plan.versions.push((id.ordinal, version));
                }
                Change::NodeRemoved { id } if !added.contains(id) => {
                    plan.removed.insert(id.ordinal);
                }
                _ => {}
            }
        }
        let round = commit.head.round.round;
        let gone = |id: NodeId| id.round == round && plan.removed.contains(&id.ordinal);
        plan.edges.retain(|edge| !gone(edge.from) && !gone(edge.to));
        plan.changed.retain(|ordinal, _| !plan.removed.contains(ordinal));
        plan.versions.retain(|(ordinal, _)| !plan.removed.contains(ordinal));
        Ok(plan)
    }

    /// Returns the number of edges, versions and messages that are added to the round.
    pub(crate) fn dependent_rows(&self) -> usize {
        let new: usize =
            self.added.iter().map(|node| node.versions.len() + node.messages.len()).sum();
        self.edges.len() + self.versions.len() + new
    }

    /// Returns the numbers of the existing nodes that are removed.
    pub(crate) fn removed_nodes(&self) -> Vec<i64> {
        self.removed.iter().map(|ordinal| i64::from(*ordinal)).collect()
    }

    /// Returns the changes of existing nodes.
    pub(crate) fn changes_to_stored(&self) -> Vec<Change> {
        let added: BTreeSet<NodeId> = self.commit.changes.iter().filter_map(added).collect();
        let all = self.commit.changes.iter();
        all.filter(|change| subject(change).is_some_and(|id| !added.contains(&id)))
            .cloned()
            .collect()
    }

    /// Returns the numbers of the existing nodes that are changed or removed.
    pub(crate) fn touched_nodes(&self) -> Vec<i64> {
        self.changed.keys().chain(&self.removed).map(|ordinal| i64::from(*ordinal)).collect()
    }
}

fn added(change: &Change) -> Option<NodeId> {
    match change {
        Change::NodeAdded { node } => Some(node.id),
        _ => None,
    }
}

/// Returns the node that a change is about.
fn subject(change: &Change) -> Option<NodeId> {
    match change {
        Change::NodeAdded { node } => Some(node.id),
        Change::NodeChanged { id, .. } | Change::NodeRemoved { id } => Some(*id),
        _ => None,
    }
}
