//! Messages: a role and content in parts.
//!
//! A message is provider-neutral and has no id of its own. Its node in the graph has the id
//! ([`Node::id`](crate::Node::id)), so a stored id and a body can never disagree.
//!
//! # JSON form, version 1
//!
//! `{"role": "assistant", "parts": [{"type": "text", "text": "…"}, …], "metadata": {…}}`. Each part
//! has a `type` and the fields of its struct in this module. Empty fields are left out. A part of
//! an unknown type is kept as it was written.

pub(crate) mod chain;
mod fast_read;
pub mod graph;
mod hash;
mod json;
pub(crate) mod messages;
pub(crate) mod node;
mod origin;
pub(crate) mod part;
mod readable;
mod redact;
mod runs;
mod seen_messages;
mod shared_run;
mod substitute;
mod written;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, LazyLock};

pub use crate::base::json_string::is_blank;
pub use chain::{LazyRun, ReadRun};
pub use hash::MessageHash;
pub use messages::MessageIter;
pub use node::{NodeKind, PlacedNode};
pub use origin::Origin;
pub use part::{Data, Media, MediaSource, OpaqueBlock, Reasoning, Text, ToolInput, data_url};
pub use seen_messages::SeenMessages;
use serde::{Deserialize, Serialize};
pub use substitute::SubstitutedBlock;
pub use written::WrittenIn;

use crate::base::CodecError;
use crate::{Encoded, JsonString, Metadata, Part, ToolCall, ToolResult};

/// The role of a message's author.
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
    /// Returns the stable name.
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
/// let asked = Message::from("What is on fire?"); // a user message
/// let look = Part::tool_call("call_1", "list_alerts", serde_json::json!({"open": true}));
/// let called = Message::new(Role::Assistant, [Part::text("I look."), look]);
/// let answered = Message::new(Role::Tool, [Part::tool_result("call_1", "2 alerts")]);
///
/// assert!(asked.is_request() && !answered.is_request());
/// assert_eq!(called.plain_text(), "I look.");
/// assert_eq!(Message::decode(&called.encode())?, called); // the stored form
/// # Ok::<(), context_core::base::CodecError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The role of the author.
    pub role: Role,
    /// The content, in order. A message without parts is a placeholder that is filled later.
    pub parts: Vec<Part>,
    /// Additional metadata.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

impl Message {
    /// The kind under which messages are stored.
    pub const KIND: &'static str = "message";
    /// The written version of the JSON form. Older versions can be read.
    pub const VERSION: u16 = 1;

    /// The metadata key of a stored form that names its
    /// [codec](crate::fragment::StoredMessageCodec).
    pub(crate) const STORED_CODEC: &'static str = "stored_codec";

    /// Creates a message from parts.
    pub fn new(role: Role, parts: impl IntoIterator<Item = Part>) -> Self {
        Self { role, parts: parts.into_iter().collect(), metadata: Metadata::default() }
    }

    /// Creates a message from one text.
    pub fn text(role: Role, text: impl Into<JsonString>) -> Self {
        Self::new(role, [Part::text(text)])
    }

    /// Creates a message of the role [`Tool`](Role::Tool) with these results.
    pub fn tool(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self::new(Role::Tool, results.into_iter().map(Part::ToolResult))
    }

    /// Replaces the role.
    #[must_use]
    pub fn with_role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    /// Replaces the metadata.
    #[must_use]
    pub fn with_metadata(mut self, metadata: impl Into<Metadata>) -> Self {
        self.metadata = metadata.into();
        self
    }

    /// Returns the parts that a checkpoint lacks, such as the missing headings of a summary: the
    /// texts in the list `missing` of its [record](Self::origin_record). Empty for any other
    /// message.
    pub fn missing_from_checkpoint(&self) -> Vec<String> {
        #[derive(Default, Deserialize)]
        struct Record {
            #[serde(default)]
            missing: Vec<String>,
        }
        let record = self.origin_record().filter(|_| self.is_checkpoint());
        record.and_then(|record| record.parse::<Record>().ok()).unwrap_or_default().missing
    }

    /// Returns whether this is a request of the user: a message with the user's role that a person
    /// wrote, with content other than tool results.
    pub fn is_request(&self) -> bool {
        let says = |part: &Part| match part {
            Part::Text(text) => !text.text.is_blank(),
            Part::ToolResult(_) | Part::Reasoning(_) | Part::ToolCall(_) => false,
            _ => true,
        };
        self.role == Role::User && !self.is_synthetic() && self.parts.iter().any(says)
    }

    /// Returns whether the message is a placeholder, that is, has no parts.
    pub fn is_placeholder(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the text parts, joined by line feeds. Borrowed if there is only one.
    pub fn plain_text(&self) -> Cow<'_, str> {
        let mut texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.text.to_cow()),
            _ => None,
        });
        let Some(first) = texts.next() else { return Cow::Borrowed("") };
        texts.fold(first, |all, text| Cow::Owned(format!("{all}\n{text}")))
    }

    /// Returns an iterator over the tool calls, in order.
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

    /// Returns an iterator over the tool results, in order.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolResult(result) => Some(result),
            _ => None,
        })
    }

    /// Returns the hash of the message. Equal messages have the same hash in every process.
    pub fn hash(&self) -> MessageHash {
        hash::of(self)
    }

    /// Returns the stored form.
    pub fn encode(&self) -> Encoded {
        let bytes = serde_json::to_vec(self).expect("a message has text keys and valid raw values");
        Encoded::new(Self::shared_kind(), Self::VERSION, bytes)
    }

    /// Returns the beginning of the stored form of every message with this role, up to the first
    /// part.
    pub(crate) fn body_start(role: Role) -> &'static [u8] {
        match role {
            Role::System => br#"{"role":"system","parts":["#,
            Role::User => br#"{"role":"user","parts":["#,
            Role::Assistant => br#"{"role":"assistant","parts":["#,
            Role::Tool => br#"{"role":"tool","parts":["#,
        }
    }

    /// Returns whether this crate wrote a stored form, and without metadata, which are the last
    /// field. `false` if only parsing tells.
    pub(crate) fn body_has_no_metadata(role: Role, body: &[u8]) -> bool {
        body.starts_with(Self::body_start(role)) && !body.ends_with(b"}}")
    }

    /// Returns the name of the [codec](crate::fragment::StoredMessageCodec) that encoded the
    /// message, if it is a stored form that differs from the shown one.
    pub fn stored_codec(&self) -> Option<String> {
        self.metadata.get(Self::STORED_CODEC)?.to_text()
    }

    /// Returns a shared copy of the kind that almost every node has.
    pub fn shared_kind() -> Arc<str> {
        static KIND: LazyLock<Arc<str>> = LazyLock::new(|| Message::KIND.into());
        Arc::clone(&KIND)
    }

    /// Parses a stored form of this version or an older one.
    pub fn decode(encoded: &Encoded) -> Result<Self, CodecError> {
        Self::read(encoded).map(|(message, _)| message)
    }

    /// Parses a stored form, and returns whether [`encode`](Self::encode) would write the same.
    pub(crate) fn decode_and_compare(encoded: &Encoded) -> Result<(Self, bool), CodecError> {
        let (message, is_exact) = Self::read(encoded)?;
        let is_exact = is_exact.unwrap_or_else(|| message.encode() == *encoded);
        Ok((message, is_exact))
    }

    /// Parses a stored form. The second value is whether encoding writes the same, if it is known.
    fn read(encoded: &Encoded) -> Result<(Self, Option<bool>), CodecError> {
        encoded.expect_kind(Self::KIND, Self::VERSION)?;
        if let Some((message, is_exact)) = fast_read::read(encoded.bytes()) {
            return Ok((message, Some(is_exact && encoded.version() == Self::VERSION)));
        }
        let mut message: Self = serde_json::from_slice(encoded.bytes())
            .map_err(|error| CodecError::malformed(encoded, error))?;
        // The JSON parser allocates room for four parts, but most messages have one, and they are
        // kept for long.
        message.parts.shrink_to_fit();
        Ok((message, None))
    }
}

impl From<&str> for Message {
    /// Creates a user message from one text.
    fn from(text: &str) -> Self {
        Self::text(Role::User, text)
    }
}

impl From<String> for Message {
    /// Creates a user message from one text.
    fn from(text: String) -> Self {
        Self::text(Role::User, text)
    }
}

impl From<Vec<Part>> for Message {
    /// Creates a user message from parts.
    fn from(parts: Vec<Part>) -> Self {
        Self::new(Role::User, parts)
    }
}
