//! Messages of rig as messages of the context layer, and back.
//!
//! Each block of rig becomes a part. [`plain`] is the block that a part alone stands for. Whatever
//! the block of rig has besides is kept under `rig` in the part's metadata and laid over the plain
//! block on the way back. A block that cannot be restored in this way becomes an opaque part of the
//! provider `rig`, which no other provider is sent.

mod blocks;

use context_runtime::{Json, Message, Metadata, OpaqueBlock, Part, Role};
use rig_core::message::Message as RigMessage;
use serde_json::{Map, Value, json};

use self::blocks::{part, plain};
use crate::error::ConvertError;

/// The key of the metadata, and the provider of blocks that only rig understands.
const RIG: &str = "rig";

type Fields = Map<String, Value>;

/// Converts a message of rig. [`to_rig`] returns an equal message.
///
/// Results of tools alone become a message with the role `tool`. Signatures and encrypted reasoning
/// stay in the form that rig keeps them in, and are not sent by the codecs of the context layer.
///
/// # Errors
///
/// If the message cannot be written as JSON, such as one with a number that is not finite.
pub fn from_rig(message: &RigMessage) -> Result<Message, ConvertError> {
    let mut fields: Fields = serde_json::from_value(serde_json::to_value(message)?)?;
    let (role, parts) = match fields.remove("content") {
        Some(Value::String(text)) => (Role::System, vec![Part::text(text)]),
        Some(Value::Array(blocks)) => {
            let parts: Vec<Part> = blocks.into_iter().map(lossless).collect();
            (role_of(&fields, &parts), parts)
        }
        _ => (Role::System, Vec::new()),
    };
    fields.remove("role");
    let mut converted = Message::new(role, parts);
    if !fields.is_empty() {
        converted.metadata.insert(RIG, Value::Object(fields));
    }
    Ok(converted)
}

/// Converts a message to one of rig. The reverse of [`from_rig`], and total for messages of other
/// origin: what rig has no block for, such as data of an application, becomes text.
///
/// # Errors
///
/// If rig cannot read what the metadata hold under `rig`, because another program changed it.
pub fn to_rig(message: &Message) -> Result<RigMessage, ConvertError> {
    let blocks: Vec<Value> = message.parts.iter().map(|part| block(part, message.role)).collect();
    let value = match message.role {
        Role::System => json!({"role": "system", "content": message.plain_text()}),
        Role::User | Role::Tool => json!({"role": "user", "content": blocks}),
        Role::Assistant => json!({"role": "assistant", "content": blocks}),
    };
    let value = laid_over(value, &overlay(&message.metadata));
    Ok(serde_json::from_value(value)?)
}

fn role_of(fields: &Fields, parts: &[Part]) -> Role {
    let is_result = |part: &Part| matches!(part, Part::ToolResult(_));
    match fields.get("role").and_then(Value::as_str) {
        Some("assistant") => Role::Assistant,
        _ if !parts.is_empty() && parts.iter().all(is_result) => Role::Tool,
        _ => Role::User,
    }
}

/// Converts a block to a part from which [`block`] makes an equal one.
fn lossless(original: Value) -> Part {
    let opaque =
        || Part::Opaque(OpaqueBlock { provider: RIG.to_owned(), value: Json::from(&original) });
    let Some(mut part) = part(&original) else { return opaque() };
    let role = Role::Assistant; // the roles differ only for parts that `part` never makes
    let (Value::Object(made), Value::Object(wanted)) = (block(&part, role), &original) else {
        return opaque();
    };
    let rest: Fields = wanted
        .iter()
        .filter(|(key, value)| made.get(*key) != Some(value))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if !rest.is_empty() {
        let Some(metadata) = metadata_mut(&mut part) else { return opaque() };
        let mut all = overlay(metadata);
        all.extend(rest);
        metadata.insert(RIG, Value::Object(all));
    }
    if block(&part, role) == original { part } else { opaque() }
}

/// Returns the block that a part stands for: the plain one, with what its metadata hold laid over.
fn block(part: &Part, role: Role) -> Value {
    match part {
        Part::Opaque(opaque) if opaque.provider == RIG => opaque.value.parse().unwrap_or_default(),
        part => {
            let over = metadata(part).map(overlay).unwrap_or_default();
            laid_over(plain(part, role, &over), &over)
        }
    }
}

fn laid_over(mut value: Value, over: &Fields) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.extend(over.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    value
}

fn overlay(metadata: &Metadata) -> Fields {
    metadata.get(RIG).and_then(|json| json.parse().ok()).unwrap_or_default()
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
