//! Logs of the `llm` command, as `llm logs list --json` writes them: a list of responses, each with
//! its prompt.
//!
//! | file | chat |
//! |---|---|
//! | the responses of one `conversation_id` | one chat |
//! | `system` of the first response | a system message |
//! | `tool_results` | a tool message with the outputs of earlier calls, and their attachments |
//! | `prompt`, `attachments` | a user message |
//! | `reasoning`, `response`, `tool_calls` | an assistant message |
//! | `id`, `datetime_utc` | id of the first of these messages, and time |
//! | `conversation_name` | the title |
//!
//! An attachment is read if it has a `url`, or a `content` in base64; the command exports the path
//! of a file, which is kept with the response. An added message is a response of its own, with an
//! empty prompt or an empty answer. Later system prompts, fragments and schemas are kept with the
//! response and are not messages. Export gives equal values.

use context_codec_kit::wire::{array, object};
use context_core::base::JsonMap;
use context_core::message::{Media, MediaSource};
use context_core::trajectory::Measures;
use context_core::{Json, Message, Part, Role};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::Format;
use crate::measures::{number, text as measured_text};
use crate::raw::{Entries, entries, first};
use crate::records::{
    AddedRecord, RecordContext, RecordForm, RecordMessages, RecordPlace, call, input, list_in, map,
    media, media_of, media_of_url, reasoning, result, text, texts,
};
use crate::time::{format_time, time_of};

/// The metadata key for the original record of a message.
const KEY: &str = "llm";

/// Logs of the `llm` command.
pub(crate) struct Llm;

/// Returns whether a value is a response.
pub(crate) fn is_response(raw: &RawValue) -> bool {
    entries(raw).is_some_and(|fields| {
        ["conversation_id", "prompt", "response", "model", "datetime_utc"]
            .iter()
            .all(|key| fields.contains_key(*key))
    })
}

impl RecordForm for Llm {
    fn format(&self) -> Format {
        Format::Llm
    }

    fn key(&self) -> &'static str {
        KEY
    }

    fn place(&self, record: &Entries<'_>) -> RecordPlace {
        let time = record.get("datetime_utc").and_then(|time| time_of(time));
        RecordPlace { id: text(record, "id"), time, ..RecordPlace::default() }
    }

    fn conversation(&self, record: &Entries<'_>) -> Option<String> {
        Some(text(record, "conversation_id").unwrap_or_default())
    }

    fn title(&self, first: &Entries<'_>) -> Option<String> {
        text(first, "conversation_name")
    }

    fn is_message(&self, _: &Entries<'_>) -> bool {
        true
    }

    fn read(&self, record: &Entries<'_>, context: &RecordContext) -> Option<RecordMessages> {
        let mut messages = Vec::new();
        let some = |key| text(record, key).filter(|text| !text.is_empty());
        if let Some(system) = some("system").filter(|_| context.is_first) {
            messages.push(Message::text(Role::System, system));
        }
        let results: Option<Vec<_>> =
            list_in(record, "tool_results")?.into_iter().map(tool_result).collect();
        if let Some(results) = results.filter(|results| !results.is_empty()) {
            messages.push(Message::new(Role::Tool, results));
        }
        let asked = some("prompt").map(Part::text).into_iter().chain(attachments(record));
        let asked: Vec<_> = asked.collect();
        if !asked.is_empty() {
            messages.push(Message::new(Role::User, asked));
        }
        let thought = some("reasoning").map(|text| reasoning(text, None));
        let said = some("response").map(Part::text);
        let calls: Option<Vec<_>> =
            list_in(record, "tool_calls")?.into_iter().map(tool_call).collect();
        let parts: Vec<_> = thought.into_iter().chain(said).chain(calls?).collect();
        if !parts.is_empty() {
            messages.push(Message::new(Role::Assistant, parts));
        }
        RecordMessages::plain(messages)
    }

    fn write(&self, messages: &[&Message], _: &str) -> JsonMap {
        let parts = |role: Role| {
            let messages = messages.iter().filter(move |message| message.role == role);
            messages.flat_map(|message| message.parts.clone()).collect::<Vec<_>>()
        };
        let (asked, answer) = (parts(Role::User), parts(Role::Assistant));
        let mut record = JsonMap::default();
        let mut insert = |key: &str, value: Json| record.insert(key.to_owned(), value);
        insert("prompt", texts(&asked).as_str().into());
        let files = attachments_json(&asked);
        if !files.is_empty() {
            insert("attachments", array(&files));
        }
        let system = parts(Role::System);
        if !system.is_empty() {
            insert("system", texts(&system).as_str().into());
        }
        insert("response", texts(&answer).as_str().into());
        let thoughts: Vec<_> = answer.iter().filter_map(thought_of).collect();
        if !thoughts.is_empty() {
            insert("reasoning", thoughts.join("\n").as_str().into());
        }
        insert("tool_calls", array(&answer.iter().filter_map(call_json).collect::<Vec<_>>()));
        let results = parts(Role::Tool);
        insert("tool_results", array(&results.iter().filter_map(result_json).collect::<Vec<_>>()));
        record
    }

    fn complete(&self, record: JsonMap, added: &AddedRecord<'_>) -> JsonMap {
        let mut whole =
            map([("id", added.id.into()), ("datetime_utc", format_time(added.at).as_str().into())]);
        whole.extend(record);
        whole
    }

    fn measures(&self, fields: &Value, _: &Message) -> Measures {
        let mut measures = Measures::default();
        measures.model = measured_text(fields, "model");
        measures.input_tokens = number(fields, "input_tokens");
        measures.output_tokens = number(fields, "output_tokens");
        measures
    }
}

fn tool_call(raw: &RawValue) -> Option<Part> {
    let fields = entries(raw)?;
    let arguments = fields.get("arguments").copied().filter(|json| first(json) == '{');
    Some(call(text(&fields, "tool_call_id")?, text(&fields, "name")?, arguments))
}

fn tool_result(raw: &RawValue) -> Option<Part> {
    let fields = entries(raw)?;
    let has_failed = fields.get("exception").is_some_and(|error| error.get() != "null");
    let output = std::iter::once(Part::text(text(&fields, "output")?));
    let output = output.chain(attachments(&fields)).collect();
    Some(result(text(&fields, "tool_call_id")?, text(&fields, "name"), output, has_failed))
}

fn thought_of(part: &Part) -> Option<&str> {
    match part {
        Part::Reasoning(thought) => Some(thought.text.as_str()),
        _ => None,
    }
}

fn call_json(part: &Part) -> Option<Json> {
    let Part::ToolCall(call) = part else { return None };
    Some(object([
        ("name", call.name.as_str().into()),
        ("arguments", input(call)),
        ("tool_call_id", call.id.as_str().into()),
    ]))
}

fn result_json(part: &Part) -> Option<Json> {
    let Part::ToolResult(result) = part else { return None };
    let output = texts(&result.output);
    let error = result.is_error.then(|| ("exception", output.as_str().into()));
    let name = result.name.as_deref().map(|name| ("name", name.into()));
    let files = attachments_json(&result.output);
    let files = (!files.is_empty()).then(|| ("attachments", array(&files)));
    let fields =
        [("output", output.as_str().into()), ("tool_call_id", result.call_id.as_str().into())];
    Some(object(fields.into_iter().chain(name).chain(error).chain(files)))
}

/// Returns the attachments whose content or address is known.
fn attachments(record: &Entries<'_>) -> Vec<Part> {
    let part = |raw| {
        let fields = entries(raw)?;
        let media_type = text(&fields, "type");
        match text(&fields, "content") {
            Some(content) => Some(media(MediaSource::Base64(content.into()), media_type, None)),
            None => Some(media_of_url(text(&fields, "url")?, media_type, None)),
        }
    };
    list_in(record, "attachments").unwrap_or_default().into_iter().filter_map(part).collect()
}

/// Returns the attachments among parts.
fn attachments_json(parts: &[Part]) -> Vec<Json> {
    let json = |media: &Media| {
        let source = match &media.source {
            MediaSource::Base64(content) => ("content", content.as_str().into()),
            MediaSource::Url(url) => ("url", url.as_str().into()),
            _ => return None,
        };
        let media_type = media.media_type.as_deref().map(|kind| ("type", kind.into()));
        Some(object(media_type.into_iter().chain([source])))
    };
    parts.iter().filter_map(|part| json(media_of(part)?)).collect()
}
