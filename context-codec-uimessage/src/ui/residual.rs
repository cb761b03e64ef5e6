//! The difference between the plain form of a UIMessage and its source: computed by comparing,
//! applied by `lower_source`.

use context_codec_kit::JsonPatch;
use context_codec_kit::wire::{is_plain_string, outdated, same_but_for_space, says_the_same};
use context_core::model::WireError;
use context_core::{Diagnostic, Json, Message};
use serde_json::value::RawValue;

use super::form::JsonPath;
use super::lower::groups::Group;
use super::lower::{MessageOut, Mode, Writer};
use super::{SOURCE_KEY, lift, lower};

/// Lifts the messages of the UIMessage at `path`, with the difference to their source.
pub(super) fn message(
    raw: &RawValue,
    path: &JsonPath<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Vec<Message>, WireError> {
    let mut messages = lift::plain(raw, path, diagnostics)?;
    if let Some(patch) = difference(&messages, raw) {
        messages[0].metadata.insert(SOURCE_KEY, patch);
    }
    Ok(messages)
}

/// Returns the difference between the plain form of messages and the one UIMessage they were lifted
/// from, if there is one.
pub(super) fn difference(lifted: &[Message], original: &RawValue) -> Option<Json> {
    if is_one_text(original.get()) {
        return None;
    }
    let messages: Vec<&Message> = lifted.iter().collect();
    let plain = lower::plain_form(&messages, original.get().len());
    if same_but_for_space(&plain, original.get()) {
        return None;
    }
    JsonPatch::between(&Json::from_text(plain).ok()?, &Json::from(original.to_owned()))
        .map(JsonPatch::into_json)
}

/// Returns whether a UIMessage is one text exactly as it would be written. Most are, and need not
/// be written to find out.
fn is_one_text(message: &str) -> bool {
    let inner = message.strip_prefix(r#"{"id":"#).and_then(|message| message.strip_suffix("}]}"));
    let Some((id, rest)) = inner.and_then(|inner| inner.split_once(r#","role":""#)) else {
        return false;
    };
    let Some((role, text)) = rest.split_once(r#"","parts":[{"type":"text","text":"#) else {
        return false;
    };
    matches!(role, "user" | "assistant" | "system") && is_plain_string(id) && is_plain_string(text)
}

/// Returns the UIMessage that these messages were lifted from, if the difference still fits them.
pub(super) fn restore(messages: &[&Message], patch: &Json) -> Option<Json> {
    let source = JsonPatch::from(patch.clone())
        .apply(&Json::from_text(lower::plain_form(messages, 0)).ok()?)?;
    let again = lift::plain(source.as_raw(), &JsonPath::Top, &mut Vec::new()).ok()?;
    let same = again.len() == messages.len()
        && again.iter().zip(messages).all(|(again, message)| says_the_same(again, message));
    same.then_some(source)
}

impl<'a> Writer<'a> {
    /// Returns one UIMessage in the form of its source if it still fits, otherwise in the plain
    /// form.
    pub(super) fn written(
        &mut self,
        group: &Group,
        messages: &[&'a Message],
    ) -> Option<MessageOut<'a>> {
        let residual = group.head(messages).filter(|_| self.mode == Mode::Source);
        if let Some(patch) = residual.and_then(|head| head.metadata.get(SOURCE_KEY)) {
            let members: Vec<_> = group.members.iter().map(|index| messages[*index]).collect();
            let answered_elsewhere = self.pairs.reach_out(&group.members);
            if !answered_elsewhere && let Some(source) = restore(&members, patch) {
                return Some(MessageOut::Restored(source));
            }
            let first = group.members.first().copied().unwrap_or_default();
            let mut diagnostic = outdated(SOURCE_KEY);
            diagnostic.path = format!("messages[{}]", first.saturating_sub(self.before));
            self.diagnostics.push(diagnostic);
        }
        let message = self.group(group, messages);
        let is_empty =
            message.parts.as_ref().is_some_and(Vec::is_empty) && message.content.is_none();
        (!is_empty).then_some(MessageOut::Plain(message))
    }
}
