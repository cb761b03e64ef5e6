//! Why a change of a trajectory is refused.

use thiserror::Error as ThisError;

use super::{NodeId, NodeKind};
use crate::base::shown::shown;
use crate::{Error, ErrorKind};

/// Why a change of a trajectory is refused, or a record of one cannot be read. Nothing was changed.
#[derive(Clone, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum TrajectoryError {
    /// There is no such kind of nodes.
    #[error("no kind of nodes is called {name:?}")]
    UnknownKind {
        /// The name.
        name: String,
    },
    /// A field that must be given is missing, or null.
    #[error("a {kind} needs the field {field}")]
    MissingField {
        /// Of this kind.
        kind: NodeKind,
        /// The field.
        field: &'static str,
    },
    /// There is no such field.
    #[error("a {kind} has no field {field:?}")]
    UnknownField {
        /// Of this kind.
        kind: NodeKind,
        /// The field.
        field: String,
    },
    /// A field is of another form.
    #[error("the field {field} of a {kind} is {expected}")]
    WrongForm {
        /// Of this kind.
        kind: NodeKind,
        /// The field.
        field: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// A field that says which node it is cannot be changed.
    #[error("{field} of a node never changes")]
    FixedField {
        /// The field.
        field: String,
    },
    /// A node other than the question comes first.
    #[error("the round has no query yet: it begins with one")]
    NoQueryYet,
    /// A second question in one round.
    #[error("the round has its query: another one begins another round")]
    SecondQuery,
    /// A node without a predecessor.
    #[error("a node follows at least one other: name its predecessors")]
    NoPredecessor,
    /// A predecessor is not in the round.
    #[error("no node {node} in this round to follow")]
    UnknownPredecessor {
        /// The predecessor.
        node: NodeId,
    },
    /// A predecessor stands twice.
    #[error("{node} is named twice as predecessor")]
    RepeatedPredecessor {
        /// The predecessor.
        node: NodeId,
    },
    /// A predecessor is of another round.
    #[error(
        "{node} is of another round: what follows stands in the round of today, references may point back"
    )]
    HistoricalPredecessor {
        /// The predecessor.
        node: NodeId,
    },
    /// There is no such node.
    #[error("no node {}", shown(.node))]
    UnknownNode {
        /// The node, as it was named.
        node: String,
    },
    /// A text that names no node.
    #[error(
        "{text:?} names no node: nodes are called as in Action(action00000), or by round and number as in 0.3"
    )]
    BadNodeId {
        /// The text.
        text: String,
    },
    /// What the edge means does not follow from what it connects.
    #[error("name the edge: what leads to a {kind} here cannot be inferred")]
    EdgeNameRequired {
        /// What is added.
        kind: NodeKind,
    },
    /// An edge of this name is not known, empty, or not for callers.
    #[error("no edge may be called {name:?} here: use a known name, declare it, or allow any")]
    EdgeNameRefused {
        /// The name.
        name: String,
    },
    /// An edge stands there already.
    #[error("an edge {name:?} leads from {from} to {to} already")]
    DuplicateEdge {
        /// From here.
        from: NodeId,
        /// To there.
        to: NodeId,
        /// Its name.
        name: String,
    },
    /// A reference that does not lead from a computation of this round to data.
    #[error(
        "a reference leads from something that was asked, concluded, done or answered in this round to data: not from {from} to {to}"
    )]
    BadReference {
        /// From here.
        from: NodeId,
        /// To there.
        to: NodeId,
    },
    /// An edge would close a cycle.
    #[error("{to} leads to {from} already: an edge back would be a cycle")]
    Cycle {
        /// From here.
        from: NodeId,
        /// To there.
        to: NodeId,
    },
    /// The label is in use.
    #[error("another {kind} has the label {label:?}")]
    DuplicateLabel {
        /// Of this kind.
        kind: NodeKind,
        /// The label.
        label: String,
    },
    /// A branch is advanced or closed where it does not end.
    #[error(
        "{node} is no active endpoint, so no branch can be advanced or closed there: append instead"
    )]
    NotEndpoint {
        /// The node.
        node: NodeId,
    },
    /// A node has successors, so removing it alone would split the graph.
    #[error("{node} has {successors} successors: remove them too, or splice")]
    HasSuccessors {
        /// The node.
        node: NodeId,
        /// How many.
        successors: usize,
    },
    /// A field or name is too long, or there are too many of something.
    #[error("{what}: {size} is above the limit of {limit}")]
    TooMuch {
        /// What.
        what: &'static str,
        /// How much there is: bytes, or things.
        size: usize,
        /// How much there may be.
        limit: usize,
    },
    /// No queue has this name.
    #[error("no queue is called {name:?}: there are pre, todo and post")]
    UnknownQueue {
        /// The name.
        name: String,
    },
    /// A step of a workflow has no name, or is no object.
    #[error("step {index} of {list} needs a name and may have params, an object")]
    BadStep {
        /// The list.
        list: String,
        /// The step, from 0.
        index: usize,
    },
    /// A record contradicts itself.
    #[error("the record of the round is damaged: {what}")]
    Damaged {
        /// What is wrong.
        what: String,
    },
}

crate::readable_debug!(TrajectoryError);

impl TrajectoryError {
    /// The stable name, for programs.
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

    /// As an error of an effectful call.
    pub fn during(self, operation: &'static str) -> Error {
        let kind = match self {
            Self::UnknownNode { .. } => ErrorKind::NotFound,
            Self::Damaged { .. } => ErrorKind::Corrupt,
            _ => ErrorKind::Invalid,
        };
        Error::new(kind, operation, "the trajectory refuses it")
            .with("reason", self.code())
            .with_source(self)
    }

    pub(super) fn too_much(what: &'static str, size: usize, limit: usize) -> Result<(), Self> {
        if size <= limit { Ok(()) } else { Err(Self::TooMuch { what, size, limit }) }
    }
}
