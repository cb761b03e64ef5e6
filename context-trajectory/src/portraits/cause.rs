//! The origin of a data node within its round.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use context_core::trajectory::{NodeId, Round, TrajectoryNode, TrajectoryNodeKind};

/// The action that made a node, and the conclusion before the action.
#[derive(Clone, Debug, Default)]
pub(super) struct Cause {
    pub(super) action: Option<Arc<TrajectoryNode>>,
    pub(super) state: Option<Arc<TrajectoryNode>>,
}

/// Returns the cause of a node. Only nodes of the round are searched: no bridge leads from a data
/// node to the work of another round.
pub(super) fn cause(round: &Round, id: NodeId) -> Cause {
    let action = nearest(round, id, TrajectoryNodeKind::Action);
    let from = action.as_ref().map_or(id, |action| action.id);
    Cause { state: nearest(round, from, TrajectoryNodeKind::State), action }
}

/// Returns the nearest predecessor of a kind.
fn nearest(round: &Round, id: NodeId, kind: TrajectoryNodeKind) -> Option<Arc<TrajectoryNode>> {
    let (mut open, mut seen) = (VecDeque::from([id]), HashSet::from([id]));
    while let Some(next) = open.pop_front() {
        for edge in round.predecessors(next) {
            if !seen.insert(edge.from) {
                continue;
            }
            match round.node(edge.from) {
                Some(node) if node.kind() == kind => return Some(node.clone()),
                _ => open.push_back(edge.from),
            }
        }
    }
    None
}
