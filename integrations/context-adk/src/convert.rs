//! Events of adk-rust as messages of the context layer, and back.
//!
//! Each part of an event's content becomes a part of the message. [`plain`] is the part of adk-rust
//! that a part alone stands for. Whatever the original has besides is kept under `adk` in the
//! part's metadata and laid over the plain one on the way back. A part that cannot be restored in
//! this way becomes an opaque part of the provider `adk`, which no other provider is sent. The
//! event without its parts is kept under `adk` in the metadata of the message.

mod parts;

use adk_session::Event;
use chrono::{DateTime, Utc};
use context_runtime::store::Node;
use context_runtime::{Json, Message, Metadata, OpaqueBlock, Part, Role};
use serde_json::{Map, Value, json};

use self::parts::{part, plain};

/// The key of the metadata, and the provider of parts that only adk-rust understands.
const ADK: &str = "adk";

type Fields = Map<String, Value>;

/// Converts an event to the message that is stored for it.
pub(crate) fn message_of(event: &Event) -> Result<Message, serde_json::Error> {
    let mut event: Fields = serde_json::from_value(serde_json::to_value(event)?)?;
    let content = event.get_mut("content").and_then(Value::as_object_mut);
    let parts = content.and_then(|content| match content.remove("parts")? {
        Value::Array(parts) => Some(parts),
        _ => None,
    });
    let parts = parts.unwrap_or_default().into_iter().map(lossless);
    let role = event.get("content").and_then(|content| content.get("role")?.as_str());
    let role = match role {
        Some("model" | "assistant") => Role::Assistant,
        Some("function" | "tool") => Role::Tool,
        Some("system") | None => Role::System,
        Some(_) => Role::User,
    };
    let mut message = Message::new(role, parts);
    message.metadata.insert(ADK, Value::Object(event));
    Ok(message)
}

/// Converts a stored message to an event. A message of another program becomes an event of the
/// author that its role names.
///
/// `None` for a message of another program that no model is shown, and for a boundary. Fails if the
/// event cannot be read.
pub(crate) fn event_of(node: &Node) -> Result<Option<Event>, serde_json::Error> {
    let Some(message) = node.role().and_then(|_| node.message().ok()) else { return Ok(None) };
    let parts: Vec<Value> = message.parts.iter().map(original).collect();
    let event = match message.metadata.get(ADK) {
        Some(event) => {
            let mut event: Value = event.parse()?;
            if let Some(Value::Object(content)) = event.get_mut("content") {
                content.insert("parts".to_owned(), Value::Array(parts));
            }
            event
        }
        None if node.is_shown() => foreign(node, message.role, parts),
        None => return Ok(None),
    };
    serde_json::from_value(event).map(Some)
}

fn foreign(node: &Node, role: Role, parts: Vec<Value>) -> Value {
    let (author, role) = match role {
        Role::User => ("user", "user"),
        Role::Assistant => ("model", "model"),
        Role::Tool => ("model", "function"),
        Role::System => ("system", "system"),
    };
    let at = DateTime::<Utc>::from_timestamp_micros(node.created_at.as_micros());
    let mut event = Event::with_id(node.id.as_str(), "");
    event.timestamp = at.unwrap_or_default();
    event.author = author.to_owned();
    let mut event = serde_json::to_value(event).unwrap_or_default();
    event["content"] = json!({"role": role, "parts": parts});
    event
}

/// Converts a part of adk-rust to one from which [`original`] makes an equal one.
fn lossless(written: Value) -> Part {
    let opaque =
        || Part::Opaque(OpaqueBlock { provider: ADK.to_owned(), value: Json::from(&written) });
    let Some(mut part) = part(&written) else { return opaque() };
    let (Value::Object(made), Value::Object(wanted)) = (original(&part), &written) else {
        return opaque();
    };
    let changed = wanted.iter().filter(|(key, value)| made.get(*key) != Some(value));
    let mut rest: Fields = changed.map(|(key, value)| (key.clone(), value.clone())).collect();
    // A field that the plain part has and the original lacks is marked with null.
    let absent = made.keys().filter(|key| !wanted.contains_key(*key));
    rest.extend(absent.map(|key| (key.clone(), Value::Null)));
    if !rest.is_empty() {
        let Some(metadata) = metadata_mut(&mut part) else { return opaque() };
        metadata.insert(ADK, Value::Object(rest));
    }
    if original(&part) == written { part } else { opaque() }
}

/// Returns the part of adk-rust that a part stands for: the plain one, with what its metadata hold
/// laid over.
fn original(part: &Part) -> Value {
    if let Part::Opaque(opaque) = part
        && opaque.provider == ADK
    {
        return opaque.value.parse().unwrap_or_default();
    }
    let mut value = plain(part);
    let over = metadata(part).and_then(|metadata| metadata.get(ADK)?.parse::<Fields>().ok());
    if let (Value::Object(fields), Some(over)) = (&mut value, over) {
        fields.extend(over);
        fields.retain(|_, value| !value.is_null());
    }
    value
}

fn metadata(part: &Part) -> Option<&Metadata> {
    match part {
        Part::Text(text) => Some(&text.metadata),
        Part::Reasoning(reasoning) => Some(&reasoning.metadata),
        Part::ToolCall(call) => Some(&call.metadata),
        Part::ToolResult(result) => Some(&result.metadata),
        Part::Image(media) | Part::Document(media) | Part::Audio(media) => Some(&media.metadata),
        _ => None,
    }
}

fn metadata_mut(part: &mut Part) -> Option<&mut Metadata> {
    match part {
        Part::Text(text) => Some(&mut text.metadata),
        Part::Reasoning(reasoning) => Some(&mut reasoning.metadata),
        Part::ToolCall(call) => Some(&mut call.metadata),
        Part::ToolResult(result) => Some(&mut result.metadata),
        Part::Image(media) | Part::Document(media) | Part::Audio(media) => {
            Some(&mut media.metadata)
        }
        _ => None,
    }
}
