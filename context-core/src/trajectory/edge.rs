//! Edges: what leads to what, and what it means.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{NodeId, NodeKind, TrajectoryError};
use crate::base::limits;

/// A question or a conclusion led to an action.
pub const TRIGGERS: &str = "triggers";
/// A question, an action or a conclusion led to a conclusion.
pub const HAS_CONCLUSION: &str = "has_conclusion";
/// Anything led to an answer.
pub const HAS_RESPONSE: &str = "has_response";
/// The end of a round led to the question of the next one. Derived from the order of rounds, never
/// recorded.
pub const CONTINUES_TO: &str = "continues_to";
/// An action made data.
pub const PRODUCES: &str = "produces";
/// A table has a column.
pub const HAS_COLUMN: &str = "has_column";
/// An action read data that is on record already: a reference beside the flow.
pub const REFERS_TO: &str = "refers_to";
/// A question came with a file.
pub const HAS_ADDITIONAL_FILE: &str = "has_additional_file";
/// A question came with a table.
pub const HAS_ADDITIONAL_TABLE: &str = "has_additional_table";

/// The names that are known beside those that are inferred.
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

/// An edge.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Edge {
    /// From here.
    pub from: NodeId,
    /// To there.
    pub to: NodeId,
    /// What it means.
    pub name: Arc<str>,
}

impl Edge {
    /// An edge.
    pub fn new(from: NodeId, to: NodeId, name: impl Into<Arc<str>>) -> Self {
        Self { from, to, name: name.into() }
    }

    /// Whether it orders what it connects.
    pub fn relation(&self) -> Relation {
        Relation::of(&self.name)
    }
}

/// Whether an edge orders what it connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Relation {
    /// One came before the other.
    Flow,
    /// One mentions the other.
    Reference,
}

impl Relation {
    /// That of edges of this name.
    pub fn of(name: &str) -> Self {
        if name == REFERS_TO { Self::Reference } else { Self::Flow }
    }
}

/// What an edge is called that leads from nodes of these kinds to one of that kind, where it can be
/// told.
///
/// To a response everything leads as [`HAS_RESPONSE`]. Otherwise all predecessors must be of one
/// kind: questions and conclusions trigger actions; questions, actions and conclusions have
/// conclusions. Of nothing, nothing follows.
pub fn infer(predecessors: &[NodeKind], kind: NodeKind) -> Result<&'static str, TrajectoryError> {
    use NodeKind::{Action, Query, Response, State};
    let refuse = Err(TrajectoryError::EdgeNameRequired { kind });
    let Some(first) = predecessors.first() else { return refuse };
    if kind == Response {
        return Ok(HAS_RESPONSE);
    }
    if predecessors.iter().any(|other| other != first) {
        return refuse;
    }
    match (first, kind) {
        (Query | State, Action) => Ok(TRIGGERS),
        (Query | State | Action, State) => Ok(HAS_CONCLUSION),
        _ => refuse,
    }
}

/// Which names edges may be given.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EdgeNames {
    /// Those of this module, and these.
    Known(BTreeSet<Cow<'static, str>>),
    /// Any, also an empty one.
    Any,
}

impl Default for EdgeNames {
    fn default() -> Self {
        Self::Known(BTreeSet::new())
    }
}

impl EdgeNames {
    /// The known ones, and these.
    pub fn known(more: impl IntoIterator<Item = impl Into<Cow<'static, str>>>) -> Self {
        Self::Known(more.into_iter().map(Into::into).collect())
    }

    /// Refuses names that are not allowed, too long, or derived ([`CONTINUES_TO`]).
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
