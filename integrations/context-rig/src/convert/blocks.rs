//! The blocks of rig's messages, as JSON, and the parts that they become.

use context_runtime::{
    Json, Media, MediaSource, Metadata, Part, Reasoning, Role, Text, ToolCall, ToolInput,
    ToolResult,
};
use serde_json::{Value, json};

use super::{Fields, RIG, block, lossless};

/// The name of a tool whose result does not say it. rig refuses an empty name.
const UNNAMED: &str = "tool";

/// Returns the part that a block becomes. `None` for a block without a counterpart.
pub(super) fn part(block: &Value) -> Option<Part> {
    let text = |key: &str| Some(block.get(key)?.as_str()?.to_owned());
    match block.get("type")?.as_str()? {
        "text" => Some(Part::text(text("text")?)),
        "reasoning" => {
            Some(Part::Reasoning(Reasoning { text: text("text")?.into(), ..Reasoning::default() }))
        }
        "json" => {
            let text = block.get("value")?.to_string();
            let metadata = Metadata::default().with(RIG, json!({"type": "json"}));
            Some(Part::Text(Text { text: text.into(), metadata }))
        }
        "toolcall" => {
            let function = block.get("function")?;
            let input = match function.get("invalid_arguments").and_then(Value::as_str) {
                Some(written) => ToolInput::from_written(written),
                None => ToolInput::Json(Json::from(function.get("arguments")?)),
            };
            let name = function.get("name")?.as_str()?.to_owned();
            let id = call_id(block.get("id")?)?;
            Some(Part::ToolCall(ToolCall { id, name, input, metadata: Metadata::default() }))
        }
        "toolresult" => Some(Part::ToolResult(ToolResult {
            call_id: call_id(block.get("call")?)?,
            name: text("name"),
            output: block.get("content")?.as_array()?.iter().cloned().map(lossless).collect(),
            is_error: block.get("is_error").and_then(Value::as_bool).unwrap_or_default(),
            metadata: Metadata::default(),
        })),
        "image" => Some(Part::Image(media(block, "image")?)),
        "audio" => Some(Part::Audio(media(block, "audio")?)),
        "document" => Some(Part::Document(media(block, "application")?)),
        _ => None,
    }
}

/// Returns the block that a part alone stands for. `over` is what its metadata hold of rig's block.
pub(super) fn plain(part: &Part, role: Role, over: &Fields) -> Value {
    match part {
        Part::Text(text) if over.get("type").is_some_and(|kind| kind == "json") => {
            let value = serde_json::from_str(&text.text).unwrap_or(Value::from(&*text.text));
            json!({"type": "json", "value": value})
        }
        Part::Text(text) => json!({"type": "text", "text": text.text}),
        Part::Reasoning(reasoning) => json!({"type": "reasoning", "text": reasoning.text}),
        Part::ToolCall(call) => {
            let arguments = match &call.input {
                ToolInput::Json(json) => json.parse().unwrap_or_default(),
                ToolInput::Invalid(written) => Value::from(&**written),
            };
            let name = if call.name.is_empty() { UNNAMED } else { &call.name };
            json!({
                "type": "toolcall",
                "id": {"provider": call.id},
                "function": {"name": name, "arguments": arguments},
            })
        }
        Part::ToolResult(result) => {
            let content: Vec<Value> =
                result.output.iter().map(|part| block(part, Role::Tool)).collect();
            let name = result.name.as_deref().filter(|name| !name.is_empty());
            let mut block = json!({
                "type": "toolresult",
                "call": {"provider": result.call_id},
                "name": name.unwrap_or(UNNAMED),
                "content": content,
            });
            if result.is_error {
                block["is_error"] = Value::Bool(true);
            }
            block
        }
        Part::Image(media) => media_block("image", media),
        Part::Audio(media) if role != Role::Tool => media_block("audio", media),
        Part::Document(media) if role != Role::Tool => media_block("document", media),
        Part::Audio(media) | Part::Document(media) => {
            let name = media.name.as_deref().or(media.media_type.as_deref());
            json!({"type": "text", "text": format!("[{}]", name.unwrap_or("a file"))})
        }
        Part::Opaque(opaque) if role == Role::Assistant => {
            let item: Value = opaque.value.parse().unwrap_or_default();
            json!({"type": "opaque", "item": item, "replay": false})
        }
        Part::Data(data) => json!({"type": "text", "text": data.value.as_str()}),
        Part::Opaque(opaque) => json!({"type": "text", "text": opaque.value.as_str()}),
        Part::Unknown(json) => json!({"type": "text", "text": json.as_str()}),
        _ => json!({"type": "text", "text": ""}),
    }
}

/// Returns the one text of a call's id, whoever gave it.
fn call_id(id: &Value) -> Option<String> {
    let id = id.get("provider").or_else(|| id.get("local"))?;
    Some(id.as_str().map_or_else(|| id.to_string(), str::to_owned))
}

fn media(block: &Value, family: &str) -> Option<Media> {
    let data = block.get("data")?;
    let value = data.get("value")?.as_str()?.to_owned();
    let source = match data.get("type")?.as_str()? {
        "url" => MediaSource::Url(value),
        "base64" => MediaSource::Base64(value.into()),
        "fileId" => MediaSource::Reference(value),
        _ => return None,
    };
    let kind = block.get("media_type").and_then(Value::as_str);
    let media_type = kind.map(|kind| format!("{family}/{kind}"));
    Some(Media { source, media_type, name: None, metadata: Metadata::default() })
}

fn media_block(kind: &str, media: &Media) -> Value {
    let data = match &media.source {
        MediaSource::Url(value) => json!({"type": "url", "value": value}),
        MediaSource::Base64(value) => json!({"type": "base64", "value": value}),
        MediaSource::Reference(value) => json!({"type": "fileId", "value": value}),
        _ => json!({"type": "unknown"}),
    };
    let mut block = json!({"type": kind, "data": data});
    let known = |subtype: &&str| match kind {
        "image" => matches!(*subtype, "jpeg" | "png" | "gif" | "webp" | "heic" | "heif" | "svg"),
        "audio" => {
            matches!(
                *subtype,
                "wav" | "mp3" | "aiff" | "aac" | "ogg" | "flac" | "m4a" | "pcm16" | "pcm24"
            )
        }
        _ => matches!(
            *subtype,
            "pdf"
                | "txt"
                | "rtf"
                | "html"
                | "css"
                | "markdown"
                | "csv"
                | "xml"
                | "javascript"
                | "python"
        ),
    };
    let subtype = media.media_type.as_deref().and_then(|media_type| media_type.split_once('/'));
    if let Some(subtype) = subtype.map(|(_, subtype)| subtype).filter(known) {
        block["media_type"] = Value::from(subtype);
    }
    block
}
