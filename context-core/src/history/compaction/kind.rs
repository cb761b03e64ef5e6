//! Cuts and their kinds.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Plan;
use crate::Metadata;

/// The kind of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BoundaryKind {
    /// Earlier messages were replaced by a checkpoint, or removed.
    Compact,
    /// Old tool results were shortened.
    Microcompact,
    /// Turns in the middle were removed.
    Snip,
    /// Media were removed.
    Strip,
    /// An earlier cut was undone.
    Undo,
}

impl BoundaryKind {
    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Compact => "compact",
            Self::Microcompact => "microcompact",
            Self::Snip => "snip",
            Self::Strip => "strip",
            Self::Undo => "undo",
        }
    }
}

/// A cut between a history and the messages that are sent of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Boundary {
    /// The kind of cut.
    #[serde(rename = "type")]
    pub kind: BoundaryKind,
    /// The number of messages that are left.
    pub retained_messages: usize,
    /// The plan's `policy`, its tokens `before` and `after`, and its description `what`. A boundary
    /// that is stored also has its `id`.
    pub metadata: Metadata,
}

impl Boundary {
    /// Creates a boundary that leaves this many messages.
    pub fn new(kind: BoundaryKind, retained_messages: usize) -> Self {
        Self { kind, retained_messages, metadata: Metadata::default() }
    }

    /// Creates the boundary of a plan that leaves this many messages.
    pub(super) fn of(plan: &Plan, retained_messages: usize) -> Self {
        let metadata = Metadata::default()
            .with("policy", Value::from(plan.policy))
            .with("before", Value::from(plan.before))
            .with("after", Value::from(plan.after))
            .with("what", Value::from(plan.description.as_str()));
        Self { kind: plan.kind, retained_messages, metadata }
    }
}
