//! The difference between the plain form of a message and its source: computed by comparing,
//! applied by `lower_source`.

use context_codec_kit::JsonPatch;
use context_codec_kit::wire::{Lifted, Lowered, null, object, outdated, says_the_same, truth};
use context_core::base::JsonMap;
use context_core::model::WireError;
use context_core::{Json, Message};
use serde_json::value::RawValue;

use super::lower::{Mode, Writer};
use super::{SOURCE_KEY, lift};

/// Lifts a message, and keeps in its metadata the values that it cannot hold.
pub(super) fn lifted(original: &RawValue) -> Result<Lifted, WireError> {
    let (mut lifted, plain) = lift::compared(original)?;
    if !plain && let Some(residual) = difference(&lifted.message, original) {
        lifted.message.metadata.insert(SOURCE_KEY, residual);
    }
    Ok(lifted)
}

/// Returns the difference between a message's plain form and its source, if there is one.
fn difference(message: &Message, original: &RawValue) -> Option<Json> {
    let mut writer = Writer::new(Mode::Source { as_parts: false });
    writer.message(message);
    if let [form] = writer.written.as_slice()
        && serde_json::to_string(form).is_ok_and(|plain| plain == original.get())
    {
        return None;
    }
    let plain = written(message, false);
    let plain = JsonPatch::between_raw(plain.as_raw(), original)?;
    // A list of one text is so common that it gets a flag of its own instead of a second copy of
    // the text.
    Some(match JsonPatch::between_raw(written(message, true).as_raw(), original) {
        None => object([("parts", truth())]),
        Some(patch) if patch.as_json().as_str().len() < plain.as_json().as_str().len() => {
            object([("parts", truth()), ("patch", patch.into_json())])
        }
        _ => object([("patch", plain.into_json())]),
    })
}

/// Writes the source form, or the plain form if the message no longer fits its source.
pub(super) fn restore(message: &Message) -> Lowered {
    let Some(residual) = message.metadata.get(SOURCE_KEY) else {
        return plain(message, false);
    };
    if let Some(source) = apply(message, residual)
        && let Ok(again) = lift::message(source.as_raw())
        && says_the_same(&again.message, message)
    {
        return Lowered::new(vec![source], Vec::new());
    }
    let mut lowered = plain(message, false);
    lowered.diagnostics.push(outdated(SOURCE_KEY));
    lowered
}

fn plain(message: &Message, as_parts: bool) -> Lowered {
    written_by(Writer::new(Mode::Source { as_parts }), message)
}

/// Returns all messages that a writer makes of one message.
pub(super) fn written_by<'a>(mut writer: Writer<'a>, message: &'a Message) -> Lowered {
    writer.message(message);
    writer.end();
    let form = |form| Json::from_serialize(form).expect("text keys and valid raw values");
    Lowered::new(writer.written.iter().map(form).collect(), writer.diagnostics)
}

/// Returns the one message object of a lifted message; null if no part of it has a form.
fn written(message: &Message, as_parts: bool) -> Json {
    let mut messages = plain(message, as_parts).messages;
    messages.pop().filter(|_| messages.is_empty()).unwrap_or_else(null)
}

fn apply(message: &Message, residual: &Json) -> Option<Json> {
    let residual: JsonMap = residual.parse().ok()?;
    let plain = written(message, residual.contains_key("parts"));
    match residual.get("patch") {
        Some(patch) => JsonPatch::from(patch.clone()).apply(&plain),
        None => Some(plain),
    }
}
