//! The stored form of a message.

use context_core::message::Origin;
use std::borrow::Cow;

use context_codec_kit::wire;
use context_core::base::JsonMap;
use context_core::{Json, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::calls::CallRecord;
use super::usage::TokenUsage;

pub(super) const TYPE: &str = "type";
pub(super) const CONTENT: &str = "content";
pub(super) const NAME: &str = "name";
pub(super) const KWARGS: &str = "additional_kwargs";
pub(super) const RESPONSE: &str = "response_metadata";
pub(super) const CALLS: &str = "tool_calls";
pub(super) const INVALID_CALLS: &str = "invalid_tool_calls";
pub(super) const CALL_ID: &str = "tool_call_id";
pub(super) const STATUS: &str = "status";
pub(super) const USAGE: &str = "usage_metadata";
const STAMP: &str = "_ts";
const FOLDED: &str = "_folded";

/// The kind of a message record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordKind {
    /// `HumanMessage`: a message of the user.
    Human,
    /// `AIMessage`: a message of the model.
    Ai,
    /// `ToolMessage`: a tool result.
    Tool,
    /// `SystemMessage`: a message of the application.
    System,
    /// An unknown type, or none.
    Other,
}

impl RecordKind {
    /// Returns the `type` of such records. Empty for [`Other`](Self::Other).
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Human => "HumanMessage",
            Self::Ai => "AIMessage",
            Self::Tool => "ToolMessage",
            Self::System => "SystemMessage",
            Self::Other => "",
        }
    }
}

/// The reason why a value is not a message record.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum MessageRecordError {
    /// The value is not a JSON object.
    #[error("a record must be an object, found {found}")]
    NotAnObject {
        /// The JSON type found.
        found: &'static str,
    },
    /// The keys cannot be read.
    #[error("a record cannot be read")]
    Unreadable(#[source] serde_json::Error),
    /// The type is not that of a message.
    #[error("record {index} is of no known type")]
    UnknownType {
        /// The position among the records.
        index: usize,
    },
}

context_core::readable_debug!(MessageRecordError);

/// A stored message: a JSON object with `type`, `content`, `name`, `additional_kwargs` and
/// `response_metadata`. Model messages also have `tool_calls`, `invalid_tool_calls` and
/// `usage_metadata`. Tool messages have `tool_call_id`, and `status` if the call failed.
///
/// A record keeps every key and value as it was written, also unknown ones, but on one line. Two
/// records are equal if their values were written alike, in any order of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRecord {
    kind: RecordKind,
    entries: JsonMap,
}

impl MessageRecord {
    /// Creates a record with the content and the default fields of its kind.
    pub fn new(kind: RecordKind, content: impl Into<Json>) -> Self {
        let mut record = Self { kind, entries: JsonMap::new() };
        if kind != RecordKind::Other {
            record.set(TYPE, kind.as_str());
        }
        record.set(CONTENT, content);
        for (key, default) in defaults(kind) {
            record.set(key, default);
        }
        record
    }

    /// Reads a JSON value, which must be an object.
    pub fn from_json(json: &Json) -> Result<Self, MessageRecordError> {
        match wire::kind(json) {
            "an object" => {
                Ok(Self::from_entries(json.parse().map_err(MessageRecordError::Unreadable)?))
            }
            found => Err(MessageRecordError::NotAnObject { found }),
        }
    }

    fn from_entries(mut entries: JsonMap) -> Self {
        entries.values_mut().for_each(put_on_one_line);
        let mut record = Self { kind: RecordKind::Other, entries };
        record.kind = record.kind_by_type();
        record
    }

    fn kind_by_type(&self) -> RecordKind {
        let known = [RecordKind::Human, RecordKind::Ai, RecordKind::Tool, RecordKind::System];
        let name = self.type_name().unwrap_or_default();
        known.into_iter().find(|kind| kind.as_str() == name).unwrap_or(RecordKind::Other)
    }

    /// Returns the JSON object on one line.
    pub fn to_json(&self) -> Json {
        wire::from_map(&self.entries)
    }

    /// Returns the kind of the record.
    pub fn kind(&self) -> RecordKind {
        self.kind
    }

    /// Returns the `type` as it was written.
    pub fn type_name(&self) -> Option<String> {
        self.get(TYPE).and_then(wire::text)
    }

    /// Returns a value.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.entries.get(key)
    }

    /// Returns keys and values in order.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Sets a value. An existing key keeps its position.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<Json>) {
        let mut value = value.into();
        put_on_one_line(&mut value);
        self.entries.insert(key.into(), value);
        self.kind = self.kind_by_type();
    }

    /// Removes and returns a value.
    pub fn remove(&mut self, key: &str) -> Option<Json> {
        let value = self.entries.shift_remove(key);
        self.kind = self.kind_by_type();
        value
    }

    /// Adds a value.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Json>) -> Self {
        self.set(key, value);
        self
    }

    /// Returns the record with the token usage of the model call.
    #[must_use]
    pub fn with_usage(self, usage: &TokenUsage) -> Self {
        let json = Json::from_serialize(usage).expect("numbers print as JSON");
        self.with(USAGE, json)
    }

    /// Returns the record with the time at which it was stored, in `additional_kwargs` as
    /// fractional seconds.
    #[must_use]
    pub fn with_time(self, time: Timestamp) -> Self {
        let mut kwargs: JsonMap =
            self.get(KWARGS).and_then(|json| json.parse().ok()).unwrap_or_default();
        let seconds = Json::from_serialize(&(time.as_micros() as f64 / 1e6))
            .expect("a number prints as JSON");
        kwargs.insert(STAMP.to_owned(), seconds);
        self.with(KWARGS, wire::from_map(&kwargs))
    }

    /// Returns the name of the speaker or the tool: from `name`, else from `additional_kwargs`.
    pub fn name(&self) -> Option<String> {
        let text = |json: &Json| wire::text(json).filter(|name| !name.is_empty());
        self.get(NAME).and_then(text).or_else(|| self.keyword(NAME).as_ref().and_then(text))
    }

    /// Returns the text of the content. A string is returned as it is; the texts of a list are
    /// joined with line feeds. An item that is not text is shown as its type in brackets, and
    /// reasoning is left out.
    pub fn text(&self) -> String {
        let Some(content) = self.get(CONTENT) else { return String::new() };
        match wire::kind(content) {
            "a string" => wire::text(content).unwrap_or_default(),
            "null" => String::new(),
            "a list" => {
                let items: Vec<Json> = content.parse().unwrap_or_default();
                let texts: Vec<_> = items.iter().filter_map(shown).collect();
                texts.join("\n")
            }
            "an object" => shown(content).unwrap_or_default().into_owned(),
            _ => content.as_str().to_owned(),
        }
    }

    /// Returns the tool calls: those in `tool_calls`, else those in `additional_kwargs`.
    pub fn calls(&self) -> Vec<CallRecord> {
        self.listed(CALLS, false)
    }

    /// Returns the invalid calls: those in `invalid_tool_calls`, else those in `additional_kwargs`.
    pub fn invalid_calls(&self) -> Vec<CallRecord> {
        self.listed(INVALID_CALLS, true)
    }

    fn listed(&self, key: &str, invalid: bool) -> Vec<CallRecord> {
        let top = CallRecord::read_list(self.get(key), invalid);
        if !top.is_empty() {
            return top;
        }
        CallRecord::read_list(self.keyword(key).as_ref(), invalid)
    }

    /// Returns the id of the call that a result answers, as it was written.
    pub fn tool_call_id(&self) -> Option<String> {
        self.get(CALL_ID).and_then(wire::text)
    }

    /// Returns whether the result is that of a failed call.
    pub fn is_error(&self) -> bool {
        self.get(STATUS).and_then(wire::text).is_some_and(|status| status == "error")
    }

    /// Returns the token usage of the model call, if the record has it.
    pub fn usage(&self) -> Option<TokenUsage> {
        self.get(USAGE).and_then(TokenUsage::read)
    }

    /// Returns the time at which the message was stored, in seconds since 1970, if the record has
    /// it.
    pub fn seconds(&self) -> Option<f64> {
        self.keyword(STAMP)?.parse().ok()
    }

    /// Returns whether the record replaces earlier ones: a
    /// [checkpoint](context_core::Message::is_checkpoint), or a record marked as folded in
    /// `additional_kwargs`.
    pub fn stands_for_earlier(&self) -> bool {
        let folded = || {
            self.keyword(FOLDED)
                .is_some_and(|json| !matches!(json.as_str(), "false" | "null" | "0"))
        };
        self.has_origin(Origin::Checkpoint) || folded()
    }

    /// Returns one value of `additional_kwargs`.
    fn keyword(&self, key: &str) -> Option<Json> {
        self.get(KWARGS)?.parse::<JsonMap>().ok()?.shift_remove(key)
    }

    /// Returns whether a program wrote the record, and no person, model or tool. See [`Origin`].
    pub fn is_synthetic(&self) -> bool {
        self.has_origin(Origin::Synthetic)
    }

    /// Marks the record as written by a program.
    #[must_use]
    pub(super) fn synthetic(self) -> Self {
        match Origin::Synthetic.key() {
            Some(key) => self.with(key, wire::truth()),
            None => self,
        }
    }

    fn has_origin(&self, origin: Origin) -> bool {
        origin.key().is_some_and(|key| self.get(key).is_some())
    }
}

/// Returns the fields that every record of a kind has, with their default values.
pub(super) fn defaults(kind: RecordKind) -> Vec<(&'static str, Json)> {
    let object = || Json::from(serde_json::json!({}));
    let mut all = vec![(NAME, Json::from("")), (KWARGS, object()), (RESPONSE, object())];
    match kind {
        RecordKind::Ai => {
            all.extend([(CALLS, wire::array(&[])), (INVALID_CALLS, wire::array(&[]))])
        }
        RecordKind::Tool => all.push((CALL_ID, Json::from(""))),
        RecordKind::Human | RecordKind::System | RecordKind::Other => {}
    }
    all
}

/// Compacts a value that spans several lines, since a record is one line of a log.
fn put_on_one_line(value: &mut Json) {
    if value.as_str().contains('\n') {
        *value = value.compact();
    }
}

/// Returns the shown form of a content item.
fn shown(item: &Json) -> Option<Cow<'static, str>> {
    if let Some(text) = wire::text(item) {
        return Some(text.into());
    }
    let Ok(map) = item.parse::<JsonMap>() else {
        return Some(item.compact().as_str().to_owned().into());
    };
    let text = |key: &str| map.get(key).and_then(wire::text);
    match text(TYPE).as_deref() {
        Some("thinking" | "redacted_thinking" | "reasoning") => None,
        _ if map.contains_key("text") => text("text").map(Cow::from),
        Some(kind) => Some(format!("[{kind}]").into()),
        None => Some(item.compact().as_str().to_owned().into()),
    }
}

impl Serialize for MessageRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.entries.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for MessageRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        JsonMap::deserialize(deserializer).map(Self::from_entries)
    }
}
