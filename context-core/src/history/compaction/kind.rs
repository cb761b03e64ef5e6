//! Kinds of cuts.

use serde::{Deserialize, Serialize};

/// What kind of cut was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BoundaryKind {
    /// Earlier messages were replaced by a checkpoint, or by nothing.
    Compact,
    /// Old results of tools were shortened.
    Microcompact,
    /// Turns in the middle were left out.
    Snip,
    /// Media were taken out.
    Strip,
    /// An earlier cut was undone.
    Undo,
}

impl BoundaryKind {
    /// The stable name.
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
