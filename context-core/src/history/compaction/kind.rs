//! Kinds of cuts.

use serde::{Deserialize, Serialize};

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
