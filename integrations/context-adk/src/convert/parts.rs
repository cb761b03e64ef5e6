//! The parts of adk-rust's contents, as JSON, and the parts that they become.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use context_runtime::{
    Json, Media, MediaSource, Metadata, Part, Reasoning, ToolCall, ToolInput, ToolResult,
};
use serde_json::{Value, json};

/// Returns the part that one of adk-rust becomes. `None` for one without a counterpart.
pub(super) fn part(written: &Value) -> Option<Part> {
    let text = |key: &str| Some(written.get(key)?.as_str()?.to_owned());
    let metadata = Metadata::default;
    if let Some(thinking) = text("thinking") {
        let reasoning = Reasoning {
            text: thinking.into(),
            signature: text("signature").map(Into::into),
            ..Reasoning::default()
        };
        return Some(Part::Reasoning(reasoning));
    }
    if let Some(text) = text("text") {
        return Some(Part::text(text));
    }
    if let Some(media_type) = text("mime_type") {
        let source = match written.get("data") {
            Some(data) => {
                let bytes: Vec<u8> = serde_json::from_value(data.clone()).ok()?;
                MediaSource::Base64(STANDARD.encode(bytes).into())
            }
            None => MediaSource::Url(text("file_uri")?),
        };
        let family = media_type.split('/').next().unwrap_or_default();
        let wrap = match family {
            "image" => Part::Image,
            "audio" => Part::Audio,
            "video" => return None,
            _ => Part::Document,
        };
        let media_type = Some(media_type);
        return Some(wrap(Media { source, media_type, name: None, metadata: metadata() }));
    }
    if let Some(response) = written.get("functionResponse") {
        let name = response.get("name")?.as_str()?.to_owned();
        let payload = response.get("response")?;
        let output = payload.as_str().map_or_else(|| payload.to_string(), str::to_owned);
        return Some(Part::ToolResult(ToolResult {
            call_id: text("id").unwrap_or_else(|| name.clone()),
            name: Some(name),
            output: vec![Part::text(output)],
            is_error: false,
            metadata: metadata(),
        }));
    }
    let name = text("name")?;
    Some(Part::ToolCall(ToolCall {
        id: text("id").unwrap_or_else(|| name.clone()),
        name,
        input: ToolInput::Json(Json::from(written.get("args")?)),
        metadata: metadata(),
    }))
}

/// Returns the part of adk-rust that a part alone stands for.
pub(super) fn plain(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({"text": text.text}),
        Part::Reasoning(reasoning) => {
            let mut value = json!({"thinking": reasoning.text});
            if let Some(signature) = &reasoning.signature {
                value["signature"] = Value::from(signature.as_str());
            }
            value
        }
        Part::ToolCall(call) => {
            let args = match &call.input {
                ToolInput::Json(json) => json.parse().unwrap_or_default(),
                ToolInput::Invalid(written) => Value::from(written.as_str()),
            };
            json!({"name": call.name, "args": args, "id": call.id})
        }
        Part::ToolResult(result) => {
            let name = result.name.as_deref().unwrap_or_default();
            let texts: Vec<&str> = result.output.iter().filter_map(text_of).collect();
            let text = texts.join("\n");
            // A response that a tool wrote as JSON is JSON again.
            let response = match serde_json::from_str(&text) {
                Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
                _ => Value::from(text),
            };
            json!({"functionResponse": {"name": name, "response": response}, "id": result.call_id})
        }
        Part::Image(media) | Part::Audio(media) | Part::Document(media) => media_part(media),
        Part::Data(data) => json!({"text": data.value.as_str()}),
        Part::Opaque(opaque) => json!({"text": opaque.value.as_str()}),
        Part::Unknown(json) => json!({"text": json.as_str()}),
        _ => json!({"text": ""}),
    }
}

fn text_of(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) => Some(&text.text),
        Part::Data(data) => Some(data.value.as_str()),
        _ => None,
    }
}

fn media_part(media: &Media) -> Value {
    let kind = media.media_type.as_deref().unwrap_or("application/octet-stream");
    match &media.source {
        MediaSource::Base64(data) => {
            json!({"mime_type": kind, "data": STANDARD.decode(data).unwrap_or_default()})
        }
        MediaSource::Url(url) => json!({"mime_type": kind, "file_uri": url}),
        MediaSource::Reference(name) => json!({"mime_type": kind, "file_uri": name}),
        _ => json!({"text": format!("[{kind}]")}),
    }
}
