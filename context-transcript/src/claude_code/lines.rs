//! The lines of a session: their fields, and the session they belong to.

use std::collections::{HashMap, HashSet};

use context_core::base::{JsonMap, limits};
use context_core::{Json, Timestamp};
use serde_json::value::RawValue;

use crate::time::parse_time;

/// A line that is an object.
pub(super) struct Entry {
    /// The line number, from 1.
    pub(super) line: usize,
    map: JsonMap,
}

impl Entry {
    pub(super) fn read(line: usize, raw: &RawValue) -> Option<Self> {
        let map = serde_json::from_str(raw.get()).ok()?;
        Some(Self { line, map })
    }

    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.map.get(key)?.to_text()
    }

    pub(super) fn is_true(&self, key: &str) -> bool {
        self.map.get(key).is_some_and(|value| value.as_str() == "true")
    }

    /// Returns the type of the line.
    pub(super) fn kind(&self) -> String {
        self.text("type").unwrap_or_else(|| "line".to_owned())
    }

    /// Returns the value that should hold an Anthropic message.
    pub(super) fn message(&self) -> Option<&Json> {
        self.map.get("message").filter(|value| value.as_str().starts_with('{'))
    }

    pub(super) fn has_message(&self) -> bool {
        self.message().is_some()
    }

    /// Returns the id of the line's message, or `None` if it does not become one.
    pub(super) fn id(&self) -> Option<String> {
        match self.text("uuid") {
            Some(uuid) if (1..=limits::MAX_ID_BYTES).contains(&uuid.len()) => Some(uuid),
            // No line can follow this one, but its message is kept.
            _ => self.has_message().then(|| numbered(self.line)),
        }
    }

    /// Returns the time at which the line was written.
    pub(super) fn time(&self) -> Option<Timestamp> {
        parse_time(&self.text("timestamp")?)
    }

    /// Returns the summary if the line is a summary of one of these messages.
    pub(super) fn summary_of<T>(&self, ids: &HashMap<String, T>) -> Option<String> {
        ids.get(&self.text("leafUuid")?)?;
        self.text("summary")
    }

    /// Returns the line with null in place of the message.
    pub(super) fn rest(&self) -> JsonMap {
        let value = |(key, value): (&String, &Json)| {
            let value =
                if key == "message" { serde_json::Value::Null.into() } else { value.compact() };
            (key.clone(), value)
        };
        self.map.iter().map(value).collect()
    }

    pub(super) fn to_json(&self) -> Json {
        Json::from_serialize(&self.map).expect("text keys and JSON values").compact()
    }

    pub(super) fn into_json(self) -> Json {
        self.to_json()
    }
}

/// Returns the type of a kept line.
pub(super) fn kind(line: &Json) -> String {
    let map: JsonMap = line.parse().unwrap_or_default();
    map.get("type").and_then(Json::to_text).unwrap_or_else(|| "line".to_owned())
}

fn numbered(line: usize) -> String {
    format!("line-{line}")
}

/// Returns an unused id for a line without one.
pub(super) fn free_id(line: usize, taken: &HashSet<String>) -> String {
    let mut id = numbered(line);
    while taken.contains(&id) {
        id.push('\'');
    }
    id
}

/// Returns the lines by session, in file order. A line without a session belongs to that of the
/// line it refers to (as a summary does), else to that of the line before it, else to the first
/// session.
pub(super) fn by_session(all: Vec<Entry>) -> Vec<Vec<Entry>> {
    let own: Vec<Option<String>> = all.iter().map(|entry| entry.text("sessionId")).collect();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for name in own.iter().flatten() {
        let next = numbers.len();
        numbers.entry(name).or_insert(next);
    }
    let number = |name: &Option<String>| numbers.get(name.as_deref()?).copied();
    let mut by_uuid: HashMap<String, usize> = HashMap::new();
    for (entry, name) in all.iter().zip(&own) {
        if let (Some(uuid), Some(number)) = (entry.text("uuid"), number(name)) {
            by_uuid.entry(uuid).or_insert(number);
        }
    }
    let count = numbers.len().max(1);
    let (mut sessions, mut last): (Vec<Vec<Entry>>, usize) =
        ((0..count).map(|_| Vec::new()).collect(), 0);
    let session_indices: Vec<usize> = all
        .iter()
        .zip(&own)
        .map(|(entry, name)| {
            let about = || {
                let keys = ["leafUuid", "parentUuid", "messageId"];
                keys.iter().find_map(|key| by_uuid.get(&entry.text(key)?).copied())
            };
            last = number(name).or_else(about).unwrap_or(last);
            last
        })
        .collect();
    for (entry, index) in all.into_iter().zip(session_indices) {
        sessions[index].push(entry);
    }
    sessions
}
