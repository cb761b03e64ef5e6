//! What a change does, as data: what stores keep and journals replay.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Changes, Edge, Node, NodeId, Version};

/// One step of what was done to a round. A [`Round`](super::Round) makes them; whoever keeps a
/// round does them in order, all or none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
// Neither tagged within nor flattened: that would buffer JSON that is kept as it was written.
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change {
    /// A node is new.
    NodeAdded {
        /// The node, as it is now; without versions.
        node: Arc<Node>,
    },
    /// An edge of the round is new. Both ends are there, or it is a reference to an earlier round.
    EdgeAdded {
        /// The edge.
        edge: Edge,
    },
    /// Fields of a node have new values.
    NodeChanged {
        /// The node.
        id: NodeId,
        /// What the fields were; the last version from now on.
        version: Version,
        /// What they are.
        now: Changes,
    },
    /// A node is gone, and with it every edge of the round that led to it or from it.
    NodeRemoved {
        /// The node.
        id: NodeId,
    },
}
