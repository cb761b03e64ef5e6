//! The content of a body, independent of how its builder arranges it.
//!
//! Providers differ in what they accept: reasoning signed by another one, media in results, a flag
//! for failed calls. Builders express these differently. So if a history contains one of them,
//! bodies of providers that do not accept it are compared by the history's own content: its texts,
//! calls, results and media, message by message.

use std::collections::HashSet;

use context_runtime::{Part, model::ModelRequest};
use serde_json::{Value, json};

/// Whether the history has something that this provider does not accept.
pub(super) fn applies(provider: &str, request: &ModelRequest) -> bool {
    let holds = |part: &Part| match part {
        Part::Reasoning(thought) => thought.provider.is_some(),
        Part::ToolResult(result) => {
            result.is_error || result.output.iter().any(|part| !matches!(part, Part::Text(_)))
        }
        _ => false,
    };
    provider != "anthropic" && request.messages.iter().flat_map(|message| &message.parts).any(holds)
}

/// Returns the content of a canonical body.
pub(super) fn content(body: &Value, request: &ModelRequest) -> Value {
    let texts = texts(request);
    let list = ["messages", "contents", "input"].iter().find_map(|key| body.get(key)?.as_array());
    let mut messages: Vec<(String, Vec<Value>)> = Vec::new();
    for message in list.into_iter().flatten() {
        let role = message.get("role").and_then(Value::as_str).unwrap_or("item").to_owned();
        let mut parts = Vec::new();
        collect(message, &texts, &mut parts);
        match messages.last_mut().filter(|(last, _)| *last == role && role == "user") {
            Some((_, before)) => before.extend(parts),
            None => messages.push((role, parts)),
        }
    }
    // The order of media and texts depends on the builder.
    for (_, parts) in &mut messages {
        parts.sort_by_key(|part| part.get("media").is_some());
    }
    json!(messages)
}

/// Returns the texts of a history, including those of results.
fn texts(request: &ModelRequest) -> HashSet<&str> {
    let mut texts = HashSet::new();
    let mut parts: Vec<&Part> =
        request.messages.iter().flat_map(|message| &message.parts).collect();
    while let Some(part) = parts.pop() {
        match part {
            Part::Text(text) => _ = texts.insert(text.text.as_str()),
            Part::ToolResult(result) => parts.extend(&result.output),
            _ => {}
        }
    }
    texts
}

/// Collects calls, results, texts of the history and media, in order.
fn collect(value: &Value, texts: &HashSet<&str>, parts: &mut Vec<Value>) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| collect(value, texts, parts)),
        Value::Object(map) if map.get("thought") == Some(&Value::Bool(true)) => {}
        Value::Object(map) => {
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("reasoning_content" | "role" | "type", _) => {}
                    ("function" | "functionCall", call) => parts.push(json!({ "call": call })),
                    ("tool_call_id" | "call_id", id) => parts.push(json!({ "of": id })),
                    ("functionResponse", response) => {
                        parts.push(json!({ "of": response.get("id") }));
                        collect(response, texts, parts);
                    }
                    ("image_url" | "inlineData", Value::String(_) | Value::Object(_)) => {
                        parts.push(json!({ "media": value }));
                    }
                    (_, Value::String(text)) => parts.extend(within(text, texts)),
                    (_, value) => collect(value, texts, parts),
                }
            }
        }
        _ => {}
    }
}

/// Returns the lines of a text that are in the history, alone or after a word that the call failed.
fn within(text: &str, texts: &HashSet<&str>) -> Vec<Value> {
    if texts.contains(text) {
        return vec![json!({ "text": text })];
    }
    let line = |line: &str| {
        let told = line.split_once(": ").map_or(line, |(_, told)| told);
        [line, told]
            .into_iter()
            .find(|line| texts.contains(line))
            .map(|line| json!({ "text": line }))
    };
    text.lines().filter_map(line).collect()
}
