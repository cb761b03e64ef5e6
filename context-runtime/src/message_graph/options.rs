//! Options of drawings.

use std::fmt;
use std::str::FromStr;

use context_core::BranchName;
use context_core::base::display::shown;

/// The format of a drawing of a [`MessageGraph`](crate::MessageGraph).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GraphFormat {
    /// Lines of characters.
    Text,
    /// A Mermaid flow chart, which many Markdown viewers show.
    Mermaid,
    /// A graph in DOT, for Graphviz.
    Dot,
}

/// The error of a name that no [`GraphFormat`] has.
#[derive(thiserror::Error)]
#[error("no format {}: text, mermaid or dot", shown(.0))]
pub struct UnknownGraphFormat(String);

context_core::readable_debug!(UnknownGraphFormat);

impl GraphFormat {
    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Mermaid => "mermaid",
            Self::Dot => "dot",
        }
    }
}

impl fmt::Display for GraphFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for GraphFormat {
    type Err = UnknownGraphFormat;

    fn from_str(name: &str) -> Result<Self, UnknownGraphFormat> {
        [Self::Text, Self::Mermaid, Self::Dot]
            .into_iter()
            .find(|format| format.as_str() == name)
            .ok_or_else(|| UnknownGraphFormat(name.to_owned()))
    }
}

/// The amount of detail of a drawing of a [`MessageGraph`](crate::MessageGraph).
///
/// A turn is a message of the user and the messages up to the next one. It is one element, unless
/// it contains a fork, a boundary, or a message with a branch, a checkpoint or a pin: the element
/// ends there, and the rest of the turn is another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GraphDetail {
    /// Turns. Long runs of turns where nothing branches are counted, not drawn.
    #[default]
    Overview,
    /// All turns.
    Turns,
    /// All messages.
    Messages,
}

/// Options of a drawing of a [`MessageGraph`](crate::MessageGraph).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphOptions {
    /// The branch whose path is straight and marked. `None` for the active one. Without a branch of
    /// this name, no path is.
    pub branch: Option<BranchName>,
    /// The amount of detail.
    pub detail: GraphDetail,
    /// Whether the newest messages come first.
    pub reverse: bool,
}
