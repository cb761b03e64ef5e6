//! Converting the content of a node to a message and back.

use context_codec_kit::wire::{array, from_map, object};
use context_core::base::JsonMap;
use context_core::message::ToolInput;
use context_core::{Json, Message, Part, Role, ToolCall};
use serde_json::json;
use serde_json::value::RawValue;

use super::KEY;
use crate::raw::{Entries, entries, text_of};
use crate::records::{
    RecordContext, RecordMessages, block, block_json, call_of_text, list_in, map, object_in,
    reasoning, result, text, texts,
};

/// The types of content that hold one text, with the key of the text.
const TEXTS: [(&str, &str); 5] = [
    ("code", "text"),
    ("execution_output", "text"),
    ("tether_quote", "text"),
    ("tether_browsing_display", "result"),
    ("system_error", "text"),
];
/// The type of content with reasoning.
const THOUGHTS: &str = "thoughts";
/// The variant of a call that is code.
const CALL_IN_CODE: &str = "call code";

/// Returns whether a node has a text of the user or the model.
pub(super) fn is_text(record: &Entries<'_>) -> bool {
    let Some(message) = object_in(record, "message") else { return false };
    let role = object_in(&message, "author").and_then(|author| text(&author, "role"));
    let Some(content) = object_in(&message, "content") else { return true };
    let kind = text(&content, "content_type");
    let is_empty = || parts(&content).is_some_and(|parts| is_blank(&parts));
    matches!(role.as_deref(), Some("user" | "assistant"))
        && matches!(kind.as_deref(), Some("text" | "multimodal_text"))
        && !is_empty()
}

/// Returns the message of a node.
pub(super) fn read(record: &Entries<'_>, context: &RecordContext) -> Option<RecordMessages> {
    let message = object_in(record, "message")?;
    let author = object_in(&message, "author")?;
    let content = object_in(&message, "content")?;
    let kind = text(&content, "content_type")?;
    let recipient = text(&message, "recipient").filter(|name| name != "all");
    let shaped = |shape, role, parts: Vec<Part>| {
        RecordMessages::shaped(shape, vec![Message::new(role, parts)])
    };
    let role = match text(&author, "role")?.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        "tool" => Role::Tool,
        _ => return None,
    };
    if kind == THOUGHTS && role == Role::Assistant {
        let thoughts: Option<Vec<_>> =
            list_in(&content, THOUGHTS)?.into_iter().map(thought).collect();
        return shaped(THOUGHTS, role, thoughts.filter(|thoughts| !thoughts.is_empty())?);
    }
    let (shape, parts) = match kind.as_str() {
        "text" | "multimodal_text" => ("", parts(&content)?),
        kind => {
            let (shape, key) = TEXTS.into_iter().find(|(name, _)| *name == kind)?;
            (shape, vec![Part::text(text(&content, key)?)])
        }
    };
    match (role, recipient) {
        (Role::Assistant, Some(tool)) => {
            let id = text(record, "id")?;
            let shape = if shape == "code" { CALL_IN_CODE } else { "" };
            let is_text = parts.iter().all(|part| matches!(part, Part::Text(_)));
            let call = call_of_text(id, tool, &texts(&parts));
            is_text.then_some(())?;
            shaped(shape, role, vec![call])
        }
        (Role::Tool, _) => {
            let call = context.call.clone().or_else(|| text(record, "parent"));
            let is_error = shape == "system_error";
            shaped(shape, role, vec![result(call?, text(&author, "name"), parts, is_error)])
        }
        _ => (!is_blank(&parts)).then(|| shaped(shape, role, parts))?,
    }
}

/// Returns the node of a message, without id and place.
pub(super) fn write(message: &Message, shape: &str) -> JsonMap {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::System => "system",
        Role::Tool => "tool",
    };
    let author = object([("role", role.into())]);
    let of = |author: Json, content: Json| map([("author", author), ("content", content)]);
    match message.parts.as_slice() {
        [Part::ToolCall(call)] => {
            let mut inner = of(author, call_content(call, shape));
            inner.insert("recipient".to_owned(), call.name.as_str().into());
            map([("id", call.id.as_str().into()), ("message", from_map(&inner))])
        }
        [Part::ToolResult(result), ..] => {
            let name = result.name.as_deref().map(|name| ("name", name.into()));
            let author = object([("role", "tool".into())].into_iter().chain(name));
            map([("message", from_map(&of(author, content_of(&result.output, shape))))])
        }
        parts => map([("message", from_map(&of(author, content_of(parts, shape))))]),
    }
}

/// Returns the parts of a content with `parts`.
fn parts(content: &Entries<'_>) -> Option<Vec<Part>> {
    let part = |raw: &RawValue| text_of(raw).map_or_else(|| block(KEY, raw), Part::text);
    Some(list_in(content, "parts")?.into_iter().map(part).collect())
}

fn is_blank(parts: &[Part]) -> bool {
    parts.iter().all(|part| matches!(part, Part::Text(text) if text.text.is_empty()))
}

/// Returns a thought, whose text is its summary on the first line and its content after it.
fn thought(raw: &RawValue) -> Option<Part> {
    let fields = entries(raw)?;
    let text = format!("{}\n{}", text(&fields, "summary")?, text(&fields, "content")?);
    Some(reasoning(text, None))
}

fn call_content(call: &ToolCall, shape: &str) -> Json {
    let written = match &call.input {
        ToolInput::Json(json) => json.as_str(),
        ToolInput::Invalid(text) => text,
    };
    match shape {
        CALL_IN_CODE => object([("content_type", "code".into()), ("text", written.into())]),
        _ => json!({"content_type": "text", "parts": [written]}).into(),
    }
}

/// Returns the content of parts.
fn content_of(parts: &[Part], shape: &str) -> Json {
    if let Some((kind, key)) = TEXTS.into_iter().find(|(kind, _)| *kind == shape) {
        return object([("content_type", kind.into()), (key, texts(parts).as_str().into())]);
    }
    let thought = |part: &Part| match part {
        Part::Reasoning(thought) => {
            let (summary, content) = thought.text.split_once('\n').unwrap_or(("", &thought.text));
            Some(json!({"summary": summary, "content": content}).into())
        }
        _ => None,
    };
    let thoughts: Vec<Json> = parts.iter().filter_map(thought).collect();
    if !thoughts.is_empty() {
        return object([("content_type", THOUGHTS.into()), (THOUGHTS, array(&thoughts))]);
    }
    let written = |part: &Part| match part {
        Part::Text(text) => Some(Json::from(text.text.as_str())),
        other => block_json(KEY, other),
    };
    let is_text = parts.iter().all(|part| matches!(part, Part::Text(_)));
    let kind = if is_text { "text" } else { "multimodal_text" };
    let parts: Vec<_> = parts.iter().filter_map(written).collect();
    object([("content_type", kind.into()), ("parts", array(&parts))])
}
