//! What a body says, without how its builder puts it.
//!
//! Providers differ in what they take: no thought that another one signed, no media in results, no
//! flag for failed calls. Builders word that differently. So where a history holds such a thing,
//! bodies of providers that do not take it are compared in what the history itself says: its texts,
//! calls, results and media, message by message.

use std::collections::HashSet;

use context_runtime::{Part, model::ModelRequest};
use serde_json::{Value, json};

/// Whether the history holds what this provider does not take.
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

/// What a canonical body says.
pub(super) fn said(body: &Value, request: &ModelRequest) -> Value {
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
    // Where media stand beside texts is the builder's business.
    for (_, parts) in &mut messages {
        parts.sort_by_key(|part| part.get("media").is_some());
    }
    json!(messages)
}

/// The texts of a history, those of results too.
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

/// Calls, results, texts of the history and media, in order.
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

/// The lines of a text that the history says, alone or behind a word that the call failed.
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
