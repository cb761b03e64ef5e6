//! The stored form of a boundary.

use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::base::CodecError;
use crate::history::{BoundaryKind, PlanReport};
use crate::message::MessageHash;
use crate::{Encoded, Message, MessageId};

/// The body of a boundary node: the messages to show from the history before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StoredBoundary {
    /// The kind of the cut. Of several, the last one.
    pub kind: BoundaryKind,
    /// The policy that made the cut. Empty if no policy did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub policy: String,
    /// A human-readable description.
    #[serde(rename = "what", default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Tokens of the history before the compaction.
    #[serde(default)]
    pub before: u64,
    /// Tokens of the history after the compaction.
    #[serde(default)]
    pub after: u64,
    /// Number of shown messages from before the boundary.
    #[serde(default)]
    pub retained: u64,
    /// The messages that are shown first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub front: Vec<FrontEntry>,
    /// Number of messages right before the boundary that are shown after `front`. Boundaries among
    /// them are not counted.
    #[serde(default)]
    pub since: u64,
    /// Shorter forms of some of the shown messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<Replacement>,
    /// The boundary that this one undoes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<MessageId>,
    /// The plans that were applied, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<BoundaryStep>,
}

/// A message that is shown before the messages that `since` counts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrontEntry {
    /// A stored message.
    Stored(MessageId),
    /// A message that a compaction made, such as a checkpoint. It is stored nowhere else.
    Made {
        /// The id under which the message is shown.
        id: MessageId,
        /// The message.
        message: Arc<Message>,
    },
}

/// A shorter form of a stored message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replacement {
    /// The id of the stored message.
    pub id: MessageId,
    /// The hash of the message that was shortened. If the stored message has another hash by now,
    /// it is shown in full.
    pub of: MessageHash,
    /// The shorter form.
    pub message: Arc<Message>,
}

/// A plan that was applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BoundaryStep {
    /// The name of the policy.
    pub policy: String,
    /// The kind of cut.
    pub kind: BoundaryKind,
    /// A human-readable description.
    #[serde(rename = "what", default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Tokens of the history before the plan.
    pub before: u64,
    /// Tokens of the history after the plan.
    pub after: u64,
}

impl From<&PlanReport> for BoundaryStep {
    fn from(report: &PlanReport) -> Self {
        Self {
            policy: report.policy.to_owned(),
            kind: report.kind,
            description: report.description.clone(),
            before: report.before,
            after: report.after,
        }
    }
}

impl StoredBoundary {
    /// The kind under which boundaries are stored.
    pub const KIND: &'static str = "boundary";
    /// The written version of the JSON form. Older versions can be read.
    pub const VERSION: u16 = 1;

    /// Returns the stored form.
    pub fn encode(&self) -> Encoded {
        let bytes =
            serde_json::to_vec(self).expect("a boundary has text keys and valid raw values");
        Encoded::new(Self::KIND, Self::VERSION, bytes)
    }

    /// Parses a stored form of this version or an older one.
    pub fn decode(encoded: &Encoded) -> Result<Self, CodecError> {
        encoded.expect_kind(Self::KIND, Self::VERSION)?;
        serde_json::from_slice(encoded.bytes())
            .map_err(|error| CodecError::malformed(encoded, error))
    }

    /// Returns the boundary without content derived from a stored message. `None` if it holds no
    /// such content.
    ///
    /// The shorter form of the message is removed. `covered` states that the message is before the
    /// boundary and not shown behind it. In this case messages made by compactions may describe it,
    /// and they are replaced by a fixed text.
    #[must_use]
    pub fn without(&self, message: &MessageId, covered: bool) -> Option<Self> {
        let mut left = self.clone();
        left.replaced.retain(|replacement| replacement.id != *message);
        for entry in left.front.iter_mut().filter(|_| covered) {
            if let FrontEntry::Made { message, .. } = entry {
                *message = Arc::new(removed_content_note(message));
            }
        }
        if left == *self {
            return None;
        }
        // Descriptions are a policy's words and may quote the message.
        left.description.clear();
        left.steps.iter_mut().for_each(|step| step.description.clear());
        Some(left)
    }
}

/// Returns the replacement for a compaction's message that described a removed message.
fn removed_content_note(message: &Message) -> Message {
    const TEXT: &str =
        "[A summary of earlier messages was removed here, together with one of these messages.]";
    // The origin states the purpose of the message and holds no content.
    Message::text(message.role, TEXT).with_origin(message.origin())
}

/// The JSON form of an entry or a replacement, for writing.
#[derive(Serialize)]
struct EntryRef<'a> {
    id: &'a MessageId,
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<MessageHash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a Message>,
}

/// The JSON form of an entry or a replacement, for reading.
#[derive(Deserialize)]
struct EntryForm {
    id: MessageId,
    of: Option<MessageHash>,
    message: Option<Message>,
}

impl Serialize for FrontEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Stored(id) => EntryRef { id, of: None, message: None },
            Self::Made { id, message } => EntryRef { id, of: None, message: Some(message) },
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FrontEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let EntryForm { id, message, .. } = EntryForm::deserialize(deserializer)?;
        Ok(match message {
            None => Self::Stored(id),
            Some(message) => Self::Made { id, message: Arc::new(message) },
        })
    }
}

impl Serialize for Replacement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        EntryRef { id: &self.id, of: Some(self.of), message: Some(&self.message) }
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Replacement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let EntryForm { id, of, message } = EntryForm::deserialize(deserializer)?;
        let of = of.ok_or_else(|| D::Error::missing_field("of"))?;
        let message = message.ok_or_else(|| D::Error::missing_field("message"))?;
        Ok(Self { id, of, message: Arc::new(message) })
    }
}
