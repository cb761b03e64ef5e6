//! What an import could not take as it was.

use std::fmt;

use context_core::Json;
use context_core::base::shown::shown;
use context_core::trajectory::NodeKind;

/// Something that an import could not take as it was.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Finding {
    /// In which file; empty if the text came without one.
    pub file: String,
    /// What.
    pub problem: Problem,
}

impl Finding {
    pub(super) fn new(file: &str, problem: Problem) -> Self {
        Self { file: file.to_owned(), problem }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.file.as_str() {
            "" => self.problem.fmt(f),
            file => write!(f, "{}: {}", shown(file), self.problem),
        }
    }
}

/// What could not be taken. `Display` and `Debug` name things and show no content; what was left
/// out is in the fields.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file is no graph: nothing of it was taken.
    #[error("not a graph of a round: {reason}")]
    Unreadable {
        /// What is wrong with it.
        reason: String,
    },
    /// There is a file of pointers without its graph.
    #[error("no graph stands beside it")]
    NoGraph,
    /// Numbers that JSON does not have became texts.
    #[error("{count} numbers that are none, such as NaN, became texts")]
    NotNumbers {
        /// How many.
        count: usize,
    },
    /// The file says more than is known; left out.
    #[error("unknown entry {name:?}")]
    UnknownEntry {
        /// What it is called.
        name: String,
        /// What it holds.
        value: Json,
    },
    /// A vertex without a name, or that is no object; left out.
    #[error("vertex {index} has no name")]
    Unnamed {
        /// Its place in the list, from 0.
        index: usize,
    },
    /// A vertex of a type that is not known; left out.
    #[error("{} is of no known type", shown(.node))]
    UnknownType {
        /// The vertex.
        node: String,
    },
    /// Two types are said of a vertex; that of its name counts.
    #[error("{} is said to be a {said:?}", shown(.node))]
    OtherType {
        /// The vertex.
        node: String,
        /// The other type.
        said: String,
    },
    /// A vertex that stands twice; the first counts.
    #[error("{} stands twice", shown(.node))]
    DuplicateNode {
        /// The vertex.
        node: String,
    },
    /// A vertex that is too large, or has too long a label, or is one too many; left out.
    #[error("{} is above a limit", shown(.node))]
    TooLarge {
        /// The vertex.
        node: String,
    },
    /// An attribute that nodes of this kind do not have; left out.
    #[error("{} has the unknown attribute {name:?}", shown(.node))]
    UnknownAttribute {
        /// The vertex.
        node: String,
        /// What it is called.
        name: String,
        /// What it holds.
        value: Json,
    },
    /// An attribute in another form than its field has; it became text, or the field's usual value.
    #[error("{} of {} is in another form", shown(.name), shown(.node))]
    OtherForm {
        /// The vertex.
        node: String,
        /// The attribute.
        name: String,
        /// What it holds.
        value: Json,
    },
    /// A field that must be given is not there; it is empty now.
    #[error("{} has no {field}, which a {kind} has", shown(.node))]
    MissingField {
        /// The vertex.
        node: String,
        /// Its kind.
        kind: NodeKind,
        /// The field.
        field: &'static str,
    },
    /// A vertex that says it is of another round; taken into this one.
    #[error("{} says it is of round {}", shown(.node), shown(.said))]
    OtherRound {
        /// The vertex.
        node: String,
        /// The round.
        said: String,
    },
    /// More than one question; the first counts as that of the round, the others are nodes like
    /// others.
    #[error("{count} questions in one round")]
    SeveralQueries {
        /// How many.
        count: usize,
    },
    /// An edge that is no object with two ends and a name that is not too long; left out.
    #[error("edge {index} is none")]
    BadEdge {
        /// Its place in the list, from 0.
        index: usize,
    },
    /// An edge with an end that is not there; left out.
    #[error("the edge {name:?} from {} to {} has lost an end", shown(.from), shown(.to))]
    Dangling {
        /// From here.
        from: String,
        /// To there.
        to: String,
        /// Its name.
        name: String,
    },
    /// An edge that closes a cycle; left out.
    #[error("the edge {name:?} from {} to {} closes a cycle", shown(.from), shown(.to))]
    Cycle {
        /// From here.
        from: String,
        /// To there.
        to: String,
        /// Its name.
        name: String,
    },
    /// An edge that stands twice; the first counts.
    #[error("the edge {name:?} from {} to {} stands twice", shown(.from), shown(.to))]
    DuplicateEdge {
        /// From here.
        from: String,
        /// To there.
        to: String,
        /// Its name.
        name: String,
    },
    /// A bridge to another round; left out, since bridges are derived.
    #[error("the bridge from {} to {} is derived", shown(.from), shown(.to))]
    Bridge {
        /// From here.
        from: String,
        /// To there.
        to: String,
    },
    /// An attribute of an edge; left out.
    #[error("the edge from {} to {} has the unknown attribute {name:?}", shown(.from), shown(.to))]
    EdgeAttribute {
        /// From here.
        from: String,
        /// To there.
        to: String,
        /// What it is called.
        name: String,
        /// What it holds.
        value: Json,
    },
    /// A pointer to a node that is not there; left out.
    #[error("a pointer to {}, which is not there", shown(.node))]
    LostPointer {
        /// The node.
        node: String,
    },
    /// The file of pointers cannot be read; the round has no open ends.
    #[error("the pointers cannot be read: {reason}")]
    BadPointers {
        /// What is wrong with it.
        reason: String,
    },
}

impl fmt::Debug for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Problem({self})")
    }
}
