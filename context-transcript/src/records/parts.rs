//! Parts of messages that several forms have.

use context_core::base::JsonMap;
use context_core::message::{Media, MediaSource, Reasoning, ToolInput, data_url};
use context_core::{Json, Message, Metadata, Part, Role, ToolCall, ToolResult};
use serde_json::value::RawValue;

use crate::chat::data;
use crate::raw::{Entries, entries, first, text_of};

/// Returns the text of a field.
pub(crate) fn text(record: &Entries<'_>, key: &str) -> Option<String> {
    record.get(key).and_then(|value| text_of(value))
}

/// Returns the fields of a field that is an object.
pub(crate) fn object_in<'a>(record: &Entries<'a>, key: &str) -> Option<Entries<'a>> {
    entries(record.get(key).copied()?)
}

/// Returns the items of a field that is a list. A missing field and null are an empty list.
pub(crate) fn list_in<'a>(record: &Entries<'a>, key: &str) -> Option<Vec<&'a RawValue>> {
    match record.get(key).filter(|value| value.get() != "null") {
        Some(value) => serde_json::from_str(value.get()).ok(),
        None => Some(Vec::new()),
    }
}

/// Returns whether a field is a list.
pub(crate) fn has_list(record: &Entries<'_>, key: &str) -> bool {
    record.get(key).is_some_and(|value| first(value) == '[')
}

/// Returns whether a field is true.
pub(crate) fn is_true(record: &Entries<'_>, key: &str) -> bool {
    record.get(key).is_some_and(|value| value.get() == "true")
}

/// Returns a value as JSON of its own.
pub(crate) fn json_of(raw: &RawValue) -> Json {
    Json::from(raw.to_owned()).compact()
}

/// Creates an object.
pub(crate) fn map(entries: impl IntoIterator<Item = (&'static str, Json)>) -> JsonMap {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Returns consecutive parts of one role as messages.
pub(crate) fn runs(parts: impl IntoIterator<Item = (Role, Part)>) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for (role, part) in parts {
        match messages.last_mut().filter(|message| message.role == role) {
            Some(message) => message.parts.push(part),
            None => messages.push(Message::new(role, [part])),
        }
    }
    messages
}

/// Returns the texts of parts, without separators.
pub(crate) fn texts(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.text.to_cow()),
        _ => None,
    });
    texts.collect()
}

pub(crate) fn reasoning(text: String, signature: Option<String>) -> Part {
    Part::Reasoning(Reasoning {
        text: text.into(),
        signature: signature.map(Into::into),
        ..Reasoning::default()
    })
}

/// Creates a call. An input that is not given is an empty object.
pub(crate) fn call(id: String, name: String, input: Option<&RawValue>) -> Part {
    let input = ToolInput::Json(input.map_or_else(|| serde_json::json!({}).into(), json_of));
    Part::ToolCall(ToolCall { id, name, input, metadata: Metadata::default() })
}

/// Creates a call whose input is the text that the model wrote.
pub(crate) fn call_of_text(id: String, name: String, input: &str) -> Part {
    let input = ToolInput::from_written(input);
    Part::ToolCall(ToolCall { id, name, input, metadata: Metadata::default() })
}

/// Returns the input of a call as JSON. Input that is not JSON is a string.
pub(crate) fn input(call: &ToolCall) -> Json {
    match &call.input {
        ToolInput::Json(json) => json.clone(),
        ToolInput::Invalid(text) => text.as_str().into(),
    }
}

pub(crate) fn result(
    call_id: String,
    name: Option<String>,
    output: Vec<Part>,
    is_error: bool,
) -> Part {
    Part::ToolResult(ToolResult { call_id, name, output, is_error, metadata: Metadata::default() })
}

/// Creates an image, audio or document, by its media type.
pub(crate) fn media(source: MediaSource, media_type: Option<String>, name: Option<String>) -> Part {
    let kind = media_type.as_deref().and_then(|kind| kind.split('/').next());
    let media = |media_type| Media { source, media_type, name, metadata: Metadata::default() };
    match kind {
        Some("image") => Part::Image(media(media_type)),
        Some("audio") => Part::Audio(media(media_type)),
        _ => Part::Document(media(media_type)),
    }
}

/// Creates media at a URL, or of the bytes of a `data:` URL. `media_type` counts for other URLs.
pub(crate) fn media_of_url(url: String, media_type: Option<String>, name: Option<String>) -> Part {
    match data_url(&url) {
        Some((kind, bytes)) => {
            media(MediaSource::Base64(bytes.into()), Some(kind.to_owned()), name)
        }
        None => media(MediaSource::Url(url), media_type, name),
    }
}

/// Returns the URL of media, a `data:` URL if it is inline.
pub(crate) fn url_of(media: &Media) -> Option<String> {
    match &media.source {
        MediaSource::Base64(data) => {
            let kind = media.media_type.as_deref().unwrap_or("application/octet-stream");
            Some(format!("data:{kind};base64,{data}"))
        }
        MediaSource::Url(url) => Some(url.clone()),
        _ => None,
    }
}

/// Returns the media of a part that is an image, audio or a document.
pub(crate) fn media_of(part: &Part) -> Option<&Media> {
    match part {
        Part::Image(media) | Part::Audio(media) | Part::Document(media) => Some(media),
        _ => None,
    }
}

/// Returns a content block of the Model Context Protocol, `text`, `image` or `audio`, as a part.
pub(crate) fn mcp_part(block: &Entries<'_>) -> Option<Part> {
    match text(block, "type")?.as_str() {
        "text" => Some(Part::text(text(block, "text")?)),
        "image" | "audio" => {
            let source = MediaSource::Base64(text(block, "data")?.into());
            Some(media(source, Some(text(block, "mimeType")?), None))
        }
        _ => None,
    }
}

/// Returns a part as a content block of the Model Context Protocol, if it is one.
pub(crate) fn mcp_block(part: &Part) -> Option<Json> {
    let kind = match part {
        Part::Text(text) => {
            return Some(serde_json::json!({"type": "text", "text": text.text}).into());
        }
        Part::Image(_) => "image",
        Part::Audio(_) => "audio",
        _ => return None,
    };
    let media = media_of(part)?;
    let MediaSource::Base64(data) = &media.source else { return None };
    Some(serde_json::json!({"type": kind, "data": data, "mimeType": media.media_type}).into())
}

/// Returns a block that only its form understands as a part that no provider gets.
pub(crate) fn block(key: &str, raw: &RawValue) -> Part {
    let kind = entries(raw).and_then(|block| {
        ["type", "part_kind", "kind", "content_type"].iter().find_map(|key| text(&block, key))
    });
    data(format!("{key}.block.{}", kind.as_deref().unwrap_or("unknown")), json_of(raw))
}

/// Returns the block that [`block`] was made of.
pub(crate) fn block_json(key: &str, part: &Part) -> Option<Json> {
    match part {
        Part::Data(data) => {
            let rest = data.name.strip_prefix(key)?;
            rest.starts_with(".block.").then(|| data.value.clone())
        }
        _ => None,
    }
}

/// Returns each result of a tool message as a message of its own, and any other message unchanged.
pub(crate) fn split_results(message: &Message) -> Vec<Message> {
    match message.role {
        Role::Tool => {
            message.parts.iter().map(|part| Message::new(Role::Tool, [part.clone()])).collect()
        }
        _ => vec![message.clone()],
    }
}

/// Returns a message as messages with one call each, behind what the model said before it. Each
/// result is a message of its own, too.
pub(crate) fn split_calls(message: &Message) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut last = Vec::new();
    for part in &message.parts {
        let is_call = matches!(part, Part::ToolCall(_));
        last.push(part.clone());
        if is_call {
            messages.push(Message::new(message.role, std::mem::take(&mut last)));
        }
    }
    if !last.is_empty() {
        messages.push(Message::new(message.role, last));
    }
    messages.iter().flat_map(split_results).collect()
}
