//! What the plain form of a message does not say of its source: found by comparing, applied on the way back.
//!
//! Values are compared as JSON values, except that a number is the text it was written in: `1`, `1.0` and `1e0`
//! are kept apart, because a reader elsewhere may keep them apart.

use context_core::{Diagnostic, DiagnosticCode, Json, JsonMap, Message, Severity};

use super::lower::{self, Mode};
use super::{Lowered, SOURCE_KEY, lift};
use crate::wire::{array, from_map, kind, null, object, truth};

/// How deep two values are compared; what lies deeper is kept whole. Wire forms end well before.
const MAX_DEPTH: usize = 32;

/// The difference between a message's plain form and its source, if there is one.
pub(super) fn between(message: &Message, original: &Json) -> Option<Json> {
    let plain = diff(&written(message, false), original, 0)?;
    // A list of one text is so common that it is worth a word instead of a second copy of the text.
    Some(match diff(&written(message, true), original, 0) {
        None => object([("parts", truth())]),
        Some(patch) if patch.as_str().len() < plain.as_str().len() => {
            object([("parts", truth()), ("patch", patch)])
        }
        _ => object([("patch", plain)]),
    })
}

/// The source form; the plain one if the message no longer fits its source.
pub(super) fn restore(message: &Message) -> Lowered {
    let Some(residual) = message.metadata.get(SOURCE_KEY) else {
        return lower::message(message, Mode::Source { as_parts: false });
    };
    if let Some(source) = apply(message, residual)
        && let Ok(again) = lift::message(&source)
        && again.message.role == message.role
        && again.message.parts == message.parts
    {
        return Lowered { messages: vec![source], diagnostics: Vec::new() };
    }
    let mut lowered = lower::message(message, Mode::Source { as_parts: false });
    lowered.diagnostics.push(Diagnostic::new(
        DiagnosticCode::Unrepresentable,
        Severity::Info,
        SOURCE_KEY,
        "changed since it was read: written without what only its source said",
    ));
    lowered
}

/// The one message object of a lifted message; null if no part of it has a form.
fn written(message: &Message, as_parts: bool) -> Json {
    let mut messages = lower::message(message, Mode::Source { as_parts }).messages;
    messages.pop().filter(|_| messages.is_empty()).unwrap_or_else(null)
}

fn apply(message: &Message, residual: &Json) -> Option<Json> {
    let residual: JsonMap = residual.parse().ok()?;
    let plain = written(message, residual.contains_key("parts"));
    match residual.get("patch") {
        Some(patch) => patched(&plain, patch),
        None => Some(plain),
    }
}

/// The patch that turns `from` into `to`; nothing if they are the same.
fn diff(from: &Json, to: &Json, depth: usize) -> Option<Json> {
    if from.as_str() == to.as_str() {
        return None;
    }
    let set = || Some(object([("set", to.compact())]));
    if depth > MAX_DEPTH || kind(from) != kind(to) {
        return set();
    }
    match kind(from) {
        "an object" => {
            let (Ok(a), Ok(b)) = (from.parse::<JsonMap>(), to.parse::<JsonMap>()) else { return set() };
            let gone: Vec<_> =
                a.keys().filter(|key| !b.contains_key(*key)).map(|key| key.as_str().into()).collect();
            let keys: JsonMap = b
                .iter()
                .filter_map(|(key, value)| {
                    let patch = match a.get(key) {
                        Some(before) => diff(before, value, depth + 1)?,
                        None => object([("set", value.compact())]),
                    };
                    Some((key.clone(), patch))
                })
                .collect();
            let gone = (!gone.is_empty()).then(|| ("gone", array(&gone)));
            let keys = (!keys.is_empty()).then(|| ("keys", from_map(&keys)));
            (gone.is_some() || keys.is_some()).then(|| object(gone.into_iter().chain(keys)))
        }
        "a list" => {
            let (Ok(a), Ok(b)) = (from.parse::<Vec<Json>>(), to.parse::<Vec<Json>>()) else { return set() };
            if a.len() != b.len() {
                return set();
            }
            let items: JsonMap = a
                .iter()
                .zip(&b)
                .enumerate()
                .filter_map(|(i, (a, b))| Some((i.to_string(), diff(a, b, depth + 1)?)))
                .collect();
            (!items.is_empty()).then(|| object([("items", from_map(&items))]))
        }
        "a string" => match (from.to_text(), to.to_text()) {
            (Some(a), Some(b)) if a == b => None,
            _ => set(),
        },
        _ => set(),
    }
}

/// The value with a patch; nothing if the patch does not fit.
fn patched(value: &Json, patch: &Json) -> Option<Json> {
    let patch: JsonMap = patch.parse().ok()?;
    if let Some(set) = patch.get("set") {
        return Some(set.clone());
    }
    if let Some(items) = patch.get("items") {
        let mut list: Vec<Json> = value.parse().ok()?;
        for (index, patch) in &items.parse::<JsonMap>().ok()? {
            let item = list.get_mut(index.parse::<usize>().ok()?)?;
            *item = patched(item, patch)?;
        }
        return Some(array(&list));
    }
    let mut map: JsonMap = value.parse().ok()?;
    if let Some(gone) = patch.get("gone") {
        for key in &gone.parse::<Vec<String>>().ok()? {
            map.shift_remove(key);
        }
    }
    if let Some(keys) = patch.get("keys") {
        for (key, patch) in &keys.parse::<JsonMap>().ok()? {
            let before = map.get(key).cloned().unwrap_or_else(null);
            map.insert(key.clone(), patched(&before, patch)?);
        }
    }
    Some(from_map(&map))
}
