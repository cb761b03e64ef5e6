//! Sessions that opencode exports: an object with the session's `info` and its `messages`, each
//! with an `info` and `parts`.
//!
//! | file | chat |
//! |---|---|
//! | `text`, `file` of a user | a user message |
//! | `text`, `reasoning`, `tool` of an assistant | an assistant message |
//! | the output or error of a `tool` | a tool message after it |
//! | a part after an output: the next step | another assistant message |
//! | parts that opencode does not send, and those of its own: `step-start`, `patch` | data of the message, which no provider gets |
//! | `id`, `time.created` of the message's `info` | id and time |
//! | `title` of the session | the title |
//! | the session's `info` and other keys | the envelope |
//!
//! The command makes such an object of opencode's database and of its folder with many small files.
//! Export gives equal values.

use context_codec_kit::wire::{array, from_map, object};
use context_core::base::JsonMap;
use context_core::trajectory::Measures;
use context_core::{Json, Message, Part, Role, Timestamp, ToolResult};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::chat::TranscriptChat;
use crate::measures::{number, text as measured_text};
use crate::raw::{Entries, entries, first, text_of, value_of};
use crate::records::{
    self, AddedRecord, RecordContext, RecordForm, RecordMessages, RecordPlace, block, block_json,
    call, has_list, input, is_true, list_in, map, media_of, media_of_url, object_in, reasoning,
    result, text, texts, url_of,
};
use crate::time::time_of_millis;
use crate::{FileLayout, FileText, Format, TranscriptError, TranscriptSource};

/// The metadata key for the original record of a message.
const KEY: &str = "opencode";
/// The key of the messages.
const MESSAGES: &str = "messages";
/// The media types of files whose content opencode sends as text parts.
const SENT_AS_TEXT: [&str; 2] = ["text/plain", "application/x-directory"];

/// Sessions of opencode.
pub(crate) struct Opencode;

/// Returns whether a value is an exported session.
pub(crate) fn is_session(item: &RawValue) -> bool {
    let Some(fields) = entries(item) else { return false };
    let messages =
        || -> Option<Vec<&RawValue>> { serde_json::from_str(fields.get(MESSAGES)?.get()).ok() };
    let is_message = |raw: &&RawValue| {
        entries(raw).is_some_and(|message| {
            object_in(&message, "info").is_some() && has_list(&message, "parts")
        })
    };
    object_in(&fields, "info").is_some_and(|info| info.contains_key("id"))
        && messages().is_some_and(|messages| messages.iter().all(is_message))
}

/// Reads a session.
pub(crate) fn read(
    file: &FileText,
    item: &RawValue,
    layout: FileLayout,
    position: (usize, usize),
    at: Timestamp,
) -> Result<TranscriptChat, TranscriptError> {
    let (records, envelope) = records::records_of(&Opencode, file, item, MESSAGES)?;
    let source = TranscriptSource::new(file.name(), Format::Opencode, layout, position)
        .in_envelope(Some((MESSAGES, envelope)));
    let title = value_of(item, "info", '{').and_then(|info| text_of(value_of(info, "title", '"')?));
    records::list_chat(&Opencode, file, source, records, title, at)
}

impl RecordForm for Opencode {
    fn format(&self) -> Format {
        Format::Opencode
    }

    fn key(&self) -> &'static str {
        KEY
    }

    fn place(&self, record: &Entries<'_>) -> RecordPlace {
        let info = object_in(record, "info").unwrap_or_default();
        let time = object_in(&info, "time")
            .and_then(|time| time.get("created").and_then(|time| time_of_millis(time)));
        RecordPlace { id: text(&info, "id"), time, ..RecordPlace::default() }
    }

    fn is_message(&self, record: &Entries<'_>) -> bool {
        list_in(record, "parts").is_none_or(|parts| !parts.is_empty())
    }

    fn read(&self, record: &Entries<'_>, _: &RecordContext) -> Option<RecordMessages> {
        let parts = list_in(record, "parts")?;
        match text(&object_in(record, "info")?, "role")?.as_str() {
            "user" => {
                let parts: Option<Vec<_>> = parts.into_iter().map(user_part).collect();
                let parts = parts.filter(|parts| !parts.is_empty())?;
                RecordMessages::plain(vec![Message::new(Role::User, parts)])
            }
            "assistant" => RecordMessages::plain(answer(&parts)?),
            _ => None,
        }
    }

    fn write(&self, messages: &[&Message], _: &str) -> JsonMap {
        let role = match messages.first().map(|message| message.role) {
            Some(Role::Assistant) => "assistant",
            _ => "user",
        };
        let result_of = |id: &str| {
            let mut results = messages.iter().flat_map(|message| message.tool_results());
            results.find(|result| result.call_id == id)
        };
        let parts = messages.iter().flat_map(|message| &message.parts);
        let parts: Vec<_> = parts.filter_map(|part| part_json(part, result_of)).collect();
        map([("info", object([("role", role.into())])), ("parts", array(&parts))])
    }

    fn complete(&self, mut record: JsonMap, added: &AddedRecord<'_>) -> JsonMap {
        let session = added.source.envelope.get("info").and_then(|info| info.parse().ok());
        let session = session.and_then(|info: JsonMap| info.get("id").cloned());
        let named = |json: &Json, id: String, further: &[(&str, Json)]| {
            let mut fields: JsonMap = [("id".to_owned(), id.as_str().into())].into();
            fields.extend(session.clone().map(|session| ("sessionID".to_owned(), session)));
            let further = further.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
            fields.extend(further);
            fields.extend(json.parse::<JsonMap>().unwrap_or_default());
            from_map(&fields)
        };
        if let Some(info) = record.get_mut("info") {
            let time = json!({"created": added.at.as_micros() / 1000}).into();
            *info = named(info, added.id.to_owned(), &[("time", time)]);
        }
        if let Some(parts) = record.get_mut("parts") {
            let list: Vec<Json> = parts.parse().unwrap_or_default();
            let list = list.iter().enumerate().map(|(index, part)| {
                let message = [("messageID", added.id.into())];
                named(part, format!("{}-{index}", added.id), &message)
            });
            *parts = array(&list.collect::<Vec<_>>());
        }
        record
    }

    fn holds_results(&self) -> bool {
        true
    }

    fn measures(&self, fields: &Value, _: &Message) -> Measures {
        let info = &fields["info"];
        let mut measures = Measures::default();
        measures.model = measured_text(info, "modelID");
        measures.provider = measured_text(info, "providerID");
        let tokens = &info["tokens"];
        let (read, written) = (number(&tokens["cache"], "read"), number(&tokens["cache"], "write"));
        let sum = |tokens: Option<u64>, more: &[Option<u64>]| {
            let more = more.iter().flatten();
            tokens.map(|tokens| more.fold(tokens, |sum, more| sum.saturating_add(*more)))
        };
        measures.reasoning_tokens = number(tokens, "reasoning");
        measures.input_tokens = sum(number(tokens, "input"), &[read, written]);
        // The count of output tokens leaves out reasoning.
        measures.output_tokens = sum(number(tokens, "output"), &[measures.reasoning_tokens]);
        (measures.cache_read_tokens, measures.cache_write_tokens) = (read, written);
        measures.cost_usd = info["cost"].as_f64();
        measures
    }
}

/// Returns the part of a user's message.
fn user_part(raw: &RawValue) -> Option<Part> {
    let fields = entries(raw)?;
    let known = match text(&fields, "type")?.as_str() {
        "text" if !is_true(&fields, "ignored") => Some(Part::text(text(&fields, "text")?)),
        "file" => file(&fields).filter(|part| {
            let kind = media_of(part).and_then(|media| media.media_type.as_deref());
            !kind.is_some_and(|kind| SENT_AS_TEXT.contains(&kind))
        }),
        _ => None,
    };
    Some(known.unwrap_or_else(|| block(KEY, raw)))
}

/// Returns a file as a part.
fn file(fields: &Entries<'_>) -> Option<Part> {
    let (url, media_type) = (text(fields, "url")?, text(fields, "mime")?);
    Some(media_of_url(url, Some(media_type), text(fields, "filename")))
}

/// Returns the messages of an answer: for each step what the model wrote, then the results.
fn answer(parts: &[&RawValue]) -> Option<Vec<Message>> {
    let (mut messages, mut written, mut results) = (Vec::new(), Vec::new(), Vec::new());
    for raw in parts {
        let fields = entries(raw)?;
        let (part, result) = match text(&fields, "type")?.as_str() {
            "text" => (Part::text(text(&fields, "text")?), None),
            "reasoning" => (reasoning(text(&fields, "text")?, None), None),
            "tool" => tool(&fields)?,
            _ => (block(KEY, raw), None),
        };
        let is_step = match &part {
            Part::Data(data) => data.name.ends_with(".step-start"),
            part => matches!(part, Part::Text(_) | Part::Reasoning(_)),
        };
        if is_step && !results.is_empty() {
            messages.push(Message::new(Role::Assistant, std::mem::take(&mut written)));
            messages.push(Message::new(Role::Tool, std::mem::take(&mut results)));
        }
        written.push(part);
        results.extend(result);
    }
    if !written.is_empty() {
        messages.push(Message::new(Role::Assistant, written));
    }
    if !results.is_empty() {
        messages.push(Message::new(Role::Tool, results));
    }
    Some(messages)
}

/// Returns the call of a tool part, and its result if there is one.
fn tool(fields: &Entries<'_>) -> Option<(Part, Option<Part>)> {
    let (id, name) = (text(fields, "callID")?, text(fields, "tool")?);
    let state = object_in(fields, "state")?;
    let (is_error, output) = match text(&state, "status")?.as_str() {
        "completed" => (false, Some(text(&state, "output")?)),
        "error" => (true, Some(text(&state, "error")?)),
        _ => (false, None),
    };
    let input = state.get("input").copied().filter(|input| first(input) == '{');
    let call = call(id.clone(), name.clone(), input);
    let Some(output) = output else { return Some((call, None)) };
    let files = list_in(&state, "attachments").unwrap_or_default();
    let files = files.into_iter().map(|raw| file(&entries(raw)?));
    let output: Option<Vec<_>> = std::iter::once(Some(Part::text(output))).chain(files).collect();
    Some((call, Some(result(id, Some(name), output?, is_error))))
}

/// Returns a part in its form. Results are written with their calls.
fn part_json<'a>(part: &Part, result_of: impl Fn(&str) -> Option<&'a ToolResult>) -> Option<Json> {
    match part {
        Part::Text(text) => {
            Some(object([("type", "text".into()), ("text", text.text.as_str().into())]))
        }
        Part::Reasoning(thought) => {
            Some(object([("type", "reasoning".into()), ("text", thought.text.as_str().into())]))
        }
        Part::ToolCall(call) => {
            let mut state = map([("status", "pending".into()), ("input", input(call))]);
            if let Some(result) = result_of(&call.id) {
                let (status, key) =
                    if result.is_error { ("error", "error") } else { ("completed", "output") };
                state.insert("status".to_owned(), status.into());
                state.insert(key.to_owned(), texts(&result.output).as_str().into());
                let files: Vec<_> = result.output.iter().filter_map(file_json).collect();
                if !files.is_empty() {
                    state.insert("attachments".to_owned(), array(&files));
                }
            }
            Some(object([
                ("type", "tool".into()),
                ("callID", call.id.as_str().into()),
                ("tool", call.name.as_str().into()),
                ("state", from_map(&state)),
            ]))
        }
        other => file_json(other).or_else(|| block_json(KEY, other)),
    }
}

/// Returns media as a file.
fn file_json(part: &Part) -> Option<Json> {
    let media = media_of(part)?;
    let mime = media.media_type.as_deref().unwrap_or("application/octet-stream");
    let url = url_of(media)?;
    let name = media.name.as_deref().map(|name| ("filename", name.into()));
    let fields = [("type", "file".into()), ("mime", mime.into()), ("url", url.as_str().into())];
    Some(object(fields.into_iter().chain(name)))
}
