//! Errors of trajectory changes.

use thiserror::Error as ThisError;

use super::{NodeId, TrajectoryNodeKind};
use crate::base::display::shown;
use crate::{Error, ErrorKind};

/// A refused change of a trajectory, or an unreadable record. Nothing was changed.
#[derive(Clone, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum TrajectoryError {
    /// No kind of node has this name.
    #[error("there is no kind of nodes {name:?}")]
    UnknownKind {
        /// The name.
        name: String,
    },
    /// A required field is missing or null.
    #[error("a {kind} needs the field {field}")]
    MissingField {
        /// The kind of the node.
        kind: TrajectoryNodeKind,
        /// The field.
        field: &'static str,
    },
    /// The kind has no such field.
    #[error("a {kind} has no field {field:?}")]
    UnknownField {
        /// The kind of the node.
        kind: TrajectoryNodeKind,
        /// The field.
        field: String,
    },
    /// The value has another form than the field.
    #[error("the field {field} of a {kind} is {expected}")]
    WrongForm {
        /// The kind of the node.
        kind: TrajectoryNodeKind,
        /// The field.
        field: &'static str,
        /// The expected form.
        expected: &'static str,
    },
    /// A field that identifies a node cannot be changed.
    #[error("{field} of a node never changes")]
    FixedField {
        /// The field.
        field: String,
    },
    /// The first node of a round must be a query.
    #[error("the round has no query yet: append one first")]
    NoQueryYet,
    /// A round has only one query.
    #[error("the round already has its query: open another round for another query")]
    SecondQuery,
    /// A node needs at least one predecessor.
    #[error("a node needs at least one predecessor: name it")]
    NoPredecessor,
    /// The predecessor is not in the round.
    #[error("this round has no node {node} to follow")]
    UnknownPredecessor {
        /// The predecessor.
        node: NodeId,
    },
    /// The predecessor is listed twice.
    #[error("{node} is named twice as predecessor")]
    RepeatedPredecessor {
        /// The predecessor.
        node: NodeId,
    },
    /// The predecessor belongs to another round.
    #[error("{node} is in another round: only references may lead to earlier rounds")]
    HistoricalPredecessor {
        /// The predecessor.
        node: NodeId,
    },
    /// The node does not exist.
    #[error("no node {}", shown(.node))]
    UnknownNode {
        /// The node, as the caller named it.
        node: String,
    },
    /// The text is not a valid node name.
    #[error(
        "{text:?} is not the name of a node: write it as in Action(action00000), or as round and number, 0.3"
    )]
    BadNodeId {
        /// The text.
        text: String,
    },
    /// The name of the edge cannot be inferred from its ends.
    #[error("name the edge: the name of an edge to a {kind} cannot be inferred here")]
    EdgeNameRequired {
        /// The kind of the added node.
        kind: TrajectoryNodeKind,
    },
    /// The edge name is unknown, empty, or reserved.
    #[error("no edge may be called {name:?} here: use a known name, declare it, or allow any")]
    EdgeNameRefused {
        /// The name.
        name: String,
    },
    /// An equal edge exists already.
    #[error("an edge {name:?} leads from {from} to {to} already")]
    DuplicateEdge {
        /// The source.
        from: NodeId,
        /// The target.
        to: NodeId,
        /// The name of the edge.
        name: String,
    },
    /// A reference must lead from a computation of this round to data.
    #[error(
        "a reference leads from a query, conclusion, action or answer of this round to data, not from {from} to {to}"
    )]
    BadReference {
        /// The source.
        from: NodeId,
        /// The target.
        to: NodeId,
    },
    /// The edge would close a cycle.
    #[error("{to} leads to {from} already: an edge back would be a cycle")]
    Cycle {
        /// The source.
        from: NodeId,
        /// The target.
        to: NodeId,
    },
    /// Another node has the label.
    #[error("another {kind} has the label {label:?}")]
    DuplicateLabel {
        /// The kind of the node.
        kind: TrajectoryNodeKind,
        /// The label.
        label: String,
    },
    /// Only a branch's active endpoint can be advanced or closed.
    #[error(
        "{node} is not an active endpoint, so no branch can be advanced or closed there: append instead"
    )]
    NotEndpoint {
        /// The node.
        node: NodeId,
    },
    /// Removing this node alone would split the graph, because it has successors.
    #[error("{node} has {successors} successors: remove them too, or splice")]
    HasSuccessors {
        /// The node.
        node: NodeId,
        /// Number of successors.
        successors: usize,
    },
    /// A field or name is too long, or there are too many items.
    #[error("{quantity}: {size} is above the limit of {limit}")]
    TooMuch {
        /// The limited quantity.
        quantity: &'static str,
        /// The actual size: bytes or items.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// No queue has this name.
    #[error("there is no queue {name:?}: the queues are pre, todo and post")]
    UnknownQueue {
        /// The name.
        name: String,
    },
    /// A step of a workflow has no name, or is not an object.
    #[error("step {index} of {list} needs a name and may have params, an object")]
    BadStep {
        /// The name of the list.
        list: String,
        /// The index of the step, from 0.
        index: usize,
    },
    /// The record contradicts itself.
    #[error("the record of the round is damaged: {damage}")]
    Damaged {
        /// A description of the damage.
        damage: String,
    },
}

crate::readable_debug!(TrajectoryError);

impl TrajectoryError {
    /// Returns the stable name, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownKind { .. } => "unknown_type",
            Self::MissingField { .. } => "missing_fields",
            Self::UnknownField { .. } => "unknown_field",
            Self::WrongForm { .. } => "wrong_form",
            Self::FixedField { .. } => "fixed_field",
            Self::NoQueryYet => "no_query_yet",
            Self::SecondQuery => "second_query",
            Self::NoPredecessor => "pred_empty",
            Self::UnknownPredecessor { .. } => "pred_not_found",
            Self::RepeatedPredecessor { .. } => "pred_repeated",
            Self::HistoricalPredecessor { .. } => "pred_is_historical",
            Self::UnknownNode { .. } => "node_not_found",
            Self::BadNodeId { .. } => "bad_node_id",
            Self::EdgeNameRequired { .. } => "edge_type_required",
            Self::EdgeNameRefused { .. } => "edge_type_refused",
            Self::DuplicateEdge { .. } => "duplicate_edge",
            Self::BadReference { .. } => "bad_reference",
            Self::Cycle { .. } => "cycle",
            Self::DuplicateLabel { .. } => "duplicate_label",
            Self::NotEndpoint { .. } => "not_an_endpoint",
            Self::HasSuccessors { .. } => "has_successors",
            Self::TooMuch { .. } => "too_much",
            Self::UnknownQueue { .. } => "unknown_queue",
            Self::BadStep { .. } => "bad_step",
            Self::Damaged { .. } => "damaged",
        }
    }

    /// Converts the error into the error of a store operation.
    pub fn during(self, operation: &'static str) -> Error {
        let kind = match self {
            Self::UnknownNode { .. } => ErrorKind::NotFound,
            Self::Damaged { .. } => ErrorKind::Corrupt,
            _ => ErrorKind::Invalid,
        };
        Error::new(kind, operation, "the trajectory rejects the change")
            .with("reason", self.code())
            .with_source(self)
    }

    pub(super) fn too_much(quantity: &'static str, size: usize, limit: usize) -> Result<(), Self> {
        if size <= limit { Ok(()) } else { Err(Self::TooMuch { quantity, size, limit }) }
    }
}
