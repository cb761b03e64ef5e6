//! Nodes: ids, titles, links, measures and versions.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::body::accept;
use super::changes::DESCRIPTION;
use super::{Changes, FieldValue, NodeBody, TrajectoryError, TrajectoryNodeKind, Version};
use crate::base::limits;
use crate::model::Usage;
use crate::{ChatId, Json, MessageId, Timestamp};

/// The id of a node: its round and its number in the round. Unique among the nodes of an agent in a
/// session, and never reused.
///
/// The text form is `0.3`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId {
    /// The round, from 0.
    pub round: u32,
    /// The number in the round, from 0, in the order of addition.
    pub ordinal: u32,
}

impl NodeId {
    /// Creates the id of a node.
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
        // The integer parser accepts a sign, which ids do not have.
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

/// The readable name of a node: kind and label, written as `Action(action00000)`.
///
/// Any label survives formatting and parsing: a kind contains no parenthesis, so the label is the
/// text between the first parenthesis and the last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeTitle {
    /// The kind.
    pub kind: TrajectoryNodeKind,
    /// The label, unique among the nodes of the kind.
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
        Ok(Self { kind: TrajectoryNodeKind::from_name(kind)?, label: label.into() })
    }
}

/// A link to the message of a chat that a node represents.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MessageLink {
    /// The chat, of the same user.
    pub chat: ChatId,
    /// The message.
    pub message: MessageId,
}

impl MessageLink {
    /// Creates a link.
    pub fn new(chat: impl Into<ChatId>, message: impl Into<MessageId>) -> Self {
        Self { chat: chat.into(), message: message.into() }
    }
}

/// Times, tokens and cost of a node. Unknown values are `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Measures {
    /// The start time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// The end time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The provider of the model, such as `anthropic`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<Arc<str>>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<str>>,
    /// Input tokens, including cached ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Output tokens, including reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Input tokens that were read from the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Input tokens that were written to the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// Output tokens that were reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Cost in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The error as a short name for programs, such as `timeout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Arc<str>>,
}

impl Measures {
    /// The field name of measures in [`Changes`].
    pub const FIELD: &'static str = "measures";

    /// Returns the token counts of a model call. The input tokens include cached ones. A count of
    /// cached tokens that is 0 stays unknown, since many providers do not report caching.
    pub fn of_usage(usage: &Usage) -> Self {
        let counted = |tokens: u64| (tokens > 0).then_some(tokens);
        Self {
            input_tokens: Some(usage.total_input()),
            output_tokens: Some(usage.output),
            cache_read_tokens: counted(usage.cache_read),
            cache_write_tokens: counted(usage.cache_write),
            reasoning_tokens: usage.reasoning,
            ..Self::default()
        }
    }

    /// Returns whether no value is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A node of a trajectory. `Debug` shows no content.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct TrajectoryNode {
    /// The id.
    pub id: NodeId,
    /// The label, unique among the nodes of the kind.
    pub label: Arc<str>,
    /// A description of one or two sentences. May be empty.
    pub description: Arc<str>,
    /// The time when the node was added.
    pub created_at: Timestamp,
    /// The author of the node.
    pub author: Option<Arc<str>>,
    /// The fields.
    pub body: NodeBody,
    /// The messages that the node represents.
    pub messages: Vec<MessageLink>,
    /// Times, tokens and cost.
    pub measures: Option<Box<Measures>>,
    /// Earlier versions, oldest first.
    pub versions: Vec<Version>,
}

impl fmt::Debug for TrajectoryNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("TrajectoryNode");
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

impl TrajectoryNode {
    /// Creates a node without description, author, messages, measures and versions. These fields
    /// are public.
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

    /// Returns the kind.
    pub fn kind(&self) -> TrajectoryNodeKind {
        self.body.kind()
    }

    /// Returns the readable name.
    pub fn title(&self) -> NodeTitle {
        NodeTitle { kind: self.kind(), label: self.label.clone() }
    }

    /// Refuses changes that are invalid for this node, converts values to the form of their fields,
    /// and drops values that are already set.
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
                    // Empty measures have one canonical form.
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

    /// Returns the value of a field, by its name in [`Changes`].
    pub fn value(&self, name: &str) -> Option<FieldValue> {
        match name {
            DESCRIPTION => Some(FieldValue::Text(self.description.clone())),
            Measures::FIELD => Json::from_serialize(&self.measures).ok().map(FieldValue::Json),
            _ => self.body.get(name).cloned(),
        }
    }

    /// Applies changes that passed [`check`](Self::check), and returns the previous values.
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

impl TrajectoryNode {
    /// Converts values that were parsed as JSON to the form of their fields. Unlike
    /// [`check`](Self::check), drops nothing.
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
