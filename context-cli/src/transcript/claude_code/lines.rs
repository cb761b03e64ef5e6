//! The lines of a session: what they say of themselves, and which session they belong to.

use std::collections::{HashMap, HashSet};

use context_runtime::{Json, JsonMap, Timestamp, limits};
use serde_json::value::RawValue;

use crate::transcript::timestamp;

/// A line that is an object.
pub(super) struct Entry {
    /// Which, from 1.
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

    /// What kind of line it is.
    pub(super) fn kind(&self) -> String {
        self.text("type").unwrap_or_else(|| "line".to_owned())
    }

    /// What it holds in Anthropic's form, or would if it could be read.
    pub(super) fn message(&self) -> Option<&Json> {
        self.map.get("message").filter(|value| value.as_str().starts_with('{'))
    }

    pub(super) fn has_message(&self) -> bool {
        self.message().is_some()
    }

    /// The id of the message it becomes; none if it becomes none.
    pub(super) fn id(&self) -> Option<String> {
        match self.text("uuid") {
            Some(uuid) if (1..=limits::MAX_ID_BYTES).contains(&uuid.len()) => Some(uuid),
            // Nothing can follow it, but it was said.
            _ => self.has_message().then(|| numbered(self.line)),
        }
    }

    /// When it was written.
    pub(super) fn time(&self) -> Option<Timestamp> {
        timestamp(&self.text("timestamp")?)
    }

    /// The summary it is, if it is one of these messages.
    pub(super) fn summary_of<T>(&self, ids: &HashMap<String, T>) -> Option<String> {
        ids.get(&self.text("leafUuid")?)?;
        self.text("summary")
    }

    /// Everything but the message, with null in its place.
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

/// What kind of line a kept one is.
pub(super) fn kind(line: &Json) -> String {
    let map: JsonMap = line.parse().unwrap_or_default();
    map.get("type").and_then(Json::to_text).unwrap_or_else(|| "line".to_owned())
}

fn numbered(line: usize) -> String {
    format!("line-{line}")
}

/// An id for a line without one.
pub(super) fn free_id(line: usize, taken: &HashSet<String>) -> String {
    let mut id = numbered(line);
    while taken.contains(&id) {
        id.push('\'');
    }
    id
}

/// The lines by session, sessions and lines in the order of the file. A line that names no session
/// goes with the line it is about (a summary names one), else with the line before it, else with
/// the first session.
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
    let places: Vec<usize> = all
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
    for (entry, place) in all.into_iter().zip(places) {
        sessions[place].push(entry);
    }
    sessions
}
