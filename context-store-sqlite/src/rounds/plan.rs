//! The operations of a commit, folded.

use std::collections::HashSet;

use context_core::store::RoundCommit;
use context_core::trajectory::{Change, Changes, Edge, RoundRecord, Version};

use crate::error::Result;
use crate::rounds::refusal::{absent, damaged, refused};

/// The operations of a commit, ordered so that no operation depends on a node that another removes.
pub(crate) struct Plan<'a> {
    /// New nodes, in their final state.
    pub(crate) fresh: RoundRecord,
    /// New edges that remain after the commit.
    pub(crate) edges: Vec<&'a Edge>,
    /// Changes of existing nodes.
    pub(crate) changed: Vec<(u32, &'a Version, &'a Changes)>,
    /// Existing nodes that are removed.
    pub(crate) gone: HashSet<u32>,
}

impl<'a> Plan<'a> {
    pub(crate) fn of(commit: &'a RoundCommit) -> Result<Self> {
        let (mut added, mut removed) = (HashSet::new(), HashSet::new());
        let (mut fresh, mut edges, mut changed, mut gone) =
            (Vec::new(), Vec::new(), Vec::new(), HashSet::new());
        for change in &commit.changes {
            match change {
                Change::NodeAdded { node } => {
                    added.insert(node.id);
                    fresh.push(change.clone());
                }
                Change::EdgeAdded { edge } => edges.push(edge),
                Change::NodeChanged { id, version, now } => {
                    if added.contains(id) {
                        fresh.push(change.clone());
                    } else if gone.contains(&id.ordinal) {
                        return Err(absent(id.ordinal));
                    } else {
                        changed.push((id.ordinal, version, now));
                    }
                }
                Change::NodeRemoved { id } => {
                    removed.insert(*id);
                    if added.contains(id) {
                        fresh.push(change.clone());
                    } else if !gone.insert(id.ordinal) {
                        return Err(absent(id.ordinal));
                    }
                }
                _ => return Err(damaged("this program does not know a change of the commit")),
            }
        }
        edges.retain(|edge| !removed.contains(&edge.from) && !removed.contains(&edge.to));
        let mut record = RoundRecord::new(commit.head.clone(), Vec::new(), Vec::new());
        record.apply(&fresh, &commit.head).map_err(refused)?;
        Ok(Self { fresh: record, edges, changed, gone })
    }

    /// Whether no stored node is changed or removed.
    pub(crate) fn only_adds(&self) -> bool {
        self.changed.is_empty() && self.gone.is_empty()
    }
}
