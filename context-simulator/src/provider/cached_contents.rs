//! Contents that programs have stored, as Gemini stores them.

use std::collections::BTreeMap;
use std::time::Duration;

use context_core::Timestamp;
use serde_json::{Map, Value};

use super::refusal::Refusal;

const NAME: &str = "cachedContent";
const CONTENTS: &str = "contents";
/// The lifetime of content whose call names none.
const USUAL: Duration = Duration::from_secs(3_600);

/// The stored contents by name.
#[derive(Debug, Default)]
pub(super) struct CachedContents(BTreeMap<String, StoredContent>);

#[derive(Debug)]
struct StoredContent {
    body: Map<String, Value>,
    expires: Option<Timestamp>,
}

/// A request together with the content that it names.
pub(super) struct ComposedBody {
    pub(super) body: Value,
    /// The content alone, as a body.
    pub(super) stored: Option<Value>,
}

impl CachedContents {
    /// Stores content and returns its name.
    pub(super) fn store(&mut self, body: Map<String, Value>, now: Option<Timestamp>) -> String {
        let ttl = body.get("ttl").and_then(Value::as_str).and_then(|ttl| ttl.strip_suffix('s'));
        let ttl = ttl.and_then(|seconds| seconds.parse().ok()).map_or(USUAL, Duration::from_secs);
        let micros = i64::try_from(ttl.as_micros()).unwrap_or(i64::MAX);
        let later = |now: Timestamp| Timestamp::from_micros(now.as_micros().saturating_add(micros));
        let name = format!("cachedContents/{}", self.0.len() + 1);
        self.0.insert(name.clone(), StoredContent { body, expires: now.map(later) });
        name
    }

    /// Returns a body with the content that it names.
    pub(super) fn composed(
        &self,
        mut body: Value,
        now: Option<Timestamp>,
    ) -> Result<ComposedBody, Refusal> {
        let name = body.get(NAME).and_then(Value::as_str).map(str::to_owned);
        let Some(name) = name else { return Ok(ComposedBody { body, stored: None }) };
        let is_alive = |stored: &&StoredContent| {
            stored.expires.is_none_or(|expires| now.is_none_or(|now| now < expires))
        };
        let stored = self.0.get(&name).filter(is_alive).ok_or(Refusal::CachedContent)?;
        let mut alone = Map::new();
        for key in ["systemInstruction", "tools", "toolConfig", CONTENTS] {
            if let Some(value) = stored.body.get(key) {
                alone.insert(key.to_owned(), value.clone());
            }
        }
        let Some(map) = body.as_object_mut() else { return Err(Refusal::NoJson) };
        map.remove(NAME);
        let contents = joined([alone.get(CONTENTS), map.get(CONTENTS)]);
        map.extend(alone.clone());
        map.insert(CONTENTS.to_owned(), contents);
        alone.entry(CONTENTS.to_owned()).or_insert_with(|| Value::Array(Vec::new()));
        Ok(ComposedBody { body, stored: Some(Value::Object(alone)) })
    }
}

/// Joins contents. Neighbours of one role become one content.
fn joined(lists: [Option<&Value>; 2]) -> Value {
    let mut all: Vec<Value> = Vec::new();
    for content in lists.into_iter().flatten().filter_map(Value::as_array).flatten() {
        let same = all.last_mut().filter(|last| last.get("role") == content.get("role"));
        let more = content.get("parts").and_then(Value::as_array);
        match (same.and_then(|last| last.get_mut("parts")?.as_array_mut()), more) {
            (Some(parts), Some(more)) => parts.extend(more.iter().cloned()),
            _ => all.push(content.clone()),
        }
    }
    Value::Array(all)
}
