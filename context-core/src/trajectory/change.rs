//! Changes of a round as data, for stores and journals.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Changes, Edge, NodeId, TrajectoryNode, Version};

/// One step of a change to a round. A [`Round`](super::Round) creates changes. A store applies the
/// changes of one call in order, all or none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
// Neither internally tagged nor flattened, because serde would buffer JSON that must be kept as it
// was written.
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change {
    /// A node was added.
    NodeAdded {
        /// The node, without versions.
        node: Arc<TrajectoryNode>,
    },
    /// An edge of the round was added. Both ends exist in the round, or the edge is a reference to
    /// an earlier round.
    EdgeAdded {
        /// The edge.
        edge: Edge,
    },
    /// Fields of a node got new values.
    NodeChanged {
        /// The node.
        id: NodeId,
        /// The previous values of the fields, which become the node's last version.
        version: Version,
        /// The new values.
        now: Changes,
    },
    /// A node was removed, together with all edges of the round at this node.
    NodeRemoved {
        /// The node.
        id: NodeId,
    },
}
