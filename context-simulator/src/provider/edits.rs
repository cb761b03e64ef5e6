//! Context editing: old results of tools are cleared before the model reads a request.
//!
//! Source: the guide *Context editing* of Anthropic, October 2026.

use serde_json::{Value, json};

/// The text in the place of a cleared result.
const CLEARED: &str = "[Old tool result content cleared]";

/// Returns a body as the model reads it, with the results cleared that the body asks for. `count`
/// returns the input tokens of a body.
pub(super) fn edited(provider: &str, body: Value, count: impl Fn(&Value) -> u64) -> Value {
    let edits = body.pointer("/context_management/edits").and_then(Value::as_array);
    let clears = |edit: &&Value| edit["type"] == "clear_tool_uses_20250919";
    let Some(edit) = edits.and_then(|edits| edits.iter().find(clears)).cloned() else {
        return body;
    };
    if provider != "anthropic" {
        return body;
    }
    let number =
        |path: &str, default: u64| edit.pointer(path).and_then(Value::as_u64).unwrap_or(default);
    let input = count(&body);
    if input <= number("/trigger/value", 100_000) {
        return body;
    }
    let excluded = edit["exclude_tools"].as_array().cloned().unwrap_or_default();
    let mut read = body.clone();
    let keep = usize::try_from(number("/keep/value", 3)).unwrap_or(usize::MAX);
    let mut left = blocks(&mut read).filter(|block| is_result(block)).count().saturating_sub(keep);
    let uses: Vec<(Value, Value)> = blocks(&mut read)
        .filter(|block| block["type"] == "tool_use")
        .map(|block| (block["id"].clone(), block["name"].clone()))
        .collect();
    for block in blocks(&mut read).filter(|block| is_result(block)) {
        if left == 0 {
            break;
        }
        left -= 1;
        let name = uses.iter().find(|(id, _)| *id == block["tool_use_id"]).map(|(_, name)| name);
        if !name.is_some_and(|name| excluded.contains(name)) {
            block["content"] = json!(CLEARED);
        }
    }
    match input.saturating_sub(count(&read)) >= number("/clear_at_least/value", 0) {
        true => read,
        false => body,
    }
}

fn blocks(body: &mut Value) -> impl Iterator<Item = &mut Value> {
    let messages = body["messages"].as_array_mut().into_iter().flatten();
    messages.filter_map(|message| message["content"].as_array_mut()).flatten()
}

fn is_result(block: &Value) -> bool {
    block["type"] == "tool_result"
}
