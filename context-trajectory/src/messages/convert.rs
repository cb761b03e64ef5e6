//! Converting records to and from messages without loss.
//!
//! | record | message |
//! |---|---|
//! | `type` | role |
//! | `content`, a string | one text part |
//! | `content`, a list | a part for each item; items in this crate's JSON form are read as such, others are kept as unknown parts |
//! | `tool_calls`, `invalid_tool_calls` | calls after the content; the error of an invalid call is in its metadata, under `error` |
//! | `tool_call_id`, `name`, `content`, `status` of a tool record | a result |
//! | any other key | metadata of the message, under the same key; default values are left out |
//!
//! A message with several results becomes one record per result; all but the first carry
//! `context.continues`. Information of a record that the message cannot hold, such as the order of
//! lists, is kept as a patch in the message's metadata, under `trajectory.record`. Information of a
//! message that the records cannot hold is kept as the whole message in its first record, as text
//! under `context.message`. Both are used only while they are consistent with the rest of the
//! record or message.
//!
//! A record comes back as the same JSON value, with numbers as they were written; key order and
//! white space may change. A message comes back equal.

use context_codec_kit::{JsonPatch, wire};
use context_core::base::JsonMap;
use context_core::message::{Data, ToolInput};
use context_core::{Json, Message, Metadata, Part, Role, ToolCall, ToolResult};

use super::calls::{ARGS, CallRecord, ERROR, ID};
use super::record::{
    CALL_ID, CALLS, CONTENT, INVALID_CALLS, MessageRecord, MessageRecordError, NAME, RecordKind,
    STATUS, TYPE, defaults,
};

/// The key of a record that belongs to the same message as the record before it.
pub(super) const CONTINUES: &str = "context.continues";
/// The key of a complete message, as text, for what its records cannot express.
pub(super) const WHOLE: &str = "context.message";
/// The key of a patch of the list of records, for what the message cannot express.
const DIFFERENCE: &str = "trajectory.record";
/// Keys that are never metadata.
const OWN: [&str; 8] = [TYPE, CONTENT, CALLS, INVALID_CALLS, CALL_ID, STATUS, CONTINUES, WHOLE];

/// Converts messages to records.
pub fn to_records<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<MessageRecord> {
    messages.into_iter().flat_map(records_of).collect()
}

/// Converts records to messages. Fails for a record of an unknown type.
pub fn to_messages(records: &[MessageRecord]) -> Result<Vec<Message>, MessageRecordError> {
    if let Some(index) = records.iter().position(|record| record.kind() == RecordKind::Other) {
        return Err(MessageRecordError::UnknownType { index });
    }
    Ok(groups(records).map(message_of).collect())
}

/// Groups the records that belong to one message.
fn groups(records: &[MessageRecord]) -> impl Iterator<Item = &[MessageRecord]> {
    records.chunk_by(|before, record| {
        before.kind() == RecordKind::Tool
            && record.kind() == RecordKind::Tool
            && record.get(CONTINUES).is_some()
    })
}

fn records_of(message: &Message) -> Vec<MessageRecord> {
    let (mut records, from_source) = natural(message);
    if !from_source && message_of(&records) != *message {
        let text =
            serde_json::to_string(message).expect("a message has text keys and valid raw values");
        records[0].set(WHOLE, text.as_str());
    }
    records
}

/// Returns the records of a message, and whether they are the records it was read from, which
/// requires that the message was not changed since.
fn natural(message: &Message) -> (Vec<MessageRecord>, bool) {
    let mut bare = message.clone();
    let difference = bare.metadata.remove(DIFFERENCE);
    let plain = plain_records(&bare);
    let source = difference.and_then(|difference| {
        let source: Vec<MessageRecord> =
            JsonPatch::from(difference).apply(&list(&plain))?.parse().ok()?;
        (groups(&source).count() == 1
            && plain_message(&source) == bare
            && compact(&source) == source)
            .then_some(source)
    });
    match source {
        Some(source) => (source, true),
        None => (plain, false),
    }
}

/// Returns the message of a group of records.
fn message_of(records: &[MessageRecord]) -> Message {
    if let Some(message) = stored_message(records) {
        return message;
    }
    let message = plain_message(records);
    if JsonPatch::between(&list(&plain_records(&message)), &list(records)).is_none() {
        return message;
    }
    // The values that the difference sets have no white space, and the message must be the same.
    let compacted = compact(records);
    let mut message = plain_message(&compacted);
    let plain = list(&plain_records(&message));
    // The patch is computed from its own result, so that it is the same each time.
    let reached =
        JsonPatch::between(&plain, &list(&compacted)).and_then(|patch| patch.apply(&plain));
    if let Some(difference) = reached.and_then(|reached| JsonPatch::between(&plain, &reached)) {
        message.metadata.insert(DIFFERENCE, difference.into_json());
    }
    message
}

/// Returns the records without white space between tokens.
fn compact(records: &[MessageRecord]) -> Vec<MessageRecord> {
    list(records).compact().parse().unwrap_or_else(|_| records.to_vec())
}

/// Returns the message stored in its first record, if the records still agree with it.
fn stored_message(records: &[MessageRecord]) -> Option<Message> {
    let message: Message = serde_json::from_str(&wire::text(records.first()?.get(WHOLE)?)?).ok()?;
    let mut unmarked = records.to_vec();
    unmarked[0].remove(WHOLE);
    JsonPatch::between(&list(&natural(&message).0), &list(&unmarked)).is_none().then_some(message)
}

fn list(records: &[MessageRecord]) -> Json {
    Json::from_serialize(records).expect("records print as JSON")
}

/// Returns a message as records, without the parts that records cannot express.
fn plain_records(message: &Message) -> Vec<MessageRecord> {
    let results = |part: &Part| matches!(part, Part::ToolResult(_));
    let mut records: Vec<_> = match message.role {
        Role::Tool if !message.is_placeholder() && message.parts.iter().all(results) => {
            message.parts.iter().filter_map(result_record).collect()
        }
        Role::Tool => vec![MessageRecord::new(RecordKind::Tool, content(message.parts.iter()))],
        Role::User => vec![MessageRecord::new(RecordKind::Human, content(message.parts.iter()))],
        Role::System => vec![MessageRecord::new(RecordKind::System, content(message.parts.iter()))],
        Role::Assistant => vec![answer_record(message)],
    };
    let facts = message.metadata.iter().filter(|(key, _)| !OWN.contains(key));
    // The name of a tool record is that of its result.
    let facts = facts.filter(|(key, _)| message.role != Role::Tool || *key != NAME);
    for (key, value) in facts {
        records[0].set(key, on_a_line(value));
    }
    for record in records.iter_mut().skip(1) {
        record.set(CONTINUES, wire::truth());
    }
    records
}

fn result_record(part: &Part) -> Option<MessageRecord> {
    let Part::ToolResult(result) = part else { return None };
    let mut record = MessageRecord::new(RecordKind::Tool, content(result.output.iter()))
        .with(NAME, result.name.as_deref().unwrap_or_default())
        .with(CALL_ID, result.call_id.as_str());
    if result.is_error {
        record.set(STATUS, "error");
    }
    Some(record)
}

fn answer_record(message: &Message) -> MessageRecord {
    let (mut calls, mut invalid) = (Vec::new(), Vec::new());
    for part in &message.parts {
        match part {
            Part::ToolCall(call) if matches!(call.input, ToolInput::Invalid(_)) => {
                invalid.push(call_json(call))
            }
            Part::ToolCall(call) => calls.push(call_json(call)),
            _ => {}
        }
    }
    let called = !calls.is_empty() || !invalid.is_empty();
    let mut others =
        message.parts.iter().filter(|part| !matches!(part, Part::ToolCall(_))).peekable();
    let content = if called && others.peek().is_none() { "".into() } else { content(others) };
    MessageRecord::new(RecordKind::Ai, content)
        .with(CALLS, wire::array(&calls))
        .with(INVALID_CALLS, wire::array(&invalid))
}

fn call_json(call: &ToolCall) -> Json {
    let (args, kind) = match &call.input {
        ToolInput::Json(json) => (on_a_line(json), "tool_call"),
        ToolInput::Invalid(text) => (text.as_str().into(), "invalid_tool_call"),
    };
    let own = [
        (NAME, call.name.as_str().into()),
        (ARGS, args),
        (ID, call.id.as_str().into()),
        (TYPE, kind.into()),
    ];
    let mut map: JsonMap =
        own.into_iter().map(|(key, value): (&str, Json)| (key.to_owned(), value)).collect();
    for (key, value) in call.metadata.iter() {
        map.entry(key.to_owned()).or_insert_with(|| on_a_line(value));
    }
    wire::from_map(&map)
}

/// Returns parts as a content value: a string if there is exactly one text.
fn content<'a>(parts: impl Iterator<Item = &'a Part>) -> Json {
    let parts: Vec<_> = parts.collect();
    match parts.as_slice() {
        [Part::Text(text)] if text.metadata.is_empty() => text.text.as_str().into(),
        _ => on_a_line(&Json::from_serialize(&parts).expect("parts print as JSON")),
    }
}

/// Returns a value on one line, as files of lines need it.
fn on_a_line(json: &Json) -> Json {
    if json.as_str().contains('\n') { json.compact() } else { json.clone() }
}

/// Returns a group of records as a message, without the parts that a message cannot express.
fn plain_message(records: &[MessageRecord]) -> Message {
    let Some(first) = records.first() else { return Message::new(Role::User, []) };
    let (role, parts) = match first.kind() {
        RecordKind::Human | RecordKind::Other => (Role::User, parts(first)),
        RecordKind::System => (Role::System, parts(first)),
        RecordKind::Ai => (Role::Assistant, content_parts(first)),
        RecordKind::Tool => (Role::Tool, records.iter().map(result).collect()),
    };
    let defaults = defaults(first.kind());
    let says = |key: &str, value: &Json| {
        !defaults.iter().any(|(name, nothing)| *name == key && nothing == value)
    };
    let facts = first.entries().filter(|(key, value)| !OWN.contains(key) && says(key, value));
    let facts = facts.filter(|(key, _)| first.kind() != RecordKind::Tool || *key != NAME);
    let metadata = facts.map(|(key, value)| (key.to_owned(), value.clone())).collect::<Metadata>();
    Message::new(role, parts).with_metadata(metadata)
}

fn content_parts(record: &MessageRecord) -> Vec<Part> {
    let calls: Vec<_> =
        record.calls().into_iter().chain(record.invalid_calls()).map(call).collect();
    let mut parts = parts(record);
    // A model message with calls only has no text part, but is stored with an empty text.
    if !calls.is_empty() && parts == [Part::text("")] {
        parts.clear();
    }
    parts.extend(calls);
    parts
}

fn call(call: CallRecord) -> Part {
    let mut metadata: Metadata = call.extra.into();
    if let Some(error) = &call.error {
        metadata.insert(ERROR, error.as_str());
    }
    let (id, name) = (call.id.unwrap_or_default(), call.name.unwrap_or_default());
    Part::ToolCall(ToolCall { id, name, input: call.args, metadata })
}

fn result(record: &MessageRecord) -> Part {
    Part::ToolResult(ToolResult {
        call_id: record.tool_call_id().unwrap_or_default(),
        name: record.name(),
        output: parts(record),
        is_error: record.is_error(),
        metadata: Metadata::default(),
    })
}

/// Returns the parts of a content value.
fn parts(record: &MessageRecord) -> Vec<Part> {
    let Some(content) = record.get(CONTENT) else { return Vec::new() };
    match wire::kind(content) {
        "null" => Vec::new(),
        "a list" => {
            content.parse::<Vec<Json>>().unwrap_or_default().into_iter().map(part).collect()
        }
        _ => vec![part(content.clone())],
    }
}

fn part(item: Json) -> Part {
    if let Some(text) = wire::text(&item) {
        return Part::text(text);
    }
    let kind = || item.parse::<JsonMap>().ok()?.get(TYPE).and_then(wire::text);
    match item.parse() {
        Ok(part) => part,
        Err(_) if kind().is_some() => Part::Unknown(item),
        Err(_) => Part::Data(Data { name: CONTENT.to_owned(), value: item }),
    }
}
