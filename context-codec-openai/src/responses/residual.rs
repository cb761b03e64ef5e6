//! The difference between the plain form of a message and its source: computed by comparing,
//! applied by `lower_source`.

use context_codec_kit::JsonPatch;
use context_codec_kit::wire::{array, outdated, says_the_same};
use context_core::{Json, Message};
use serde_json::value::RawValue;

use super::SOURCE_KEY;
use super::form::{ItemOut, keep};
use super::lift::ItemReader;
use super::lower::{Mode, Writer};

/// Returns the difference between a message's plain items and those it was read from, if there is
/// one.
pub(super) fn difference(
    message: &Message,
    source: &[&RawValue],
    buffer: &mut Vec<u8>,
) -> Option<Json> {
    let mut writer = Writer::new(Mode::Source);
    writer.message(message, 0);
    if writer.out.len() == source.len()
        && writer.out.iter().zip(source).all(|(a, b)| is_same(a, b, buffer))
    {
        return None;
    }
    let source: Vec<_> = source.iter().map(|raw| keep(raw)).collect();
    JsonPatch::between(&written(&writer.out), &array(&source)).map(JsonPatch::into_json)
}

/// Returns whether an item is written as it was read, byte for byte.
fn is_same(out: &ItemOut<'_>, source: &RawValue, buffer: &mut Vec<u8>) -> bool {
    buffer.clear();
    serde_json::to_writer(&mut *buffer, out).is_ok() && buffer == source.get().as_bytes()
}

fn written(items: &[ItemOut<'_>]) -> Json {
    Json::from_serialize(items).expect("text keys and JSON values")
}

/// Returns the items that a message was read from, or the plain items if the message no longer fits
/// them.
pub(super) fn restore(
    message: &Message,
    index: usize,
) -> (Vec<Json>, Vec<context_core::Diagnostic>) {
    let mut writer = Writer::new(Mode::Source);
    writer.message(message, index);
    let plain = written(&writer.out);
    let Some(patch) = message.metadata.get(SOURCE_KEY) else {
        return (plain.parse().unwrap_or_default(), writer.diagnostics);
    };
    let source = JsonPatch::from(patch.clone()).apply(&plain);
    if let Some(items) = source.and_then(|source| source.parse::<Vec<Json>>().ok())
        && is_read_from(message, &items)
    {
        return (items, Vec::new());
    }
    writer.diagnostics.push(outdated(SOURCE_KEY));
    (plain.parse().unwrap_or_default(), writer.diagnostics)
}

fn is_read_from(message: &Message, items: &[Json]) -> bool {
    let raws: Result<Vec<&RawValue>, _> =
        items.iter().map(|item| serde_json::from_str(item.as_str())).collect();
    let Ok(raws) = raws else { return false };
    match ItemReader::default().turns(&raws, "input").as_deref() {
        Ok([turn]) => says_the_same(&turn.message, message),
        _ => false,
    }
}
