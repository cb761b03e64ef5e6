//! Invariants of every body, independent of the recorded one: its provider accepts it.

use std::collections::HashSet;

use context_runtime::{
    Json, Part,
    model::{ModelCodec, ModelRequest},
};
use serde_json::Value;

use crate::judge::Difference;
use crate::pilotdeck::history::pairs_valid;

/// Checks that calls and results are adjacent and one to one, that no text and no output of an
/// answered call is lost, and that the provider's own rules hold.
pub(super) fn check(
    provider: &str,
    codec: &dyn ModelCodec,
    request: &ModelRequest,
    body: &Json,
) -> Result<String, Difference> {
    let rule = "sound body: pairs valid, nothing said is lost, the provider's rules";
    let fault = |what: String| Difference::new(rule, what, body);
    let lifted = codec.lift(body).map_err(|error| fault(error.to_string()))?;
    pairs_valid(&lifted.request.messages).map_err(&fault)?;
    let value = body.parse::<Value>().map_err(|error| fault(error.to_string()))?;
    let mut texts = Vec::new();
    collect(&value, &mut texts);
    if let Some(lost) =
        said(request).into_iter().find(|said| !texts.iter().any(|text| text.contains(*said)))
    {
        return Err(fault(format!("the text {lost:?}")));
    }
    let kept = match provider {
        "anthropic" => anthropic(&value),
        "openai" => openai(&value),
        "openai-responses" => responses(&value),
        "google" => google(&value),
        _ => Ok(()),
    };
    kept.map_err(fault)?;
    Ok(rule.to_owned())
}

/// Returns what must not be lost: texts, and outputs of existing calls.
fn said(request: &ModelRequest) -> Vec<&str> {
    let parts = || request.messages.iter().flat_map(|message| &message.parts);
    let calls: HashSet<&str> = parts()
        .filter_map(|part| match part {
            Part::ToolCall(call) => Some(call.id.as_str()),
            _ => None,
        })
        .collect();
    let mut said = Vec::new();
    for part in parts() {
        match part {
            Part::Text(text) => said.push(text.text.as_str()),
            Part::ToolResult(result) if calls.contains(result.call_id.as_str()) => {
                said.extend(result.output.iter().filter_map(|part| match part {
                    Part::Text(text) => Some(text.text.as_str()),
                    _ => None,
                }));
            }
            _ => {}
        }
    }
    said.retain(|text| !text.trim().is_empty());
    said
}

fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|value| collect(value, texts)),
        Value::Object(map) => map.values().for_each(|value| collect(value, texts)),
        _ => {}
    }
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn is(value: &Value, key: &str, text: &str) -> bool {
    value.get(key).and_then(Value::as_str) == Some(text)
}

/// Checks that the output limit is set, that results come first, and that breakpoints are few and
/// on blocks that may carry them.
fn anthropic(body: &Value) -> Result<(), String> {
    if body.get("max_tokens").and_then(Value::as_u64).is_none_or(|tokens| tokens == 0) {
        return Err("max_tokens".to_owned());
    }
    let blocks = || {
        let messages = list(body, "messages").iter().flat_map(|message| list(message, "content"));
        messages.chain(list(body, "system")).chain(list(body, "tools"))
    };
    let marked = || blocks().filter(|block| block.get("cache_control").is_some());
    if marked().count() > 4 {
        return Err("at most four marks".to_owned());
    }
    if marked().any(|block| is(block, "type", "thinking") || is(block, "text", "")) {
        return Err("marks on blocks that may carry them".to_owned());
    }
    for message in list(body, "messages") {
        let content = list(message, "content");
        let first_other = content.iter().position(|block| !is(block, "type", "tool_result"));
        let last_result = content.iter().rposition(|block| is(block, "type", "tool_result"));
        if first_other.zip(last_result).is_some_and(|(other, result)| other < result) {
            return Err("results in front of everything else".to_owned());
        }
    }
    Ok(())
}

/// Checks that every result has its call in the assistant message before the run of results.
fn openai(body: &Value) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    for message in list(body, "messages") {
        if is(message, "role", "tool") {
            let id = message.get("tool_call_id").and_then(Value::as_str).unwrap_or_default();
            let call = open.iter().position(|open| *open == id);
            open.remove(call.ok_or_else(|| format!("a call {id:?} in front of its result"))?);
        } else if open.is_empty() {
            let calls = list(message, "tool_calls").iter();
            open = calls.filter_map(|call| call.get("id").and_then(Value::as_str)).collect();
        } else {
            return Err(format!("results of {open:?} directly behind their calls"));
        }
    }
    Ok(())
}

/// Checks that the assistant uses `output_text` and the user `input_*`, and that outputs are
/// adjacent.
fn responses(body: &Value) -> Result<(), String> {
    for item in list(body, "input") {
        let assistant = is(item, "role", "assistant");
        let wrong = |part: &Value| {
            let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
            if assistant {
                !matches!(kind, "output_text" | "refusal")
            } else {
                !kind.starts_with("input_")
            }
        };
        if list(item, "content").iter().any(wrong) && !is(item, "type", "reasoning") {
            return Err(format!("parts that this role may have: {item}"));
        }
    }
    let kinds = list(body, "input")
        .iter()
        .map(|item| item.get("type").and_then(Value::as_str).unwrap_or("message"));
    let mut between = false;
    for kind in kinds {
        between = match kind {
            "function_call" => false,
            "function_call_output" if between => {
                return Err("outputs that stand together".to_owned());
            }
            "function_call_output" => false,
            _ => true,
        };
    }
    Ok(())
}

/// Checks that the user comes first, that roles alternate, and that no content is empty.
fn google(body: &Value) -> Result<(), String> {
    let contents = list(body, "contents");
    let role =
        |content: &Value| content.get("role").and_then(Value::as_str).unwrap_or("user").to_owned();
    if contents.first().map(role).is_some_and(|first| first != "user") {
        return Err("the user first".to_owned());
    }
    if contents.windows(2).any(|pair| role(&pair[0]) == role(&pair[1])) {
        return Err("roles in turn".to_owned());
    }
    if contents.iter().any(|content| list(content, "parts").is_empty()) {
        return Err("parts in every content".to_owned());
    }
    Ok(())
}
