//! Sessions of the Pi coding agent: JSON Lines in which each entry names its predecessor.
//!
//! | file | chat |
//! |---|---|
//! | the `session` line | kept in the [sidecar](crate::sidecar) with its line number |
//! | `message` of a user, an assistant, or an extension (`custom`) | a message with `id` as id and `timestamp` as time |
//! | `message` with a `toolResult` | a tool message |
//! | `message` with a `bashExecution` that the model sees | a user message: the command, then its output |
//! | `custom_message`, `compaction`, `branch_summary` | a user message with the content or the summary |
//! | any other entry: `model_change`, `label`, `custom` | an application message without text |
//! | `parentId` | the predecessor; entries of version 1 have none and follow each other |
//! | several entries with the same predecessor | [branches](crate::branches) |
//! | `name` of the last `session_info` | the title |
//!
//! The entries before a compaction stay on their branch, as they do in the file: which of them the
//! model still got is in the compaction's other fields, which are kept. Export gives every line
//! with equal JSON values; a line that is not JSON is left out.

use context_codec_kit::wire::{array, from_map, null, object};
use context_core::base::JsonMap;
use context_core::trajectory::Measures;
use context_core::{Json, Message, Part, Role};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::Format;
use crate::measures::{number, text as measured_text};
use crate::raw::{Entries, entries, first, text_of};
use crate::records::{
    AddedRecord, RecordContext, RecordForm, RecordMessages, RecordParent, RecordPlace, block,
    block_json, call, input, is_true, list_in, map, mcp_block, mcp_part, object_in, reasoning,
    result, runs, split_results, text, texts,
};
use crate::time::{format_time, time_of};

/// The metadata key for the original entry of a message.
const KEY: &str = "pi";
/// The types of entries whose content is a summary.
const SUMMARIES: [&str; 2] = ["compaction", "branch_summary"];
/// The text before the command of a user.
const RAN: &str = "$ ";

/// Sessions of the Pi coding agent.
pub(crate) struct Pi;

/// Returns whether a line was written by Pi.
pub(crate) fn is_line(raw: &RawValue) -> bool {
    let Some(entries) = entries(raw) else { return false };
    let has = |key: &str| entries.get(key).is_some_and(|value| first(value) == '"');
    let is_header = || text(&entries, "type").is_some_and(|kind| kind == "session") && has("cwd");
    let is_entry = || has("type") && entries.contains_key("parentId") && !has("role");
    has("id") && has("timestamp") && (is_header() || is_entry())
}

/// Returns the name that a line gives the session.
pub(crate) fn name_of(line: &Entries<'_>) -> Option<String> {
    text(line, "type").filter(|kind| kind == "session_info").and_then(|_| text(line, "name"))
}

impl RecordForm for Pi {
    fn format(&self) -> Format {
        Format::Pi
    }

    fn key(&self) -> &'static str {
        KEY
    }

    fn place(&self, record: &Entries<'_>) -> RecordPlace {
        let parent = match record.get("parentId") {
            None => RecordParent::Previous,
            Some(parent) => text_of(parent).map_or(RecordParent::Root, RecordParent::Named),
        };
        let time = record.get("timestamp").and_then(|time| time_of(time));
        RecordPlace { id: text(record, "id"), parent, time, ..RecordPlace::default() }
    }

    fn is_record(&self, record: &Entries<'_>) -> bool {
        text(record, "type").is_none_or(|kind| kind != "session")
    }

    fn is_message(&self, record: &Entries<'_>) -> bool {
        let Some(kind) = text(record, "type") else { return false };
        let role = || object_in(record, "message").and_then(|message| text(&message, "role"));
        match kind.as_str() {
            "message" => {
                role().is_none_or(|role| ["user", "assistant", "toolResult"].contains(&&*role))
            }
            kind => kind == "custom_message",
        }
    }

    fn read(&self, record: &Entries<'_>, _: &RecordContext) -> Option<RecordMessages> {
        match text(record, "type")?.as_str() {
            "message" => read_message(&object_in(record, "message")?),
            "custom_message" => {
                let parts = content(record, false)?;
                let is_text = record.get("content").is_some_and(|content| first(content) == '"');
                let shape = if is_text { "custom_text" } else { "custom" };
                RecordMessages::shaped(shape, vec![Message::new(Role::User, parts)])
            }
            kind => {
                let shape = SUMMARIES.into_iter().find(|summary| *summary == kind)?;
                let summary = text(record, "summary").filter(|summary| !summary.is_empty())?;
                RecordMessages::shaped(shape, vec![Message::text(Role::User, summary)])
            }
        }
    }

    fn write(&self, messages: &[&Message], shape: &str) -> JsonMap {
        let Some(message) = messages.first() else { return JsonMap::default() };
        let of_type = |kind: &str, key, value| map([("type", kind.into()), (key, value)]);
        let parts = message.parts.as_slice();
        match shape {
            "custom" => of_type("custom_message", "content", blocks(parts)),
            "custom_text" => of_type("custom_message", "content", texts(parts).as_str().into()),
            summary if SUMMARIES.contains(&summary) => {
                of_type(summary, "summary", texts(parts).as_str().into())
            }
            shape => of_type("message", "message", write_message(message, shape)),
        }
    }

    fn complete(&self, mut record: JsonMap, added: &AddedRecord<'_>) -> JsonMap {
        let parent = added.parent.map_or_else(null, Json::from);
        record.insert("id".to_owned(), added.id.into());
        record.insert("parentId".to_owned(), parent);
        record.insert("timestamp".to_owned(), format_time(added.at).as_str().into());
        if let Some(message) = record.get_mut("message")
            && let Ok(mut fields) = message.parse::<JsonMap>()
        {
            fields.insert("timestamp".to_owned(), json!(added.at.as_micros() / 1000).into());
            *message = from_map(&fields);
        }
        record
    }

    fn split(&self, message: &Message) -> Vec<Message> {
        split_results(message)
    }

    fn measures(&self, fields: &Value, _: &Message) -> Measures {
        let message = &fields["message"];
        let mut measures = Measures::default();
        measures.model = measured_text(message, "model");
        measures.provider = measured_text(message, "provider");
        let usage = &message["usage"];
        let (read, written) = (number(usage, "cacheRead"), number(usage, "cacheWrite"));
        let cached = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
        measures.input_tokens = number(usage, "input").map(|input| input.saturating_add(cached));
        measures.output_tokens = number(usage, "output");
        (measures.cache_read_tokens, measures.cache_write_tokens) = (read, written);
        measures.cost_usd = usage["cost"]["total"].as_f64();
        measures
    }
}

/// Returns the messages of a message object.
fn read_message(message: &Entries<'_>) -> Option<RecordMessages> {
    let is_text = message.get("content").is_some_and(|content| first(content) == '"');
    let shape = if is_text { "text" } else { "" };
    match text(message, "role")?.as_str() {
        "user" | "custom" | "hookMessage" => {
            let parts = content(message, false)?;
            RecordMessages::shaped(shape, vec![Message::new(Role::User, parts)])
        }
        "assistant" => {
            let parts = content(message, true)?;
            RecordMessages::shaped(shape, vec![Message::new(Role::Assistant, parts)])
        }
        "toolResult" => {
            let is_error = is_true(message, "isError");
            let name = text(message, "toolName").filter(|name| !name.is_empty());
            let id = text(message, "toolCallId")?;
            let part = result(id, name, content(message, false)?, is_error);
            RecordMessages::shaped(shape, runs([(Role::Tool, part)]))
        }
        "bashExecution" => {
            if is_true(message, "excludeFromContext") {
                return None;
            }
            let command = format!("{RAN}{}", text(message, "command")?);
            let parts = [Part::text(command), Part::text(text(message, "output")?)];
            RecordMessages::shaped("bash", vec![Message::new(Role::User, parts)])
        }
        _ => None,
    }
}

/// Returns the parts of a content, which is a string or a list of blocks.
fn content(holder: &Entries<'_>, is_answer: bool) -> Option<Vec<Part>> {
    let content = holder.get("content")?;
    if let Some(text) = text_of(content) {
        return Some(vec![Part::text(text)]);
    }
    list_in(holder, "content")?.into_iter().map(|raw| part(raw, is_answer)).collect()
}

/// Returns the part of a block.
fn part(raw: &RawValue, is_answer: bool) -> Option<Part> {
    let fields = entries(raw)?;
    let known = match text(&fields, "type")?.as_str() {
        "thinking" if is_answer => {
            Some(reasoning(text(&fields, "thinking")?, text(&fields, "thinkingSignature")))
        }
        "toolCall" if is_answer => {
            let (id, name) = (text(&fields, "id")?, text(&fields, "name")?);
            Some(call(id, name, fields.get("arguments").copied()))
        }
        _ => mcp_part(&fields),
    };
    Some(known.unwrap_or_else(|| block(KEY, raw)))
}

/// Returns the message object of a message.
fn write_message(message: &Message, shape: &str) -> Json {
    let parts = message.parts.as_slice();
    let content = |parts: &[Part]| match shape {
        "text" => Json::from(texts(parts).as_str()),
        _ => blocks(parts),
    };
    match (message.role, parts) {
        (Role::Tool, [Part::ToolResult(result), ..]) => object([
            ("role", "toolResult".into()),
            ("toolCallId", result.call_id.as_str().into()),
            ("toolName", result.name.as_deref().unwrap_or_default().into()),
            ("content", content(&result.output)),
            ("isError", json!(result.is_error).into()),
        ]),
        (_, [Part::Text(command), output @ ..]) if shape == "bash" => object([
            ("role", "bashExecution".into()),
            ("command", command.text.strip_prefix(RAN).unwrap_or(&command.text).into()),
            ("output", texts(output).as_str().into()),
        ]),
        (Role::Assistant, _) => object([("role", "assistant".into()), ("content", content(parts))]),
        _ => object([("role", "user".into()), ("content", content(parts))]),
    }
}

/// Returns the blocks of parts.
fn blocks(parts: &[Part]) -> Json {
    array(&parts.iter().filter_map(block_of).collect::<Vec<_>>())
}

fn block_of(part: &Part) -> Option<Json> {
    match part {
        Part::Reasoning(thought) => {
            let signature = thought.signature.as_deref();
            let entries = [("type", "thinking".into()), ("thinking", thought.text.as_str().into())];
            let signature = signature.map(|text| ("thinkingSignature", text.into()));
            Some(object(entries.into_iter().chain(signature)))
        }
        Part::ToolCall(call) => Some(object([
            ("type", "toolCall".into()),
            ("id", call.id.as_str().into()),
            ("name", call.name.as_str().into()),
            ("arguments", input(call)),
        ])),
        other => mcp_block(other).or_else(|| block_json(KEY, other)),
    }
}
