//! Sessions of goose: the object that `goose session export --format json` writes, with its
//! messages under `conversation`, or the lines of older session files, where a line about the
//! session precedes the messages.
//!
//! | file | chat |
//! |---|---|
//! | `text`, `image` of a user | a user message |
//! | `text`, `thinking`, `redactedThinking`, `toolRequest` of the assistant | an assistant message |
//! | `toolResponse` | a tool message |
//! | other content, such as confirmations and notifications | data of the message, which no provider gets |
//! | `id`, `created` | id and time |
//! | `name` or `description` of the session | the title |
//! | the line about the session | an application message without text |
//! | the other keys of the session | the envelope |
//!
//! Messages that goose no longer sends (`agentVisible` is false) are messages as well. Goose counts
//! tokens for the session and not for answers, so there are no measures. Export gives equal values.

use context_codec_kit::wire::{array, object};
use context_core::base::JsonMap;
use context_core::message::Reasoning;
use context_core::{Json, Message, Metadata, Part, Role, ToolResult};
use serde_json::json;
use serde_json::value::RawValue;

use crate::Format;
use crate::raw::{Entries, entries, first};
use crate::read::Value;
use crate::records::{
    AddedRecord, RecordContext, RecordForm, RecordMessages, RecordPlace, block, block_json, call,
    has_list, input, is_true, list_in, map, mcp_block, mcp_part, object_in, reasoning, runs, text,
    texts,
};
use crate::time::{seconds_of, time_of_seconds};

/// The metadata key for the original record of a message, and for the variant of a result.
const KEY: &str = "goose";
/// The variant of a result that is a list of content.
const LIST: &str = "list";
/// The variant of a result that is an error instead of content.
const ERROR: &str = "error";

/// Sessions of goose.
pub(crate) struct Goose;

/// Returns whether a value is a message of goose.
pub(crate) fn is_message(raw: &RawValue) -> bool {
    let Some(fields) = entries(raw) else { return false };
    let is_number = |value: &&RawValue| value.get().parse::<f64>().is_ok();
    text(&fields, "role").is_some_and(|role| ["user", "assistant"].contains(&&*role))
        && fields.get("created").is_some_and(is_number)
        && has_list(&fields, "content")
}

/// Returns whether lines are a session with a line about it.
pub(crate) fn is_session(values: &[Value<'_>]) -> bool {
    let [start, next, ..] = values else { return false };
    let is_header = entries(start.raw).is_some_and(|fields| {
        !fields.contains_key("role")
            && ["working_dir", "message_count"].iter().any(|key| fields.contains_key(*key))
    });
    is_header && is_message(next.raw)
}

/// Returns the title in the fields of a session.
pub(crate) fn title_of(session: &Entries<'_>) -> Option<String> {
    let is_session = !session.contains_key("role");
    let title = |key| text(session, key).filter(|title| !title.is_empty());
    ["name", "description"].into_iter().find_map(title).filter(|_| is_session)
}

impl RecordForm for Goose {
    fn format(&self) -> Format {
        Format::Goose
    }

    fn key(&self) -> &'static str {
        KEY
    }

    fn place(&self, record: &Entries<'_>) -> RecordPlace {
        let time = record.get("created").and_then(|time| time_of_seconds(time));
        let id = text(record, "id").filter(|_| record.contains_key("role"));
        RecordPlace { id, time, ..RecordPlace::default() }
    }

    fn is_message(&self, record: &Entries<'_>) -> bool {
        let content = list_in(record, "content");
        record.contains_key("role") && content.is_none_or(|content| !content.is_empty())
    }

    fn title(&self, envelope: &Entries<'_>) -> Option<String> {
        title_of(envelope)
    }

    fn read(&self, record: &Entries<'_>, _: &RecordContext) -> Option<RecordMessages> {
        let role = match text(record, "role")?.as_str() {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            _ => return None,
        };
        let parts: Option<Vec<_>> =
            list_in(record, "content")?.into_iter().map(|raw| part(raw, role)).collect();
        RecordMessages::plain(runs(parts?))
    }

    fn write(&self, messages: &[&Message], _: &str) -> JsonMap {
        let is_answer = messages.iter().any(|message| message.role == Role::Assistant);
        let parts = messages.iter().flat_map(|message| &message.parts);
        let content: Vec<_> = parts.filter_map(part_json).collect();
        let role = if is_answer { "assistant" } else { "user" };
        map([("role", role.into()), ("content", array(&content))])
    }

    fn complete(&self, record: JsonMap, added: &AddedRecord<'_>) -> JsonMap {
        #[allow(clippy::cast_possible_truncation, reason = "seconds are whole")]
        let created = seconds_of(added.at).floor() as i64;
        let mut whole = map([("id", added.id.into()), ("created", created.into())]);
        whole.extend(record);
        let metadata = json!({"userVisible": true, "agentVisible": true}).into();
        whole.insert("metadata".to_owned(), metadata);
        whole
    }
}

/// Returns the part of a content item, with the role of its message.
fn part(raw: &RawValue, role: Role) -> Option<(Role, Part)> {
    let fields = entries(raw)?;
    let is_answer = role == Role::Assistant;
    let known = match text(&fields, "type")?.as_str() {
        "toolResponse" => return tool_response(&fields).map(|part| (Role::Tool, part)),
        "toolRequest" if is_answer => {
            let call_of = |made: Entries<'_>| {
                let value = object_in(&made, "value")?;
                let (id, name) = (text(&fields, "id")?, text(&value, "name")?);
                Some(call(id, name, value.get("arguments").copied()))
            };
            object_in(&fields, "toolCall").and_then(call_of)
        }
        "thinking" if is_answer => {
            Some(reasoning(text(&fields, "thinking")?, text(&fields, "signature")))
        }
        "redactedThinking" if is_answer => {
            let encrypted = Some(text(&fields, "data")?);
            Some(Part::Reasoning(Reasoning {
                encrypted: encrypted.map(Into::into),
                ..Reasoning::default()
            }))
        }
        _ => mcp_part(&fields),
    };
    Some((role, known.unwrap_or_else(|| block(KEY, raw))))
}

fn tool_response(fields: &Entries<'_>) -> Option<Part> {
    let result = object_in(fields, "toolResult")?;
    let output = |list: Vec<&RawValue>| {
        let part =
            |raw: &RawValue| Some(mcp_part(&entries(raw)?).unwrap_or_else(|| block(KEY, raw)));
        list.into_iter().map(part).collect::<Option<Vec<_>>>()
    };
    let (output, is_error, variant) = match result.get("value") {
        Some(list) if first(list) == '[' => (output(list_in(&result, "value")?)?, false, LIST),
        Some(value) => {
            let value = entries(value)?;
            (output(list_in(&value, "content")?)?, is_true(&value, "isError"), "")
        }
        None => (vec![Part::text(text(&result, "error")?)], true, ERROR),
    };
    let metadata = match variant {
        "" => Metadata::default(),
        variant => Metadata::default().with(KEY, variant),
    };
    let call_id = text(fields, "id")?;
    Some(Part::ToolResult(ToolResult { call_id, name: None, output, is_error, metadata }))
}

fn part_json(part: &Part) -> Option<Json> {
    match part {
        Part::Reasoning(Reasoning { encrypted: Some(data), .. }) => {
            Some(json!({"type": "redactedThinking", "data": data}).into())
        }
        Part::Reasoning(thought) => {
            let signature = thought.signature.as_deref().map(|text| ("signature", text.into()));
            let fields = [("type", "thinking".into()), ("thinking", thought.text.as_str().into())];
            Some(object(fields.into_iter().chain(signature)))
        }
        Part::ToolCall(call) => {
            let value = object([("name", call.name.as_str().into()), ("arguments", input(call))]);
            let made = object([("status", "success".into()), ("value", value)]);
            let id = ("id", call.id.as_str().into());
            Some(object([("type", "toolRequest".into()), id, ("toolCall", made)]))
        }
        Part::ToolResult(result) => {
            let blocks = result
                .output
                .iter()
                .filter_map(|part| mcp_block(part).or_else(|| block_json(KEY, part)));
            let content = array(&blocks.collect::<Vec<_>>());
            let variant = result.metadata.get(KEY).and_then(Json::to_text).unwrap_or_default();
            let value = match variant.as_str() {
                ERROR => ("error", texts(&result.output).as_str().into()),
                LIST => ("value", content),
                _ => {
                    let is_error = json!(result.is_error).into();
                    ("value", object([("content", content), ("isError", is_error)]))
                }
            };
            let status = if variant == ERROR { "error" } else { "success" };
            let result_json = object([("status", status.into()), value]);
            let id = ("id", result.call_id.as_str().into());
            Some(object([("type", "toolResponse".into()), id, ("toolResult", result_json)]))
        }
        other => mcp_block(other).or_else(|| block_json(KEY, other)),
    }
}
