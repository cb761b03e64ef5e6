//! The findings of an import.

use std::fmt;

use context_core::Json;
use context_core::base::display::shown;
use context_core::trajectory::TrajectoryNodeKind;

/// A part that an import could not take over unchanged.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ImportFinding {
    /// The file. Empty if the text did not come from a file.
    pub file: String,
    /// The problem.
    pub problem: Problem,
}

impl ImportFinding {
    pub(super) fn new(file: &str, problem: Problem) -> Self {
        Self { file: file.to_owned(), problem }
    }
}

impl fmt::Display for ImportFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.file.as_str() {
            "" => self.problem.fmt(f),
            file => write!(f, "{}: {}", shown(file), self.problem),
        }
    }
}

/// The problem of a finding. `Display` and `Debug` show names but no content; left-out content is
/// in the fields.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file is not a graph. Nothing was imported from it.
    #[error("not a graph of a round: {reason}")]
    Unreadable {
        /// The reason.
        reason: String,
    },
    /// There is a pointer file without its graph file.
    #[error("no graph is beside it")]
    NoGraph,
    /// Numbers that JSON does not have were turned into strings.
    #[error("{count} numbers without a JSON form, such as NaN, became texts")]
    NotNumbers {
        /// The number of such numbers.
        count: usize,
    },
    /// An unknown entry of the file, left out.
    #[error("unknown entry {name:?}")]
    UnknownEntry {
        /// The name.
        name: String,
        /// The value.
        value: Json,
    },
    /// A vertex that has no name or is not an object, left out.
    #[error("vertex {index} has no name")]
    Unnamed {
        /// The position in the list, from 0.
        index: usize,
    },
    /// A vertex of an unknown type, left out.
    #[error("{} is of no known type", shown(.node))]
    UnknownType {
        /// The vertex.
        node: String,
    },
    /// A vertex with two contradicting types. The type in its name is used.
    #[error("{} states another type, {stated:?}", shown(.node))]
    OtherType {
        /// The vertex.
        node: String,
        /// The other type.
        stated: String,
    },
    /// A duplicate vertex. The first one is used.
    #[error("{} occurs twice", shown(.node))]
    DuplicateNode {
        /// The vertex.
        node: String,
    },
    /// A vertex that is too large, has too long a label or exceeds the number of nodes, left out.
    #[error("{} is above a limit", shown(.node))]
    TooLarge {
        /// The vertex.
        node: String,
    },
    /// An attribute that nodes of this kind do not have, left out.
    #[error("{} has the unknown attribute {name:?}", shown(.node))]
    UnknownAttribute {
        /// The vertex.
        node: String,
        /// The name.
        name: String,
        /// The value.
        value: Json,
    },
    /// An attribute whose value has another type than its field. It was turned into text or into
    /// the field's default.
    #[error("{} of {} has another form", shown(.name), shown(.node))]
    OtherForm {
        /// The vertex.
        node: String,
        /// The attribute.
        name: String,
        /// The value.
        value: Json,
    },
    /// A required field is missing. It is empty in the node.
    #[error("{} has no {field}, which a {kind} has", shown(.node))]
    MissingField {
        /// The vertex.
        node: String,
        /// The kind.
        kind: TrajectoryNodeKind,
        /// The field.
        field: &'static str,
    },
    /// A vertex that states a different round. It was imported into this one.
    #[error("{} states that it belongs to round {}", shown(.node), shown(.stated))]
    OtherRound {
        /// The vertex.
        node: String,
        /// The stated round.
        stated: String,
    },
    /// More than one question. The first is the question of the round; the others are ordinary
    /// nodes.
    #[error("{count} questions in one round")]
    SeveralQueries {
        /// The number of questions.
        count: usize,
    },
    /// An edge that is not an object with two ends and a name within the length limit, left out.
    #[error("edge {index} is not an edge")]
    BadEdge {
        /// The position in the list, from 0.
        index: usize,
    },
    /// An edge with an end that does not exist, left out.
    #[error("the edge {name:?} from {} to {} has an end that does not exist", shown(.from), shown(.to))]
    Dangling {
        /// The source.
        from: String,
        /// The target.
        to: String,
        /// The name of the edge.
        name: String,
    },
    /// An edge that closes a cycle, left out.
    #[error("the edge {name:?} from {} to {} closes a cycle", shown(.from), shown(.to))]
    Cycle {
        /// The source.
        from: String,
        /// The target.
        to: String,
        /// The name of the edge.
        name: String,
    },
    /// A duplicate edge. The first one is used.
    #[error("the edge {name:?} from {} to {} occurs twice", shown(.from), shown(.to))]
    DuplicateEdge {
        /// The source.
        from: String,
        /// The target.
        to: String,
        /// The name of the edge.
        name: String,
    },
    /// A bridge to another round, left out because bridges are derived.
    #[error("the bridge from {} to {} is derived", shown(.from), shown(.to))]
    Bridge {
        /// The source.
        from: String,
        /// The target.
        to: String,
    },
    /// An attribute of an edge, left out.
    #[error("the edge from {} to {} has the unknown attribute {name:?}", shown(.from), shown(.to))]
    EdgeAttribute {
        /// The source.
        from: String,
        /// The target.
        to: String,
        /// The name.
        name: String,
        /// The value.
        value: Json,
    },
    /// A pointer to a node that does not exist, left out.
    #[error("a pointer to {}, which does not exist", shown(.node))]
    LostPointer {
        /// The node.
        node: String,
    },
    /// The pointer file cannot be read. The round has no open ends.
    #[error("the pointers cannot be read: {reason}")]
    BadPointers {
        /// The reason.
        reason: String,
    },
}

impl fmt::Debug for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Problem({self})")
    }
}
