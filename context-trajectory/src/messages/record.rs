//! The stored form of a message.

use std::borrow::Cow;

use context_codec_kit::wire;
use context_core::Message;
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

/// Whose message a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordKind {
    /// `HumanMessage`: the user's.
    Human,
    /// `AIMessage`: the model's.
    Ai,
    /// `ToolMessage`: a result.
    Tool,
    /// `SystemMessage`: the application's.
    System,
    /// A type that is not known here, or none.
    Other,
}

impl RecordKind {
    /// The `type` of such records; empty for [`Other`](Self::Other).
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

/// Why something is no record of a message.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// It is no JSON object.
    #[error("a record must be an object, found {found}")]
    NotAnObject {
        /// What it is.
        found: &'static str,
    },
    /// Its keys cannot be read.
    #[error("a record cannot be read")]
    Unreadable(#[source] serde_json::Error),
    /// It is of a type that no message has.
    #[error("record {index} is of no known type")]
    UnknownType {
        /// Its position among the records.
        index: usize,
    },
}

context_core::readable_debug!(RecordError);

/// A message as it is stored: a JSON object with `type`, `content`, `name`, `additional_kwargs` and
/// `response_metadata`; of the model also `tool_calls`, `invalid_tool_calls` and `usage_metadata`;
/// of a tool `tool_call_id`, and `status` if it failed.
///
/// It keeps every key and value as it was written, though on one line, those that are not known
/// here too. Two are equal if their values were written alike, in any order of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRecord {
    kind: RecordKind,
    entries: JsonMap,
}

impl MessageRecord {
    /// A record with nothing but what every record of its kind has.
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
    pub fn from_json(json: &Json) -> Result<Self, RecordError> {
        match wire::kind(json) {
            "an object" => Ok(Self::from_entries(json.parse().map_err(RecordError::Unreadable)?)),
            found => Err(RecordError::NotAnObject { found }),
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

    /// The JSON object, on one line.
    pub fn to_json(&self) -> Json {
        wire::from_map(&self.entries)
    }

    /// Whose message it is.
    pub fn kind(&self) -> RecordKind {
        self.kind
    }

    /// What it says it is.
    pub fn type_name(&self) -> Option<String> {
        self.get(TYPE).and_then(wire::text)
    }

    /// Returns a value.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.entries.get(key)
    }

    /// Keys and values, in order.
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

    /// The same with what the call of the model took.
    #[must_use]
    pub fn with_usage(self, usage: &TokenUsage) -> Self {
        let json = Json::from_serialize(usage).expect("numbers print as JSON");
        self.with(USAGE, json)
    }

    /// The same with the time at which it was stored, in `additional_kwargs` as seconds with a
    /// fraction.
    #[must_use]
    pub fn with_time(self, time: Timestamp) -> Self {
        let mut kwargs: JsonMap =
            self.get(KWARGS).and_then(|json| json.parse().ok()).unwrap_or_default();
        let seconds = Json::from_serialize(&(time.as_micros() as f64 / 1e6))
            .expect("a number prints as JSON");
        kwargs.insert(STAMP.to_owned(), seconds);
        self.with(KWARGS, wire::from_map(&kwargs))
    }

    /// Who speaks by name, or which tool answers, if it says so: under `name`, else in
    /// `additional_kwargs`.
    pub fn name(&self) -> Option<String> {
        let text = |json: &Json| wire::text(json).filter(|name| !name.is_empty());
        self.get(NAME).and_then(text).or_else(|| self.beside(NAME).as_ref().and_then(text))
    }

    /// The text of the content: a text as it stands, of a list its texts, joined by line feeds.
    /// What is no text stands as its type in brackets, thoughts not at all.
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

    /// The calls of tools: `tool_calls`, else those in `additional_kwargs`.
    pub fn calls(&self) -> Vec<CallRecord> {
        self.listed(CALLS, false)
    }

    /// The calls that the model wrote wrong: `invalid_tool_calls`, else those in
    /// `additional_kwargs`.
    pub fn invalid_calls(&self) -> Vec<CallRecord> {
        self.listed(INVALID_CALLS, true)
    }

    fn listed(&self, key: &str, invalid: bool) -> Vec<CallRecord> {
        let top = CallRecord::read_list(self.get(key), invalid);
        if !top.is_empty() {
            return top;
        }
        CallRecord::read_list(self.beside(key).as_ref(), invalid)
    }

    /// Which call a result answers, as it was written.
    pub fn tool_call_id(&self) -> Option<String> {
        self.get(CALL_ID).and_then(wire::text)
    }

    /// Whether a result is that of a failed call.
    pub fn is_error(&self) -> bool {
        self.get(STATUS).and_then(wire::text).is_some_and(|status| status == "error")
    }

    /// What the call of the model took, if it is said.
    pub fn usage(&self) -> Option<TokenUsage> {
        self.get(USAGE).and_then(TokenUsage::read)
    }

    /// When it was stored, in seconds since 1970, if it is said.
    pub fn seconds(&self) -> Option<f64> {
        self.beside(STAMP)?.parse().ok()
    }

    /// Whether it stands for earlier ones: a [checkpoint](context_core::Message::is_checkpoint), or
    /// marked as folded in `additional_kwargs`.
    pub fn stands_for_earlier(&self) -> bool {
        let folded = || {
            self.beside(FOLDED).is_some_and(|json| !matches!(json.as_str(), "false" | "null" | "0"))
        };
        self.get(Message::CHECKPOINT).is_some() || folded()
    }

    /// One value of `additional_kwargs`.
    fn beside(&self, key: &str) -> Option<Json> {
        self.get(KWARGS)?.parse::<JsonMap>().ok()?.shift_remove(key)
    }

    /// Whether it is [marked](context_core::Message::SYNTHETIC) as written by no person, model or
    /// tool.
    pub fn is_synthetic(&self) -> bool {
        self.get(context_core::Message::SYNTHETIC).is_some()
    }
}

/// What every record of a kind has, and the value that says nothing.
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

/// A record is a line of a log; others may have written a value over several.
fn put_on_one_line(value: &mut Json) {
    if value.as_str().contains('\n') {
        *value = value.compact();
    }
}

/// An item of a content, as it is shown.
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
