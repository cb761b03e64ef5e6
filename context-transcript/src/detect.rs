//! Detection of message formats by features that only one format has. Ambiguous messages are not
//! classified.

use serde_json::value::RawValue;

use crate::Format;
use crate::raw::{Entries, entries, first, text_of, value_of};

/// Item types that only OpenAI Responses uses, besides those that end in `_call` and
/// `_call_output`.
const ITEMS: [&str; 3] = ["reasoning", "item_reference", "compaction"];
/// Part types that only OpenAI Responses uses.
const PARTS: [&str; 4] = ["input_text", "output_text", "input_image", "input_file"];

/// Returns whether an object without a role is a Responses item, which may occur in a list of
/// messages.
pub(crate) fn is_item(raw: &RawValue) -> bool {
    entries(raw).is_some_and(|entries| !entries.contains_key("role") && is_item_type(&entries))
}

pub(crate) fn is_item_type(entries: &Entries<'_>) -> bool {
    let kind = entries.get("type").and_then(|kind| text_of(kind)).unwrap_or_default();
    ITEMS.contains(&kind.as_str()) || kind.ends_with("_call") || kind.ends_with("_call_output")
}

/// Returns the format of messages, if only one format is possible.
pub(crate) fn format(messages: &[&RawValue]) -> Option<Format> {
    // Most messages contain none of these words, so they are not parsed.
    const WORDS: [&str; 6] =
        ["\"parts\"", "\"toolInvocations\"", "_call\"", "_call_output\"", "put_text\"", "\"input_"];
    let may = |raw: &&&RawValue| {
        WORDS.iter().any(|word| raw.get().contains(word)) || raw.get().contains("\"reasoning\"")
    };
    let suspects = || messages.iter().filter(may).filter_map(|raw| entries(raw));
    if suspects().any(|message| is_of_responses(&message)) {
        return Some(Format::OpenaiResponses);
    }
    let roles = |known: &[&str]| {
        messages.iter().all(|raw| {
            let Some(entries) = entries(raw) else { return false };
            let Some(role) = entries.get("role") else { return known.contains(&"") };
            text_of(role).is_some_and(|role| known.contains(&role.as_str()))
        })
    };
    if suspects().any(|message| is_ui(&message)) && roles(&["system", "user", "assistant"]) {
        return Some(Format::Uimessage);
    }
    if suspects().any(|message| is_content(&message)) && roles(&["user", "model", "function", ""]) {
        return Some(Format::Gemini);
    }
    None
}

fn is_of_responses(message: &Entries<'_>) -> bool {
    let has_part = || {
        let content = message.get("content").filter(|content| first(content) == '[')?;
        let parts: Vec<&RawValue> = serde_json::from_str(content.get()).ok()?;
        let kinds = parts.iter().filter_map(|part| text_of(entries(part)?.remove("type")?));
        Some(kinds.into_iter().any(|kind| PARTS.contains(&kind.as_str())))
    };
    (!message.contains_key("role") && is_item_type(message)) || has_part() == Some(true)
}

/// Returns the parts of a message, if it has any.
fn parts<'a>(message: &Entries<'a>) -> Option<Vec<Entries<'a>>> {
    let parts: Vec<&'a RawValue> = serde_json::from_str(message.get("parts")?.get()).ok()?;
    parts.into_iter().map(entries).collect()
}

/// Returns whether a message has parts in the form of the AI SDK, or calls in its older form.
fn is_ui(message: &Entries<'_>) -> bool {
    let typed = |part: &Entries<'_>| part.get("type").is_some_and(|kind| first(kind) == '"');
    let has_parts =
        parts(message).is_some_and(|parts| !parts.is_empty() && parts.iter().all(typed));
    has_parts || message.get("toolInvocations").is_some_and(|calls| first(calls) == '[')
}

/// Returns whether a message has parts in the form of Gemini.
fn is_content(message: &Entries<'_>) -> bool {
    let untyped = |part: &Entries<'_>| !part.contains_key("type") && !part.is_empty();
    parts(message).is_some_and(|parts| !parts.is_empty() && parts.iter().all(untyped))
}

/// Returns the format that a conversation's envelope implies, unless another one was named.
pub(crate) fn of_envelope(item: &RawValue, named: Option<Format>) -> Option<Format> {
    match named {
        None => {}
        Some(Format::SweAgent) => return named,
        Some(_) => return None,
    }
    let history = value_of(item, "history", '[')?;
    let has_steps = value_of(item, "trajectory", '[').is_some();
    let agents = || {
        let messages: Vec<&RawValue> = serde_json::from_str(history.get()).unwrap_or_default();
        let has_agent = |raw: &&RawValue| {
            value_of(raw, "agent", '"').is_some() && value_of(raw, "role", '"').is_some()
        };
        !messages.is_empty() && messages.iter().all(has_agent)
    };
    (has_steps || agents()).then_some(Format::SweAgent)
}
