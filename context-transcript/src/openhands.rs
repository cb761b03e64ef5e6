//! Events of OpenHands: a list of objects with a `kind`, JSON Lines of them, or an object with such
//! a list under `history`, `events` or `items`.
//!
//! | file | chat |
//! |---|---|
//! | `SystemPromptEvent` | a system message: the prompt, then its dynamic context |
//! | `MessageEvent` | a user or assistant message with the content of its `llm_message` |
//! | `extended_content` of a `MessageEvent` | a user message after it |
//! | `ActionEvent` | an assistant message: reasoning, thought, call |
//! | `ObservationEvent`, `AgentErrorEvent`, `UserRejectObservation` | a tool message |
//! | any other event | an application message without text |
//! | `id`, `timestamp` | id and time; a time without a zone is taken as UTC |
//!
//! Each event is a message of its own, also if one answer of the model made several actions. The
//! events of a conversation are stored as one file each: `jq -s . events/*.json` makes the list.
//! What the agent's context adds to an observation (its `extended_content`) is kept with it and not
//! shown. Events contain neither model nor usage; OpenHands stores those with the conversation.
//!
//! Export gives equal values. An added action or observation has no `action` and `action_id`, since
//! only OpenHands knows them. Events without a `kind` are of V0: [`v0`] reads those.

pub(crate) mod v0;

use context_codec_kit::wire::{array, object};
use context_core::base::JsonMap;
use context_core::message::Reasoning;
use context_core::{Json, Message, Part, Role, ToolResult};
use serde_json::json;
use serde_json::value::RawValue;

use crate::Format;
use crate::raw::{Entries, entries, first, text_of};
use crate::records::{
    AddedRecord, RecordContext, RecordForm, RecordMessages, RecordPlace, block, block_json, call,
    call_of_text, has_list, input, is_true, list_in, map, media_of, media_of_url, object_in,
    reasoning, result, split_calls, text, texts, url_of,
};
use crate::time::{format_time, time_of};

/// The metadata key for the original event of a message.
const KEY: &str = "openhands";
/// The kinds of events that are part of the conversation.
const MESSAGES: [&str; 6] = [
    "SystemPromptEvent",
    "MessageEvent",
    "ActionEvent",
    "ObservationEvent",
    "AgentErrorEvent",
    "UserRejectObservation",
];
/// The fields of an observation without a content list that may hold its text.
const OUTPUTS: [&str; 4] = ["output", "text", "message", "error"];

/// Events of OpenHands.
pub(crate) struct Openhands;

/// Returns whether a value is an event.
pub(crate) fn is_event(raw: &RawValue) -> bool {
    let Some(fields) = entries(raw) else { return false };
    let has = |key: &str| fields.get(key).is_some_and(|value| first(value) == '"');
    let is_kind = |kind: String| {
        kind.ends_with("Event") || kind.starts_with("Condensation") || MESSAGES.contains(&&*kind)
    };
    has("source") && !has("role") && text(&fields, "kind").is_some_and(is_kind)
}

impl RecordForm for Openhands {
    fn format(&self) -> Format {
        Format::Openhands
    }

    fn key(&self) -> &'static str {
        KEY
    }

    fn place(&self, record: &Entries<'_>) -> RecordPlace {
        let time = record.get("timestamp").and_then(|time| time_of(time));
        RecordPlace { id: text(record, "id"), time, ..RecordPlace::default() }
    }

    fn is_message(&self, record: &Entries<'_>) -> bool {
        text(record, "kind").is_some_and(|kind| MESSAGES.contains(&&*kind))
    }

    fn read(&self, record: &Entries<'_>, _: &RecordContext) -> Option<RecordMessages> {
        match text(record, "kind")?.as_str() {
            "SystemPromptEvent" => {
                let prompt = |key| text(&object_in(record, key)?, "text");
                let texts = [Some(prompt("system_prompt")?), prompt("dynamic_context")];
                let parts = texts.into_iter().flatten().map(Part::text);
                RecordMessages::plain(vec![Message::new(Role::System, parts)])
            }
            "MessageEvent" => message_event(record),
            "ActionEvent" => action_event(record),
            "ObservationEvent" => {
                let observation = object_in(record, "observation")?;
                let is_error = is_true(&observation, "is_error");
                let (shape, output) = match has_list(&observation, "content") {
                    true => ("", blocks(&observation, "content")?),
                    false => {
                        let output = |key| Some((key, text(&observation, key)?));
                        let found = OUTPUTS.into_iter().find_map(output);
                        let whole = || record.get("observation").map(|raw| raw.get().to_owned());
                        let (shape, text) = found.or_else(|| Some(("json", whole()?)))?;
                        (shape, vec![Part::text(text)])
                    }
                };
                tool_message(record, shape, output, is_error)
            }
            "AgentErrorEvent" => {
                tool_message(record, "agent_error", vec![Part::text(text(record, "error")?)], true)
            }
            "UserRejectObservation" => {
                let reason = text(record, "rejection_reason")?;
                tool_message(record, "rejection", vec![Part::text(reason)], true)
            }
            _ => None,
        }
    }

    fn write(&self, messages: &[&Message], shape: &str) -> JsonMap {
        let Some(message) = messages.first() else { return JsonMap::default() };
        let parts = message.parts.as_slice();
        let mut event = match (message.role, parts) {
            (Role::System, _) => {
                let keys = ["system_prompt", "dynamic_context"].into_iter().zip(parts);
                let prompts = keys.filter_map(|(key, part)| Some((key, block_of(part)?)));
                map([("kind", "SystemPromptEvent".into())].into_iter().chain(prompts))
            }
            (Role::Tool, [Part::ToolResult(result), ..]) => write_result(result, shape),
            (Role::Assistant, [.., Part::ToolCall(_)]) if shape != "message" => {
                write_action(parts, shape)
            }
            _ => write_message(message, shape),
        };
        if let [_, extended] = messages {
            event.insert("extended_content".to_owned(), blocks_of(&extended.parts));
        }
        event
    }

    fn complete(&self, record: JsonMap, added: &AddedRecord<'_>) -> JsonMap {
        let is_kind = |kinds: &[&str]| {
            let kind = record.get("kind").and_then(Json::to_text).unwrap_or_default();
            kinds.contains(&&*kind)
        };
        let is_user = record.get("llm_message").is_some_and(|message| {
            entries(message.as_raw()).and_then(|message| text(&message, "role"))
                == Some("user".to_owned())
        });
        let source = match () {
            () if is_user => "user",
            () if is_kind(&["ObservationEvent"]) => "environment",
            () => "agent",
        };
        let mut event = map([
            ("id", added.id.into()),
            ("timestamp", format_time(added.at).as_str().into()),
            ("source", source.into()),
        ]);
        event.extend(record);
        event
    }

    fn split(&self, message: &Message) -> Vec<Message> {
        split_calls(message)
    }
}

/// Returns the messages of a message event.
fn message_event(record: &Entries<'_>) -> Option<RecordMessages> {
    let message = object_in(record, "llm_message")?;
    let role = match text(&message, "role")?.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        _ => return None,
    };
    let mut parts = thoughts(&message)?;
    let content = message.get("content").and_then(|content| text_of(content));
    let mut shape = if content.is_some() { "text" } else { "" };
    match content {
        Some(text) => parts.push(Part::text(text)),
        None => parts.extend(blocks(&message, "content")?),
    }
    for raw in list_in(&message, "tool_calls")? {
        let (part, _) = tool_call(&entries(raw)?)?;
        parts.push(part);
        shape = "message";
    }
    let mut messages = vec![Message::new(role, parts)];
    let extended = blocks(record, "extended_content")?;
    if !extended.is_empty() {
        messages.push(Message::new(Role::User, extended));
    }
    // System messages have an event of their own, and a message without parts has no content.
    let is_known = role != Role::System && !messages[0].parts.is_empty();
    RecordMessages::shaped(shape, messages).filter(|_| is_known)
}

/// Returns the message of an action.
fn action_event(record: &Entries<'_>) -> Option<RecordMessages> {
    let mut parts = thoughts(record)?;
    parts.extend(blocks(record, "thought")?);
    let (call, shape) = match object_in(record, "tool_call").and_then(|call| tool_call(&call)) {
        Some(found) => found,
        None => {
            let (id, name) = (text(record, "tool_call_id")?, text(record, "tool_name")?);
            (call(id, name, record.get("action").copied()), "action")
        }
    };
    parts.push(call);
    RecordMessages::shaped(shape, vec![Message::new(Role::Assistant, parts)])
}

/// Returns a call in the form of OpenHands or that of Chat Completions, and the name of the form.
fn tool_call(fields: &Entries<'_>) -> Option<(Part, &'static str)> {
    let function = object_in(fields, "function");
    let shape = if function.is_some() { "function" } else { "" };
    let of = function.as_ref().unwrap_or(fields);
    let (name, arguments) = (text(of, "name")?, text(of, "arguments")?);
    Some((call_of_text(text(fields, "id")?, name, &arguments), shape))
}

/// Returns the reasoning of an answer: signed blocks, else the text.
fn thoughts(fields: &Entries<'_>) -> Option<Vec<Part>> {
    let signed = list_in(fields, "thinking_blocks")?;
    if signed.is_empty() {
        let text = text(fields, "reasoning_content").filter(|text| !text.is_empty());
        return Some(text.map(|text| reasoning(text, None)).into_iter().collect());
    }
    let thought = |raw: &RawValue| {
        let fields = entries(raw)?;
        if let Some(data) = text(&fields, "data") {
            let encrypted = Some(data);
            return Some(Part::Reasoning(Reasoning {
                encrypted: encrypted.map(Into::into),
                ..Reasoning::default()
            }));
        }
        Some(reasoning(text(&fields, "thinking")?, Some(text(&fields, "signature")?)))
    };
    signed.into_iter().map(thought).collect()
}

/// Returns the parts of a list of content blocks.
fn blocks(fields: &Entries<'_>, key: &str) -> Option<Vec<Part>> {
    list_in(fields, key)?.into_iter().map(part).collect()
}

fn part(raw: &RawValue) -> Option<Part> {
    let fields = entries(raw)?;
    let known = match text(&fields, "type")?.as_str() {
        "text" => Some(Part::text(text(&fields, "text")?)),
        "image" => match list_in(&fields, "image_urls")?.as_slice() {
            [url] => Some(media_of_url(text_of(url)?, Some("image/*".to_owned()), None)),
            _ => None,
        },
        _ => None,
    };
    Some(known.unwrap_or_else(|| block(KEY, raw)))
}

/// Returns the message of a result.
fn tool_message(
    record: &Entries<'_>,
    shape: &'static str,
    output: Vec<Part>,
    is_error: bool,
) -> Option<RecordMessages> {
    let (id, name) = (text(record, "tool_call_id")?, text(record, "tool_name"));
    let part = result(id, name, output, is_error);
    RecordMessages::shaped(shape, vec![Message::new(Role::Tool, [part])])
}

/// Returns the event of a result.
fn write_result(result: &ToolResult, shape: &str) -> JsonMap {
    let text = || Json::from(texts(&result.output).as_str());
    let (kind, key, value) = match shape {
        "agent_error" => ("AgentErrorEvent", "error", text()),
        "rejection" => ("UserRejectObservation", "rejection_reason", text()),
        "json" => {
            let whole = Json::from_text(texts(&result.output)).unwrap_or_else(|_| text());
            ("ObservationEvent", "observation", whole)
        }
        shape => {
            let output = match OUTPUTS.into_iter().find(|key| *key == shape) {
                Some(key) => (key, text()),
                None => ("content", blocks_of(&result.output)),
            };
            let is_error = result.is_error.then(|| ("is_error", json!(true).into()));
            ("ObservationEvent", "observation", object([output].into_iter().chain(is_error)))
        }
    };
    let name = result.name.as_deref().map(|name| ("tool_name", Json::from(name)));
    let fields =
        [("kind", kind.into()), ("tool_call_id", result.call_id.as_str().into()), (key, value)];
    map(fields.into_iter().chain(name))
}

/// Returns the event of an action.
fn write_action(parts: &[Part], shape: &str) -> JsonMap {
    let (thought, calls): (Vec<_>, Vec<_>) =
        parts.iter().cloned().partition(|part| !matches!(part, Part::ToolCall(_)));
    let mut event = map([("kind", "ActionEvent".into())]);
    event.extend(thoughts_of(&thought));
    event.insert("thought".to_owned(), blocks_of(&thought));
    if let Some(Part::ToolCall(call)) = calls.first() {
        event.insert("tool_name".to_owned(), call.name.as_str().into());
        event.insert("tool_call_id".to_owned(), call.id.as_str().into());
        match shape {
            "action" => event.insert("action".to_owned(), input(call)),
            shape => event.insert("tool_call".to_owned(), call_json(call, shape == "function")),
        };
    }
    event
}

fn call_json(call: &context_core::ToolCall, as_function: bool) -> Json {
    let function =
        [("name", call.name.as_str().into()), ("arguments", call.input.as_written().into())];
    let id = ("id", call.id.as_str().into());
    match as_function {
        true => object([id, ("function", object(function))]),
        false => object(std::iter::once(id).chain(function)),
    }
}

/// Returns the event of a message.
fn write_message(message: &Message, shape: &str) -> JsonMap {
    let (source, role) = match message.role {
        Role::Assistant => ("agent", "assistant"),
        _ => ("user", "user"),
    };
    let content = match shape {
        "text" => texts(&message.parts).as_str().into(),
        _ => blocks_of(&message.parts),
    };
    let mut inner = map([("role", role.into()), ("content", content)]);
    inner.extend(thoughts_of(&message.parts));
    let calls: Vec<_> = message.tool_calls().map(|call| call_json(call, false)).collect();
    if !calls.is_empty() {
        inner.insert("tool_calls".to_owned(), array(&calls));
    }
    let inner = Json::from_serialize(&inner).expect("text keys and JSON values");
    map([("kind", "MessageEvent".into()), ("source", source.into()), ("llm_message", inner)])
}

/// Returns the fields of reasoning.
fn thoughts_of(parts: &[Part]) -> JsonMap {
    let thoughts = parts.iter().filter_map(|part| match part {
        Part::Reasoning(thought) => Some(thought),
        _ => None,
    });
    let (signed, plain): (Vec<_>, Vec<_>) =
        thoughts.partition(|thought| thought.signature.is_some() || thought.encrypted.is_some());
    let signed = signed.into_iter().map(|thought| match (&thought.signature, &thought.encrypted) {
        (_, Some(data)) => json!({"type": "redacted_thinking", "data": data}).into(),
        (signature, None) => {
            json!({"type": "thinking", "thinking": thought.text, "signature": signature}).into()
        }
    });
    let signed: Vec<Json> = signed.collect();
    let plain: Vec<_> = plain.into_iter().map(|thought| thought.text.as_str()).collect();
    let mut fields = JsonMap::default();
    if !signed.is_empty() {
        fields.insert("thinking_blocks".to_owned(), array(&signed));
    }
    if !plain.is_empty() {
        fields.insert("reasoning_content".to_owned(), plain.join("\n").as_str().into());
    }
    fields
}

fn blocks_of(parts: &[Part]) -> Json {
    array(&parts.iter().filter_map(block_of).collect::<Vec<_>>())
}

fn block_of(part: &Part) -> Option<Json> {
    match part {
        Part::Text(text) => Some(json!({"type": "text", "text": text.text}).into()),
        Part::Image(_) => {
            let url = url_of(media_of(part)?)?;
            Some(json!({"type": "image", "image_urls": [url]}).into())
        }
        other => block_json(KEY, other),
    }
}
