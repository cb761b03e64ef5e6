//! Converting one record to messages and back.

use context_codec_gemini::generate;
use context_core::base::JsonMap;
use context_core::message::{Media, MediaSource, Reasoning, ToolInput};
use context_core::{Json, Message, Metadata, Part, Role, ToolCall, ToolResult};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::OriginalRecord;
use crate::raw::{entries, first, text_of, value_of};

/// Returns the messages of a record, and the form of its content. Returns `None` if the record is
/// not part of the conversation or has an unknown form.
pub(super) fn read(raw: &RawValue) -> Option<(Vec<Message>, OriginalRecord)> {
    let record = entries(raw)?;
    let content = record.get("content").copied().filter(|content| content.get() != "null");
    let has_parts = content.is_some_and(|content| first(content) != '"');
    let original = OriginalRecord { parts: has_parts, ..OriginalRecord::default() };
    match text_of(record.get("type")?)?.as_str() {
        "user" => Some((vec![message_of(content?, Role::User)?], original)),
        "gemini" => {
            let mut parts = Vec::new();
            for thought in list(record.get("thoughts").copied())? {
                let part = |key| value_of(thought, key, '"').and_then(text_of);
                let text = format!("{}\n{}", part("subject")?, part("description")?);
                parts
                    .push(Part::Reasoning(Reasoning { text: text.into(), ..Reasoning::default() }));
            }
            if let Some(content) = content {
                let message = message_of(content, Role::Assistant)?;
                parts.extend(message.parts.into_iter().filter(|part| *part != Part::text("")));
            }
            let mut results = Vec::new();
            for call in list(record.get("toolCalls").copied())? {
                let call = entries(call)?;
                let text = |key: &str| call.get(key).and_then(|value| text_of(value));
                let (id, name) = (text("id")?, text("name")?);
                let input = call
                    .get("args")
                    .map_or_else(|| json!({}).into(), |args| Json::from((*args).to_owned()));
                if let Some(result) = call.get("result").filter(|result| first(result) == '[') {
                    let is_error = ["error", "cancelled"]
                        .contains(&text("status").unwrap_or_default().as_str());
                    results.push(Part::ToolResult(ToolResult {
                        call_id: id.clone(),
                        name: Some(name.clone()),
                        output: output(result)?,
                        is_error,
                        metadata: Metadata::default(),
                    }));
                }
                let input = ToolInput::Json(input.compact());
                parts.push(Part::ToolCall(ToolCall {
                    id,
                    name,
                    input,
                    metadata: Metadata::default(),
                }));
            }
            if parts.is_empty() {
                parts.push(Part::text(""));
            }
            let mut messages = vec![Message::new(Role::Assistant, parts)];
            if !results.is_empty() {
                messages.push(Message::new(Role::Tool, results));
            }
            Some((messages, original))
        }
        _ => None,
    }
}

/// Returns the items of an optional list, or `None` for any other value.
fn list(raw: Option<&RawValue>) -> Option<Vec<&RawValue>> {
    match raw.filter(|raw| raw.get() != "null") {
        Some(raw) => serde_json::from_str(raw.get()).ok(),
        None => Some(Vec::new()),
    }
}

/// Returns the message of a content value, which is a string or a list of Gemini parts.
fn message_of(content: &RawValue, role: Role) -> Option<Message> {
    if let Some(text) = text_of(content) {
        return Some(Message::text(role, text));
    }
    let whole = format!(r#"{{"role":"user","parts":{}}}"#, content.get());
    let message = generate::lift(&Json::from_text(whole).ok()?).ok()?.message;
    // Calls and results are in other fields of a record.
    let is_plain =
        message.parts.iter().all(|part| !matches!(part, Part::ToolCall(_) | Part::ToolResult(_)));
    (is_plain && first(content) == '[').then(|| message.with_role(role))
}

/// Returns the output of a tool: the text of its response, followed by media.
fn output(result: &RawValue) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    for item in list(Some(result))? {
        let item = entries(item)?;
        if let Some(response) = item.get("functionResponse") {
            let response = value_of(response, "response", '{')?;
            let fields = entries(response)?;
            let text = ["output", "error"].iter().find_map(|key| text_of(fields.get(*key)?));
            parts.push(Part::text(
                text.unwrap_or_else(|| Json::from(response.to_owned()).compact().to_string()),
            ));
        } else if let Some(inline) = item.get("inlineData") {
            let text = |key| value_of(inline, key, '"').and_then(text_of);
            let (media_type, data) = (text("mimeType")?, text("data")?);
            let media = Media {
                source: MediaSource::Base64(data.into()),
                media_type: Some(media_type.clone()),
                name: None,
                metadata: Metadata::default(),
            };
            parts.push(match media_type.split('/').next() {
                Some("image") => Part::Image(media),
                Some("audio") => Part::Audio(media),
                _ => Part::Document(media),
            });
        }
    }
    Some(parts)
}

/// Returns the record that messages express, without id and times.
pub(super) fn to_json(messages: &[&Message], as_parts: bool) -> Json {
    let Some(message) = messages.first() else { return Value::Null.into() };
    let kind = match message.role {
        Role::User => "user",
        Role::Assistant => "gemini",
        Role::System | Role::Tool => "info",
    };
    let mut record = JsonMap::default();
    record.insert("type".to_owned(), kind.into());
    record.insert("content".to_owned(), content(message, as_parts));
    let (mut thoughts, mut calls) = (Vec::new(), Vec::new());
    for part in &message.parts {
        match part {
            Part::Reasoning(thought) => {
                let (subject, description) =
                    thought.text.split_once('\n').unwrap_or((&thought.text, ""));
                thoughts.push(json!({"subject": subject, "description": description}).into());
            }
            Part::ToolCall(call) => calls.push(self::call(call, messages)),
            _ => {}
        }
    }
    for (key, list) in [("thoughts", thoughts), ("toolCalls", calls)] {
        if !list.is_empty() {
            record.insert(key.to_owned(), Json::from_serialize(&list).expect("JSON values"));
        }
    }
    Json::from_serialize(&record).expect("text keys and JSON values")
}

fn content(message: &Message, as_parts: bool) -> Json {
    let spoken =
        message.parts.iter().filter(|part| !matches!(part, Part::Reasoning(_) | Part::ToolCall(_)));
    let spoken: Vec<_> = spoken.cloned().collect();
    if !as_parts && spoken.iter().all(|part| matches!(part, Part::Text(_))) {
        return message.plain_text().as_ref().into();
    }
    // Written as user content, so that no part of it is mistaken for model output.
    let content =
        generate::lower_source(&Message::new(Role::User, spoken)).messages.into_iter().next();
    let parts = content.and_then(|content| content.parse::<JsonMap>().ok()?.shift_remove("parts"));
    parts.unwrap_or_else(|| json!([]).into())
}

fn call(call: &ToolCall, messages: &[&Message]) -> Json {
    let mut written = JsonMap::default();
    written.insert("id".to_owned(), call.id.as_str().into());
    written.insert("name".to_owned(), call.name.as_str().into());
    let args = match &call.input {
        ToolInput::Json(json) => json.clone(),
        ToolInput::Invalid(text) => text.as_str().into(),
    };
    written.insert("args".to_owned(), args);
    let mut results = messages.iter().skip(1).flat_map(|message| &message.parts);
    let result = results.find_map(|part| match part {
        Part::ToolResult(result) if result.call_id == call.id => Some(result),
        _ => None,
    });
    if let Some(result) = result {
        written.insert("result".to_owned(), self::result(call, result));
        written
            .insert("status".to_owned(), if result.is_error { "error" } else { "success" }.into());
    }
    Json::from_serialize(&written).expect("text keys and JSON values")
}

fn result(call: &ToolCall, result: &ToolResult) -> Json {
    let texts = result.output.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    let key = if result.is_error { "error" } else { "output" };
    let response =
        json!({"functionResponse": {"id": call.id, "name": call.name, "response": {key: text}}});
    let media = result.output.iter().filter_map(|part| match part {
        Part::Image(media) | Part::Audio(media) | Part::Document(media) => match &media.source {
            MediaSource::Base64(data) => {
                let media_type = media.media_type.as_deref().unwrap_or("application/octet-stream");
                Some(json!({"inlineData": {"mimeType": media_type, "data": data}}))
            }
            _ => None,
        },
        _ => None,
    });
    std::iter::once(response).chain(media).collect::<Value>().into()
}
