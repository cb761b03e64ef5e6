//! The stored form of a boundary.

use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::base::CodecError;
use crate::history::{BoundaryKind, PlanReport};
use crate::message::MessageHash;
use crate::{Encoded, Message, MessageId};

/// The body of a boundary: what is shown of what comes before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StoredBoundary {
    /// What kind of cut it is; of several, the last one.
    pub kind: BoundaryKind,
    /// The policy that made it; empty if none did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub policy: String,
    /// What was done, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub what: String,
    /// How many tokens the history had.
    #[serde(default)]
    pub before: u64,
    /// How many it has.
    #[serde(default)]
    pub after: u64,
    /// How many messages are shown of what comes before the boundary.
    #[serde(default)]
    pub retained: u64,
    /// What is shown first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub front: Vec<FrontEntry>,
    /// How many messages right before the boundary are shown behind `front`; boundaries among them
    /// are not counted.
    #[serde(default)]
    pub since: u64,
    /// Which of the messages shown are shown in a shorter form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<Replacement>,
    /// The boundary that this one takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<MessageId>,
    /// The plans that were applied, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<BoundaryStep>,
}

/// A message that is shown before those that `since` counts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrontEntry {
    /// A stored message.
    Stored(MessageId),
    /// One that a compaction made, such as a checkpoint. It is stored nowhere else.
    Made {
        /// What it is called when it is shown.
        id: MessageId,
        /// The message.
        message: Arc<Message>,
    },
}

/// A stored message in a shorter form.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replacement {
    /// The stored message.
    pub id: MessageId,
    /// What it was when it was shortened. If it is another by now, it is shown as it is.
    pub of: MessageHash,
    /// The shorter form.
    pub message: Arc<Message>,
}

/// A plan that was applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BoundaryStep {
    /// The policy.
    pub policy: String,
    /// What kind of cut.
    pub kind: BoundaryKind,
    /// What was done, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub what: String,
    /// Tokens of the history before.
    pub before: u64,
    /// Tokens of the history after.
    pub after: u64,
}

impl From<&PlanReport> for BoundaryStep {
    fn from(report: &PlanReport) -> Self {
        Self {
            policy: report.policy.to_owned(),
            kind: report.kind,
            what: report.what.clone(),
            before: report.before,
            after: report.after,
        }
    }
}

impl StoredBoundary {
    /// The kind under which boundaries are stored.
    pub const KIND: &'static str = "boundary";
    /// The version of the JSON form that is written. Older ones are read.
    pub const VERSION: u16 = 1;

    /// The stored form.
    pub fn encode(&self) -> Encoded {
        let bytes =
            serde_json::to_vec(self).expect("a boundary has text keys and valid raw values");
        Encoded::new(Self::KIND, Self::VERSION, bytes)
    }

    /// Reads a stored form, of this version or an older one.
    pub fn decode(encoded: &Encoded) -> Result<Self, CodecError> {
        encoded.expect_kind(Self::KIND, Self::VERSION)?;
        serde_json::from_slice(encoded.bytes())
            .map_err(|error| CodecError::malformed(encoded, error))
    }

    /// The boundary without what it holds of a stored message; nothing if it holds nothing of it.
    ///
    /// Its shorter form goes. If the message was `covered`, that is, came before the boundary and
    /// is not shown behind it, what was made by compactions may tell of it, and a fixed text stands
    /// there from now on.
    #[must_use]
    pub fn without(&self, message: &MessageId, covered: bool) -> Option<Self> {
        let mut left = self.clone();
        left.replaced.retain(|replacement| replacement.id != *message);
        for entry in left.front.iter_mut().filter(|_| covered) {
            if let FrontEntry::Made { message, .. } = entry {
                *message = Arc::new(withdrawn(message));
            }
        }
        if left == *self {
            return None;
        }
        // What was done is told in a policy's words, and those may be the message's.
        left.what.clear();
        left.steps.iter_mut().for_each(|step| step.what.clear());
        Some(left)
    }
}

/// What stands where a message was that told of others, one of which had to go.
fn withdrawn(message: &Message) -> Message {
    const TEXT: &str =
        "[What stood here told of earlier messages. It was removed together with one of them.]";
    let text = Message::text(message.role, TEXT);
    // Marks say what it is for, and nothing of what it said.
    let marks = [Message::SYNTHETIC, Message::CHECKPOINT, Message::GAP].into_iter();
    let marks = marks.filter(|mark| message.metadata.get(mark).is_some());
    marks.fold(text, Message::marked)
}

#[derive(Serialize)]
struct Written<'a> {
    id: &'a MessageId,
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<MessageHash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a Message>,
}

#[derive(Deserialize)]
struct Read {
    id: MessageId,
    of: Option<MessageHash>,
    message: Option<Message>,
}

impl Serialize for FrontEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Stored(id) => Written { id, of: None, message: None },
            Self::Made { id, message } => Written { id, of: None, message: Some(message) },
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FrontEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Read { id, message, .. } = Read::deserialize(deserializer)?;
        Ok(match message {
            None => Self::Stored(id),
            Some(message) => Self::Made { id, message: Arc::new(message) },
        })
    }
}

impl Serialize for Replacement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written { id: &self.id, of: Some(self.of), message: Some(&self.message) }
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Replacement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Read { id, of, message } = Read::deserialize(deserializer)?;
        let of = of.ok_or_else(|| D::Error::missing_field("of"))?;
        let message = message.ok_or_else(|| D::Error::missing_field("message"))?;
        Ok(Self { id, of, message: Arc::new(message) })
    }
}
