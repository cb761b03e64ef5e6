//! Messages: what was said, by whom, in parts.
//!
//! A message is provider-neutral and has no id of its own: its place in the graph has one
//! ([`Node::id`](crate::Node::id)), so a stored id and a body can never disagree.
//!
//! # JSON form, version 1
//!
//! `{"role": "assistant", "parts": [{"type": "text", "text": "…"}, …], "metadata": {…}}`; each part
//! has a `type` and the fields of its struct here, fields that say nothing are left out. A part of
//! a type that this version does not know is kept as it was written.

pub(crate) mod chain;
pub mod graph;
mod hash;
mod json;
pub(crate) mod node;
pub(crate) mod part;
mod readable;
mod redact;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, LazyLock};

pub use chain::{LazyRun, ReadRun};
pub use hash::MessageHash;
pub use node::{NodeKind, Placed};
pub use part::{Data, Media, MediaSource, OpaqueBlock, Reasoning, Text, ToolInput};
use serde::{Deserialize, Serialize};

use crate::base::CodecError;
use crate::{Encoded, Metadata, Part, ToolCall, ToolResult};

/// Whether a text has nothing to read, as the strictest of providers sees it: white space, and the
/// four separators that some languages take for it.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}'))
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The application.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// Tools: one or more results.
    Tool,
}

impl Role {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One message of a conversation.
///
/// ```
/// use context_core::{Message, Part, Role};
///
/// let asked = Message::from("What is on fire?"); // the user's
/// let look = Part::tool_call("call_1", "list_alerts", serde_json::json!({"open": true}));
/// let called = Message::new(Role::Assistant, [Part::text("I look."), look]);
/// let answered = Message::new(Role::Tool, [Part::tool_result("call_1", "2 alerts")]);
///
/// assert!(asked.is_request() && !answered.is_request());
/// assert_eq!(called.plain_text(), "I look.");
/// assert_eq!(Message::decode(&called.encode())?, called); // as it is stored
/// # Ok::<(), context_core::base::CodecError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order. None at all is a placeholder that is still to be filled.
    pub parts: Vec<Part>,
    /// Facts beside the content.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

impl Message {
    /// The kind under which messages are stored.
    pub const KIND: &'static str = "message";
    /// The version of the JSON form that is written. Older ones are read.
    pub const VERSION: u16 = 1;

    /// A message of these parts.
    pub fn new(role: Role, parts: impl IntoIterator<Item = Part>) -> Self {
        Self { role, parts: parts.into_iter().collect(), metadata: Metadata::default() }
    }

    /// A message of one text.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self::new(role, [Part::text(text)])
    }

    /// What tools answer: a message of the role [`Tool`](Role::Tool) with these results.
    pub fn tool(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self::new(Role::Tool, results.into_iter().map(Part::ToolResult))
    }

    /// The same message, spoken by `role`.
    #[must_use]
    pub fn with_role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    /// The same message with other metadata.
    #[must_use]
    pub fn with_metadata(mut self, metadata: impl Into<Metadata>) -> Self {
        self.metadata = metadata.into();
        self
    }

    /// The metadata key of a message that no person wrote although its role is the user's, such as
    /// a reminder between two steps of the model. It is no turn of the conversation.
    pub const SYNTHETIC: &'static str = "synthetic";

    /// Whether it is [marked](Self::SYNTHETIC) as written by no person.
    pub fn is_synthetic(&self) -> bool {
        self.metadata.get(Self::SYNTHETIC).is_some()
    }

    /// The same message, marked under a key such as [`SYNTHETIC`](Self::SYNTHETIC).
    #[must_use]
    pub fn marked(mut self, key: &str) -> Self {
        self.metadata = self.metadata.with(key, serde_json::Value::Bool(true));
        self
    }

    /// The metadata key of a message that stands for earlier ones: a summary of them. It is
    /// [synthetic](Self::SYNTHETIC) too.
    pub const CHECKPOINT: &'static str = "checkpoint";
    /// The metadata key of a message that says that others were left out in its place. It is
    /// [synthetic](Self::SYNTHETIC) too.
    pub const GAP: &'static str = "gap";

    /// Whether it stands for earlier messages.
    pub fn is_checkpoint(&self) -> bool {
        self.metadata.get(Self::CHECKPOINT).is_some()
    }

    /// Whether the user asks for something: a message of the user's role that a person wrote, with
    /// content other than results of tools.
    pub fn is_request(&self) -> bool {
        let says = |part: &Part| match part {
            Part::Text(text) => !is_blank(&text.text),
            Part::ToolResult(_) | Part::Reasoning(_) | Part::ToolCall(_) => false,
            _ => true,
        };
        self.role == Role::User && !self.is_synthetic() && self.parts.iter().any(says)
    }

    /// Whether it is still to be filled: it has no parts.
    pub fn is_placeholder(&self) -> bool {
        self.parts.is_empty()
    }

    /// What a person would read: the text parts, joined by line feeds. Borrowed when there is one.
    pub fn plain_text(&self) -> Cow<'_, str> {
        let mut texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        let Some(first) = texts.next() else { return Cow::Borrowed("") };
        texts.fold(Cow::Borrowed(first), |all, text| Cow::Owned(format!("{all}\n{text}")))
    }

    /// The tools that the model calls in it, in order.
    ///
    /// ```
    /// use context_core::{Message, Part, Role};
    ///
    /// let asked = Message::new(Role::Assistant, [
    ///     Part::text("I look it up."),
    ///     Part::tool_call("call_1", "weather", serde_json::json!({"month": 3})),
    /// ]);
    /// let answers = asked.tool_calls().map(|call| call.result("Warm on Madeira."));
    /// assert_eq!(Message::tool(answers).tool_results().count(), 1);
    /// ```
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// The results of tools in it, in order.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolResult(result) => Some(result),
            _ => None,
        })
    }

    /// Its hash, the same for equal messages in every process.
    pub fn hash(&self) -> MessageHash {
        hash::of(self)
    }

    /// The stored form.
    pub fn encode(&self) -> Encoded {
        let bytes = serde_json::to_vec(self).expect("a message has text keys and valid raw values");
        Encoded::new(Self::shared_kind(), Self::VERSION, bytes)
    }

    /// How the stored form of every message of this role begins, up to its first part.
    pub(crate) fn body_start(role: Role) -> &'static [u8] {
        match role {
            Role::System => br#"{"role":"system","parts":["#,
            Role::User => br#"{"role":"user","parts":["#,
            Role::Assistant => br#"{"role":"assistant","parts":["#,
            Role::Tool => br#"{"role":"tool","parts":["#,
        }
    }

    /// One copy of the kind that nearly every node has.
    pub fn shared_kind() -> Arc<str> {
        static KIND: LazyLock<Arc<str>> = LazyLock::new(|| Message::KIND.into());
        Arc::clone(&KIND)
    }

    /// Reads a stored form, of this version or an older one.
    pub fn decode(encoded: &Encoded) -> Result<Self, CodecError> {
        encoded.expect_kind(Self::KIND, Self::VERSION)?;
        let mut message: Self = serde_json::from_slice(encoded.bytes())
            .map_err(|error| CodecError::malformed(encoded, error))?;
        // Read from JSON, a list has room for four, and most messages have one part and are kept
        // for long.
        message.parts.shrink_to_fit();
        Ok(message)
    }
}

impl From<&str> for Message {
    /// A user message of one text.
    fn from(text: &str) -> Self {
        Self::text(Role::User, text)
    }
}

impl From<String> for Message {
    /// A user message of one text.
    fn from(text: String) -> Self {
        Self::text(Role::User, text)
    }
}

impl From<Vec<Part>> for Message {
    /// A user message of these parts.
    fn from(parts: Vec<Part>) -> Self {
        Self::new(Role::User, parts)
    }
}
