//! Nodes: names, versions, what is beside the body.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::body::accept;
use super::changes::DESCRIPTION;
use super::{Changes, FieldValue, NodeBody, NodeKind, TrajectoryError, Version};
use crate::base::limits;
use crate::{ChatId, Json, MessageId, Timestamp};

/// Which node: its round, and its number in the round. Unique among the nodes of an agent in a
/// session, and never used again.
///
/// Written as `0.3`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId {
    /// The round, from 0.
    pub round: u32,
    /// The number in the round, from 0, in the order in which nodes were added.
    pub ordinal: u32,
}

impl NodeId {
    /// A node of a round.
    pub const fn new(round: u32, ordinal: u32) -> Self {
        Self { round, ordinal }
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.round, self.ordinal)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for NodeId {
    type Err = TrajectoryError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // The parser of numbers takes a sign, which no id has.
        let number = |digits: &str| match digits.bytes().all(|byte| byte.is_ascii_digit()) {
            true => digits.parse().ok(),
            false => None,
        };
        let parts = text.split_once('.');
        parts
            .and_then(|(round, ordinal)| Some(Self::new(number(round)?, number(ordinal)?)))
            .ok_or_else(|| TrajectoryError::BadNodeId { text: text.into() })
    }
}

impl Serialize for NodeId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for NodeId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// What people and models call a node: kind and label, written as `Action(action00000)`.
///
/// Any label can be written and read back, whatever it holds: a kind has no parenthesis, so the
/// label is all between the first one and the last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeTitle {
    /// The kind.
    pub kind: NodeKind,
    /// The label, unique in its kind.
    pub label: Arc<str>,
}

impl fmt::Display for NodeTitle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.kind, self.label)
    }
}

impl FromStr for NodeTitle {
    type Err = TrajectoryError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.strip_suffix(')').and_then(|text| text.split_once('('));
        let (kind, label) =
            parts.ok_or_else(|| TrajectoryError::BadNodeId { text: text.into() })?;
        Ok(Self { kind: NodeKind::from_name(kind)?, label: label.into() })
    }
}

/// The message of a chat that a node stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MessageLink {
    /// The chat, of the same user.
    pub chat: ChatId,
    /// The message.
    pub message: MessageId,
}

impl MessageLink {
    /// A message of a chat.
    pub fn new(chat: impl Into<ChatId>, message: impl Into<MessageId>) -> Self {
        Self { chat: chat.into(), message: message.into() }
    }
}

/// What a node took: times, tokens, money. Whatever is not known is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Measures {
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The provider of the model, such as `anthropic`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<Arc<str>>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<str>>,
    /// Tokens read, those from the cache among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens written, those of thoughts among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Tokens read from the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Tokens written to the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// Tokens of thoughts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// In US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// What went wrong: a short name for programs, such as `timeout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Arc<str>>,
}

impl Measures {
    /// The name under which [`Changes`] know it.
    pub const FIELD: &'static str = "measures";

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A node. `Debug` shows no content.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Node {
    /// Which one.
    pub id: NodeId,
    /// Its label, unique in its kind.
    pub label: Arc<str>,
    /// What it is about, in a sentence or two; empty until somebody says.
    pub description: Arc<str>,
    /// When it was added.
    pub created_at: Timestamp,
    /// Who added it.
    pub author: Option<Arc<str>>,
    /// What it holds.
    pub body: NodeBody,
    /// The messages it stands for.
    pub messages: Vec<MessageLink>,
    /// What it took.
    pub measures: Option<Box<Measures>>,
    /// What it was, oldest first.
    pub versions: Vec<Version>,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Node");
        shown
            .field("id", &self.id)
            .field("label", &self.label)
            .field("description", &self.description.len());
        shown
            .field("created_at", &self.created_at)
            .field("author", &self.author)
            .field("body", &self.body);
        shown.field("messages", &self.messages).field("measures", &self.measures);
        shown.field("versions", &self.versions).finish()
    }
}

impl Node {
    /// A node without description, author, messages, measures and versions, which may be set.
    pub fn new(
        id: NodeId,
        label: impl Into<Arc<str>>,
        body: NodeBody,
        created_at: Timestamp,
    ) -> Self {
        Self {
            id,
            label: label.into(),
            description: Arc::default(),
            created_at,
            author: None,
            body,
            messages: Vec::new(),
            measures: None,
            versions: Vec::new(),
        }
    }

    /// The kind.
    pub fn kind(&self) -> NodeKind {
        self.body.kind()
    }

    /// What people call it.
    pub fn title(&self) -> NodeTitle {
        NodeTitle { kind: self.kind(), label: self.label.clone() }
    }

    /// Refuses changes that cannot be made to a node of this kind, and brings values to the form of
    /// their fields. Those that change nothing go.
    pub fn check(&self, changes: &Changes) -> Result<Changes, TrajectoryError> {
        const FIXED: &[&str] = &[
            "label",
            "type",
            "kind",
            "id",
            "round",
            "run_id",
            "created_at",
            "author",
            "user",
            "user_id",
            "session",
            "session_id",
            "sub",
            "sub_id",
            "history",
            "versions",
            "node_type",
            "messages",
        ];
        let mut checked = Changes::new();
        for (name, value) in changes.iter() {
            let value = match (name, value) {
                (DESCRIPTION, FieldValue::Text(_)) => value.clone(),
                (DESCRIPTION, FieldValue::Json(json)) => match json.to_text() {
                    Some(text) => FieldValue::from(text),
                    None => return Err(self.wrong(DESCRIPTION, "text")),
                },
                (DESCRIPTION, _) => return Err(self.wrong(DESCRIPTION, "text")),
                (Measures::FIELD, FieldValue::Json(json))
                    if json.parse::<Option<Measures>>().is_ok() =>
                {
                    // Nothing known is said in one way.
                    let known = json
                        .parse::<Option<Measures>>()
                        .ok()
                        .flatten()
                        .filter(|known| !known.is_empty());
                    Json::from_serialize(&known).map_or_else(|_| value.clone(), FieldValue::Json)
                }
                (Measures::FIELD, _) => {
                    return Err(self.wrong(Measures::FIELD, "an object of measures"));
                }
                _ if FIXED.contains(&name) => {
                    return Err(TrajectoryError::FixedField { field: name.into() });
                }
                _ => accept(self.kind(), name, value.clone())?.1,
            };
            TrajectoryError::too_much(
                "field of a node, bytes",
                value.bytes(),
                limits::MAX_BODY_BYTES,
            )?;
            let name = self.kind().field(name).map_or(name, |at| self.kind().fields()[at].name);
            if self.value(name).is_none_or(|old| old != value) {
                checked = checked.set(name, value);
            }
        }
        Ok(checked)
    }

    fn wrong(&self, field: &'static str, expected: &'static str) -> TrajectoryError {
        TrajectoryError::WrongForm { kind: self.kind(), field, expected }
    }

    /// What a field holds, by the name that [`Changes`] know it by.
    pub fn value(&self, name: &str) -> Option<FieldValue> {
        match name {
            DESCRIPTION => Some(FieldValue::Text(self.description.clone())),
            Measures::FIELD => Json::from_serialize(&self.measures).ok().map(FieldValue::Json),
            _ => self.body.get(name).cloned(),
        }
    }

    /// Makes changes that [`check`](Self::check) has passed, and returns what the fields were.
    pub(super) fn change(&mut self, changes: &Changes) -> Changes {
        let mut was = Changes::new();
        for (name, value) in changes.iter() {
            let Some(old) = self.value(name) else { continue };
            match (name, value) {
                (DESCRIPTION, FieldValue::Text(text)) => self.description = text.clone(),
                (Measures::FIELD, FieldValue::Json(json)) => {
                    self.measures = json.parse().unwrap_or_default()
                }
                _ => {
                    if let Some(at) = self.kind().field(name) {
                        self.body.replace(at, value.clone());
                    }
                }
            }
            was = was.set(name, old);
        }
        was
    }
}

impl Node {
    /// Values that were read as JSON in the form of their fields; unlike [`check`](Self::check) it
    /// drops nothing.
    pub fn settle(&self, read: &Changes) -> Result<Changes, TrajectoryError> {
        let settled = read.iter().map(|(name, value)| match (name, value) {
            (DESCRIPTION, FieldValue::Json(json)) => {
                Ok((name, FieldValue::from(json.to_text().unwrap_or_default())))
            }
            (DESCRIPTION | Measures::FIELD, value) => Ok((name, value.clone())),
            _ => accept(self.kind(), name, value.clone()).map(|(_, value)| (name, value)),
        });
        settled.collect()
    }
}
