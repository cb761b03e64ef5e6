//! Different spellings of one thing in a body.
//!
//! | spelling | means |
//! |---|---|
//! | a key with `null` | a missing key |
//! | `content` or `system` that is a string | a list of one text |
//! | `arguments` as a string | the value that it encodes |
//! | the ids of calls | the order of their first occurrence, since renaming may differ |

use serde_json::{Map, Value, json};

use crate::pilotdeck::symbols::VISUAL_INTRO;

/// Returns a value in which equal things are written equally.
pub(super) fn canonical(provider: &str, value: &Value) -> Value {
    let mut ids = Vec::new();
    walk(provider, "", value, &mut ids)
}

fn walk(provider: &str, key: &str, value: &Value, ids: &mut Vec<String>) -> Value {
    match value {
        Value::Object(map) => {
            let entries = map.iter().filter(|(_, value)| !value.is_null());
            Value::Object(
                entries
                    .map(|(key, value)| (key.clone(), walk(provider, key, value, ids)))
                    .collect::<Map<_, _>>(),
            )
        }
        Value::Array(list) => list.iter().map(|value| walk(provider, key, value, ids)).collect(),
        Value::String(text) => match key {
            "content" | "system" => json!([{ "type": text_type(provider), "text": text }]),
            "arguments" => serde_json::from_str(text).unwrap_or_else(|_| value.clone()),
            "id" | "tool_use_id" | "tool_call_id" | "call_id" => {
                let at = ids.iter().position(|id| id == text).unwrap_or_else(|| {
                    ids.push(text.clone());
                    ids.len() - 1
                });
                format!("id {at}").into()
            }
            _ => value.clone(),
        },
        plain => plain.clone(),
    }
}

fn text_type(provider: &str) -> &'static str {
    if provider == "openai-responses" { "input_text" } else { "text" }
}

/// Returns a recorded canonical body of Anthropic as the provider accepts it: the result of a
/// failed call has texts only, so its media follow after all results of the message, with a text
/// that says so in both places.
pub(super) fn without_media_in_errors(body: &Value) -> Value {
    let mut body = body.clone();
    let messages = body.get_mut("messages").and_then(Value::as_array_mut);
    for content in messages
        .into_iter()
        .flatten()
        .filter_map(|message| message.get_mut("content")?.as_array_mut())
    {
        let mut moved = Vec::new();
        for result in
            content.iter_mut().filter(|block| block.get("is_error") == Some(&Value::Bool(true)))
        {
            let Some(held) = result.get_mut("content").and_then(Value::as_array_mut) else {
                continue;
            };
            let (texts, media): (Vec<_>, Vec<_>) =
                std::mem::take(held).into_iter().partition(is_text);
            *held = texts;
            if !media.is_empty() {
                held.push(intro());
                moved.push(intro());
                moved.extend(media);
            }
        }
        let behind = content
            .iter()
            .rposition(|block| block.get("tool_use_id").is_some())
            .map_or(0, |last| last + 1);
        content.splice(behind..behind, moved);
    }
    body
}

fn is_text(block: &Value) -> bool {
    block.get("type").and_then(Value::as_str) == Some("text")
}

fn intro() -> Value {
    json!({ "type": "text", "text": VISUAL_INTRO })
}
