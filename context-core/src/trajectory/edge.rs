//! Edges and their names.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use super::{NodeId, TrajectoryError, TrajectoryNodeKind};
use crate::base::limits;

/// From a query or state to an action that it led to.
pub const TRIGGERS: &str = "triggers";
/// From a query, action or state to a state (conclusion).
pub const HAS_CONCLUSION: &str = "has_conclusion";
/// From any node to a response.
pub const HAS_RESPONSE: &str = "has_response";
/// From the end of a round to the query of the next round. Derived from the order of rounds, never
/// recorded.
pub const CONTINUES_TO: &str = "continues_to";
/// From an action to data that it made.
pub const PRODUCES: &str = "produces";
/// From a table to its columns.
pub const HAS_COLUMN: &str = "has_column";
/// From a computation to recorded data that it read. A reference, not part of the flow.
pub const REFERS_TO: &str = "refers_to";
/// From a query to a file that was attached to it.
pub const HAS_ADDITIONAL_FILE: &str = "has_additional_file";
/// From a query to a table that was attached to it.
pub const HAS_ADDITIONAL_TABLE: &str = "has_additional_table";

/// The known names in addition to the inferred ones.
const NAMED: &[&str] = &[
    PRODUCES,
    HAS_COLUMN,
    REFERS_TO,
    HAS_ADDITIONAL_FILE,
    HAS_ADDITIONAL_TABLE,
    "has_script",
    "generates",
    "find_relevant_knowledge",
    "find_relevant_tool",
    "find_relevant_data",
    "find_relevant_skill",
];

/// An edge between two nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Edge {
    /// The node where the edge starts.
    pub from: NodeId,
    /// The node where the edge ends.
    pub to: NodeId,
    /// The name, which gives the edge its meaning.
    pub name: Arc<str>,
}

impl Edge {
    /// Creates an edge.
    pub fn new(from: NodeId, to: NodeId, name: impl Into<Arc<str>>) -> Self {
        Self { from, to, name: name.into() }
    }

    /// Returns the relation that the edge belongs to.
    pub fn relation(&self) -> Relation {
        Relation::of(&self.name)
    }
}

/// The relation of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Relation {
    /// The source comes before the target.
    Flow,
    /// The source mentions the target.
    Reference,
}

impl Relation {
    /// Returns the relation of edges with this name.
    pub fn of(name: &str) -> Self {
        if name == REFERS_TO { Self::Reference } else { Self::Flow }
    }
}

/// Infers the name of an edge from nodes of these kinds to a node of `kind`, if it is unambiguous.
///
/// Edges to a response are [`HAS_RESPONSE`]. Otherwise all predecessors must be of one kind:
/// queries and states trigger actions; queries, actions and states have conclusions; actions
/// produce data. A file or table after queries was attached to them: [`HAS_ADDITIONAL_FILE`],
/// [`HAS_ADDITIONAL_TABLE`]. Nothing can be inferred for other data after a query or a state, for
/// what follows data, or without predecessors.
pub fn infer(
    predecessors: &[TrajectoryNodeKind],
    kind: TrajectoryNodeKind,
) -> Result<&'static str, TrajectoryError> {
    infer_from(predecessors.iter().copied(), kind)
}

fn infer_from(
    mut predecessors: impl Iterator<Item = TrajectoryNodeKind>,
    kind: TrajectoryNodeKind,
) -> Result<&'static str, TrajectoryError> {
    use TrajectoryNodeKind::{Action, File, Query, Response, State, Table};
    let refuse = Err(TrajectoryError::EdgeNameRequired { kind });
    let Some(first) = predecessors.next() else { return refuse };
    if kind == Response {
        return Ok(HAS_RESPONSE);
    }
    if predecessors.any(|other| other != first) {
        return refuse;
    }
    match (first, kind) {
        (Query | State, Action) => Ok(TRIGGERS),
        (Query | State | Action, State) => Ok(HAS_CONCLUSION),
        (Action, data) if !data.is_computation() => Ok(PRODUCES),
        (Query, File) => Ok(HAS_ADDITIONAL_FILE),
        (Query, Table) => Ok(HAS_ADDITIONAL_TABLE),
        _ => refuse,
    }
}

/// The names that are inferred, which all edges share.
static INFERRED: LazyLock<[Arc<str>; 6]> = LazyLock::new(|| {
    [TRIGGERS, HAS_CONCLUSION, HAS_RESPONSE, PRODUCES, HAS_ADDITIONAL_FILE, HAS_ADDITIONAL_TABLE]
        .map(Arc::from)
});

/// Infers a name like [`infer`], without an allocation.
pub(super) fn infer_shared(
    predecessors: impl Iterator<Item = TrajectoryNodeKind>,
    kind: TrajectoryNodeKind,
) -> Result<Arc<str>, TrajectoryError> {
    let name = infer_from(predecessors, kind)?;
    let shared = INFERRED.iter().find(|shared| ***shared == *name);
    Ok(shared.map_or_else(|| name.into(), Arc::clone))
}

/// The edge names that callers may use.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EdgeNames {
    /// The names of this module and these.
    Known(BTreeSet<Cow<'static, str>>),
    /// Any name, including an empty one.
    Any,
}

impl Default for EdgeNames {
    fn default() -> Self {
        Self::Known(BTreeSet::new())
    }
}

impl EdgeNames {
    /// Creates a set of the known names and these.
    pub fn known(more: impl IntoIterator<Item = impl Into<Cow<'static, str>>>) -> Self {
        Self::Known(more.into_iter().map(Into::into).collect())
    }

    /// Refuses names that are not allowed, too long, or reserved for derived edges
    /// ([`CONTINUES_TO`]).
    pub fn check(&self, name: &str) -> Result<(), TrajectoryError> {
        TrajectoryError::too_much("name of an edge, bytes", name.len(), limits::MAX_ID_BYTES)?;
        let inferred = [TRIGGERS, HAS_CONCLUSION, HAS_RESPONSE];
        let fine = name != CONTINUES_TO
            && match self {
                Self::Any => true,
                Self::Known(more) => {
                    inferred.contains(&name) || NAMED.contains(&name) || more.contains(name)
                }
            };
        if fine { Ok(()) } else { Err(TrajectoryError::EdgeNameRefused { name: name.into() }) }
    }
}
