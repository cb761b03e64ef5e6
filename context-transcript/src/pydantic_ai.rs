//! Message histories of Pydantic AI, as `ModelMessagesTypeAdapter` writes them: a list of requests
//! and responses with parts.
//!
//! | file | chat |
//! |---|---|
//! | `system-prompt`, `user-prompt` of a request | a system or user message each |
//! | consecutive `tool-return` and `retry-prompt` with a tool | a tool message |
//! | `retry-prompt` without a tool | a user message |
//! | `thinking`, `text`, `tool-call` of a response | an assistant message |
//! | parts that a provider ran itself, and any other | data of the message, which no provider gets |
//! | `timestamp` of the message, else of its first part | the time |
//!
//! The `instructions` of a request are kept with it and are not a message, because each request
//! repeats them. Messages have no ids and are named by their position. Export gives equal values.

use context_codec_kit::wire::{array, object};
use context_core::base::JsonMap;
use context_core::message::{Media, MediaSource, Reasoning, Text, ToolInput};
use context_core::trajectory::Measures;
use context_core::{Json, Message, Metadata, Part, Role, ToolCall, ToolResult};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::Format;
use crate::measures::{number, text as measured_text};
use crate::raw::{Entries, entries, text_of};
use crate::records::{
    AddedRecord, RecordContext, RecordForm, RecordMessages, RecordPlace, block, block_json,
    has_list, input, json_of, list_in, map, media, media_of, text, texts,
};
use crate::time::{format_time, time_of};

/// The metadata key for the original record of a message, and for the variant of a part.
const KEY: &str = "pydantic-ai";
/// The variant of a part whose content is JSON, or a string in place of JSON.
const JSON: &str = "json";
/// The variants of a part that asks the model to try again.
const RETRY: &str = "retry";
const RETRY_JSON: &str = "retry json";

/// Message histories of Pydantic AI.
pub(crate) struct PydanticAi;

/// Returns whether a value is a request or a response.
pub(crate) fn is_message(raw: &RawValue) -> bool {
    entries(raw).is_some_and(|fields| {
        let kind = text(&fields, "kind");
        matches!(kind.as_deref(), Some("request" | "response"))
            && has_list(&fields, "parts")
            && !fields.contains_key("role")
    })
}

impl RecordForm for PydanticAi {
    fn format(&self) -> Format {
        Format::PydanticAi
    }

    fn key(&self) -> &'static str {
        KEY
    }

    fn place(&self, record: &Entries<'_>) -> RecordPlace {
        let parts = list_in(record, "parts").unwrap_or_default();
        let time = |fields: &Entries<'_>| fields.get("timestamp").and_then(|time| time_of(time));
        let first = || time(&entries(parts.first()?)?);
        RecordPlace { time: time(record).or_else(first), ..RecordPlace::default() }
    }

    fn is_message(&self, record: &Entries<'_>) -> bool {
        list_in(record, "parts").is_none_or(|parts| !parts.is_empty())
    }

    fn read(&self, record: &Entries<'_>, _: &RecordContext) -> Option<RecordMessages> {
        let parts = list_in(record, "parts")?;
        match text(record, "kind")?.as_str() {
            "request" => {
                let mut messages: Vec<Message> = Vec::new();
                for raw in parts {
                    let (role, parts) = request_part(raw)?;
                    match messages.last_mut().filter(|last| [last.role, role] == [Role::Tool; 2]) {
                        Some(last) => last.parts.extend(parts),
                        None => messages.push(Message::new(role, parts)),
                    }
                }
                RecordMessages::plain(messages)
            }
            "response" => {
                let parts: Vec<_> = parts.into_iter().map(response_part).collect::<Option<_>>()?;
                let messages = vec![Message::new(Role::Assistant, parts)];
                RecordMessages::plain(messages).filter(|read| !read.messages[0].parts.is_empty())
            }
            _ => None,
        }
    }

    fn write(&self, messages: &[&Message], _: &str) -> JsonMap {
        let is_response = messages.iter().any(|message| message.role == Role::Assistant);
        let parts: Vec<_> = match is_response {
            true => messages.iter().flat_map(|message| &message.parts).filter_map(answer).collect(),
            false => messages.iter().flat_map(|message| question(message)).collect(),
        };
        let kind = if is_response { "response" } else { "request" };
        map([("parts", array(&parts)), ("kind", kind.into())])
    }

    fn complete(&self, mut record: JsonMap, added: &AddedRecord<'_>) -> JsonMap {
        record.insert("timestamp".to_owned(), format_time(added.at).as_str().into());
        record
    }

    fn measures(&self, fields: &Value, _: &Message) -> Measures {
        let usage = &fields["usage"];
        let some = |keys: &[&str]| {
            keys.iter().find_map(|key| number(usage, key)).filter(|tokens| *tokens > 0)
        };
        let mut measures = Measures::default();
        measures.model = measured_text(fields, "model_name");
        measures.provider = measured_text(fields, "provider_name");
        measures.input_tokens = some(&["input_tokens", "request_tokens"]);
        measures.output_tokens = some(&["output_tokens", "response_tokens"]);
        measures.cache_read_tokens = some(&["cache_read_tokens"]);
        measures.cache_write_tokens = some(&["cache_write_tokens"]);
        measures.reasoning_tokens = some(&["output_reasoning_tokens"])
            .or_else(|| number(&usage["details"], "reasoning_tokens"));
        measures
    }
}

fn variant(name: &str) -> Metadata {
    Metadata::default().with(KEY, name)
}

fn variant_of(metadata: &Metadata) -> Option<String> {
    metadata.get(KEY)?.to_text()
}

/// Returns the role and the parts of a part of a request.
fn request_part(raw: &RawValue) -> Option<(Role, Vec<Part>)> {
    let fields = entries(raw)?;
    let kind = text(&fields, "part_kind")?;
    let of_tool = text(&fields, "tool_name");
    let content = fields.get("content");
    match (kind.as_str(), of_tool) {
        ("system-prompt", _) => Some((Role::System, vec![Part::text(text_of(content?)?)])),
        ("user-prompt", _) => match text_of(content?) {
            Some(text) => Some((Role::User, vec![Part::text(text)])),
            None => {
                let parts = list_in(&fields, "content")?.into_iter().map(content_part);
                let parts: Vec<_> = parts.collect::<Option<_>>()?;
                (!parts.is_empty()).then_some((Role::User, parts))
            }
        },
        ("tool-return" | "retry-prompt", Some(name)) => {
            let is_retry = kind == "retry-prompt";
            let (output, metadata) = match (text_of(content?), is_retry) {
                (Some(text), false) => (text, Metadata::default()),
                (Some(text), true) => (text, variant(RETRY)),
                (None, false) => (json_of(content?).to_string(), variant(JSON)),
                (None, true) => (json_of(content?).to_string(), variant(RETRY_JSON)),
            };
            let outcome = text(&fields, "outcome");
            let has_failed = outcome.is_some_and(|outcome| outcome != "success");
            let result = ToolResult {
                call_id: text(&fields, "tool_call_id")?,
                name: Some(name),
                output: vec![Part::text(output)],
                is_error: is_retry || has_failed,
                metadata,
            };
            Some((Role::Tool, vec![Part::ToolResult(result)]))
        }
        ("retry-prompt", None) => {
            let text = text_of(content?)?;
            Some((
                Role::User,
                vec![Part::Text(Text { text: text.into(), metadata: variant(RETRY) })],
            ))
        }
        _ => Some((Role::User, vec![block(KEY, raw)])),
    }
}

/// Returns an item of a user's content.
fn content_part(raw: &RawValue) -> Option<Part> {
    if let Some(text) = text_of(raw) {
        return Some(Part::text(text));
    }
    let fields = entries(raw)?;
    let media_type = text(&fields, "media_type");
    let at_url = || {
        let source = MediaSource::Url(text(&fields, "url")?);
        let media_type = media_type.clone();
        Some(Media { source, media_type, name: None, metadata: Metadata::default() })
    };
    let known = match text(&fields, "kind")?.as_str() {
        "image-url" => Some(Part::Image(at_url()?)),
        "audio-url" => Some(Part::Audio(at_url()?)),
        "document-url" | "video-url" => Some(Part::Document(at_url()?)),
        "binary" => {
            Some(media(MediaSource::Base64(text(&fields, "data")?.into()), Some(media_type?), None))
        }
        _ => None,
    };
    Some(known.unwrap_or_else(|| block(KEY, raw)))
}

fn response_part(raw: &RawValue) -> Option<Part> {
    let fields = entries(raw)?;
    Some(match text(&fields, "part_kind")?.as_str() {
        "text" => Part::text(text(&fields, "content")?),
        "thinking" => Part::Reasoning(Reasoning {
            text: text(&fields, "content")?.into(),
            signature: text(&fields, "signature").map(Into::into),
            provider: text(&fields, "provider_name"),
            ..Reasoning::default()
        }),
        "tool-call" => {
            let (id, name) = (text(&fields, "tool_call_id")?, text(&fields, "tool_name")?);
            let args = fields.get("args").filter(|args| args.get() != "null");
            let (input, metadata) = match args.and_then(|args| text_of(args)) {
                Some(written) => (ToolInput::from_written(written), variant(JSON)),
                None => {
                    let json =
                        args.map_or_else(|| serde_json::json!({}).into(), |args| json_of(args));
                    (ToolInput::Json(json), Metadata::default())
                }
            };
            Part::ToolCall(ToolCall { id, name, input, metadata })
        }
        _ => block(KEY, raw),
    })
}

fn part_of_kind(kind: &str, content: Json) -> Json {
    object([("content", content), ("part_kind", kind.into())])
}

/// Returns the parts of a request that express a message.
fn question(message: &Message) -> Vec<Json> {
    match (message.role, message.parts.as_slice()) {
        (Role::Tool, parts) => parts.iter().filter_map(tool_return).collect(),
        (_, [Part::Data(_)]) => {
            message.parts.iter().filter_map(|part| block_json(KEY, part)).collect()
        }
        (Role::System, parts) => vec![part_of_kind("system-prompt", texts(parts).as_str().into())],
        (_, [Part::Text(text)]) => {
            let is_retry = variant_of(&text.metadata).is_some_and(|name| name == RETRY);
            let kind = if is_retry { "retry-prompt" } else { "user-prompt" };
            vec![part_of_kind(kind, text.text.as_str().into())]
        }
        (_, parts) => {
            let items: Vec<_> = parts.iter().filter_map(content_json).collect();
            vec![part_of_kind("user-prompt", array(&items))]
        }
    }
}

fn content_json(part: &Part) -> Option<Json> {
    let kind = match part {
        Part::Text(text) => return Some(text.text.as_str().into()),
        Part::Image(_) => "image-url",
        Part::Audio(_) => "audio-url",
        Part::Document(_) => "document-url",
        other => return block_json(KEY, other),
    };
    let media = media_of(part)?;
    let media_type = media.media_type.as_deref().map(|kind| ("media_type", Json::from(kind)));
    let fields = match &media.source {
        MediaSource::Url(url) => [("url", url.as_str().into()), ("kind", kind.into())],
        MediaSource::Base64(data) => [("data", data.as_str().into()), ("kind", "binary".into())],
        _ => return None,
    };
    Some(object(fields.into_iter().chain(media_type)))
}

fn tool_return(part: &Part) -> Option<Json> {
    let Part::ToolResult(result) = part else { return None };
    let variant = variant_of(&result.metadata).unwrap_or_default();
    let text = texts(&result.output);
    let content = match variant.as_str() {
        JSON | RETRY_JSON => {
            Json::from_text(text.as_str()).unwrap_or_else(|_| text.as_str().into())
        }
        _ => text.as_str().into(),
    };
    let is_retry = variant.starts_with(RETRY);
    let kind = if is_retry { "retry-prompt" } else { "tool-return" };
    let outcome = (result.is_error && !is_retry).then(|| ("outcome", "failed".into()));
    let fields = [
        ("tool_name", result.name.as_deref().unwrap_or_default().into()),
        ("content", content),
        ("tool_call_id", result.call_id.as_str().into()),
        ("part_kind", kind.into()),
    ];
    Some(object(fields.into_iter().chain(outcome)))
}

/// Returns the part of a response.
fn answer(part: &Part) -> Option<Json> {
    match part {
        Part::Text(text) => Some(part_of_kind("text", text.text.as_str().into())),
        Part::Reasoning(thought) => {
            let signature = thought.signature.as_deref().map(|text| ("signature", text.into()));
            let provider = thought.provider.as_deref().map(|name| ("provider_name", name.into()));
            let fields =
                [("content", thought.text.as_str().into()), ("part_kind", "thinking".into())];
            Some(object(fields.into_iter().chain(signature).chain(provider)))
        }
        Part::ToolCall(call) => {
            let args = match variant_of(&call.metadata) {
                Some(_) => call.input.as_written().into(),
                None => input(call),
            };
            Some(object([
                ("tool_name", call.name.as_str().into()),
                ("args", args),
                ("tool_call_id", call.id.as_str().into()),
                ("part_kind", "tool-call".into()),
            ]))
        }
        other => block_json(KEY, other),
    }
}
