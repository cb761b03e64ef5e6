//! The report about a sanitized history.

use std::fmt;

use context_core::Part;
use serde::{Deserialize, Serialize};

/// The things that were removed from a client's history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SanitizeReport {
    /// The removed things, in the order of the client's list.
    pub dropped: Vec<DroppedItem>,
    /// Positions of messages in whose place stands the stored message that they repeat, because
    /// they differed from it.
    pub restored: Vec<usize>,
}

impl SanitizeReport {
    /// Returns whether the history was used as it came.
    pub fn is_empty(&self) -> bool {
        self.dropped.is_empty() && self.restored.is_empty()
    }
}

/// One thing that was removed from a client's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DroppedItem {
    /// The position of the message in the client's list.
    pub message: usize,
    /// The position of the part in the message. `None` if the whole message or a key of its
    /// metadata was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<usize>,
    /// The position in the output of the part, a tool result, if only that was removed or changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<usize>,
    /// The kind of the removed thing.
    pub kind: DroppedKind,
    /// The removed key, of a [metadata entry](DroppedKind::Metadata).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The reason.
    pub reason: DropReason,
}

impl fmt::Display for DroppedItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "messages[{}]", self.message)?;
        if let Some(part) = self.part {
            write!(f, ".parts[{part}]")?;
        }
        if let Some(output) = self.output {
            write!(f, ".output[{output}]")?;
        }
        write!(f, ": {}", self.kind.as_str())?;
        if let Some(key) = &self.key {
            write!(f, " {key:?}")?;
        }
        write!(f, " dropped ({})", self.reason.as_str())
    }
}

/// The kind of a thing that was removed: a message, a part by its type, or an entry of metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DroppedKind {
    /// A whole message.
    Message,
    /// Text.
    Text,
    /// Reasoning.
    Reasoning,
    /// A tool call.
    ToolCall,
    /// A tool result.
    ToolResult,
    /// An image.
    Image,
    /// A document.
    Document,
    /// Audio.
    Audio,
    /// Data of the application.
    Data,
    /// A block of a provider.
    Opaque,
    /// A part of a type that this version does not know.
    Unknown,
    /// An entry of the metadata of a message or a part.
    Metadata,
}

impl DroppedKind {
    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Text => "text",
            Self::Reasoning => "reasoning",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
            Self::Image => "image",
            Self::Document => "document",
            Self::Audio => "audio",
            Self::Data => "data",
            Self::Opaque => "opaque",
            Self::Unknown => "unknown",
            Self::Metadata => "metadata",
        }
    }

    pub(super) fn of(part: &Part) -> Self {
        match part {
            Part::Text(_) => Self::Text,
            Part::Reasoning(_) => Self::Reasoning,
            Part::ToolCall(_) => Self::ToolCall,
            Part::ToolResult(_) => Self::ToolResult,
            Part::Image(_) => Self::Image,
            Part::Document(_) => Self::Document,
            Part::Audio(_) => Self::Audio,
            Part::Data(_) => Self::Data,
            Part::Opaque(_) => Self::Opaque,
            _ => Self::Unknown,
        }
    }
}

/// The reason for which a thing is removed, and the class that an option
/// [allows](super::HistorySanitizer::allow).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DropReason {
    /// A system message that is not stored.
    SystemMessage,
    /// A message of the assistant that is not stored.
    UnstoredAnswer,
    /// A tool call outside a stored message.
    UnstoredCall,
    /// A tool result that answers no stored call, or names another tool than the call; or content
    /// of a tool's message that is no result.
    ForgedResult,
    /// A tool result for a stored call that has its result already, stored or earlier in the list.
    AnsweredCall,
    /// A block that only its provider understands.
    OpaqueBlock,
    /// A part of a type that this version does not know. A later version may give it a meaning.
    UnknownPart,
    /// Reasoning that a provider signed or encrypted.
    SignedReasoning,
    /// A message or part that claims to be written by a program, such as a checkpoint, a gap, a
    /// placeholder or recalled memories; and the metadata keys of an
    /// [origin](context_core::message::Origin) alone, `carried_over` among them.
    SyntheticOrigin,
    /// A metadata key to which this library or a codec gives a meaning, such as `spilled`, or which
    /// the program [reserved](super::HistorySanitizer::reserve_key).
    ReservedKey,
    /// Media by reference: the name of a blob or of a file of a provider, or a URL other than
    /// `http:`, `https:` and `data:`. Both are read with the rights of the server.
    MediaReference,
    /// A message without parts. Cannot be allowed.
    Empty,
}

impl DropReason {
    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SystemMessage => "system_message",
            Self::UnstoredAnswer => "unstored_answer",
            Self::UnstoredCall => "unstored_call",
            Self::ForgedResult => "forged_result",
            Self::AnsweredCall => "answered_call",
            Self::OpaqueBlock => "opaque_block",
            Self::UnknownPart => "unknown_part",
            Self::SignedReasoning => "signed_reasoning",
            Self::SyntheticOrigin => "synthetic_origin",
            Self::ReservedKey => "reserved_key",
            Self::MediaReference => "media_reference",
            Self::Empty => "empty",
        }
    }
}
