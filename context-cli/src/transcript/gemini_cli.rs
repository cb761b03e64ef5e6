//! Sessions of the Gemini CLI: an object whose `messages` are records of the conversation.
//!
//! | file | chat |
//! |---|---|
//! | `user` | a user message from its `content`, a string or Gemini parts |
//! | `gemini` | an assistant message from `thoughts`, `content`, `toolCalls` |
//! | the `result` of its `toolCalls` | a tool message after it |
//! | `info`, `error` and any other | an application message without text, which keeps its position and is sent to no provider |
//! | the other keys of the object | the envelope |
//!
//! The parts of a record that its messages do not express, such as its `tokens`, are in their
//! metadata under [`KEY`]. Export is therefore exact. Files that the CLI saves on request
//! (`/chat save`) are lists of contents in Gemini's own form.

mod back;
mod record;

use context_runtime::transfer::Tree;
use context_runtime::{
    Diagnostic, DiagnosticCode, Error, Json, JsonMap, JsonPatch, Message, Metadata, Role,
    Timestamp, store::Node,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub(super) use self::back::back;
use super::items::{MAX_ITEMS, items, up_to};
use super::source::{Form, Source};
use super::{Codec, Draft, data, entries, first, no_form, note, text_of, time_of, title, value_of};
use crate::error::Failure;
use crate::input::Input;

/// The metadata key for the original record of a message.
pub(super) const KEY: &str = "gemini-cli";
/// The key of the records.
const MESSAGES: &str = "messages";

/// The original record of messages.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Mark {
    /// Whether the message belongs to the record of the message before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    continues: bool,
    /// Whether the content of the record is a list of parts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    parts: bool,
    /// The difference between the messages and the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    patch: Option<Json>,
}

impl Mark {
    fn of(message: &Message) -> Option<Self> {
        message.metadata.get(KEY)?.parse().ok()
    }

    fn to_json(&self) -> Json {
        Json::from_serialize(self).expect("text keys and JSON values")
    }
}

/// Returns whether a value is a session.
pub(super) fn is_session(item: &RawValue) -> bool {
    let Some(entries) = entries(item) else { return false };
    let has = |key: &str| entries.get(key).is_some_and(|value| first(value) == '"');
    let records = || {
        let list = entries.get(MESSAGES).filter(|list| first(list) == '[')?;
        up_to(list, MAX_ITEMS).ok()
    };
    let is_record = |raw: &&RawValue| {
        value_of(raw, "type", '"').is_some() && value_of(raw, "role", '"').is_none()
    };
    has("sessionId")
        && (has("projectHash") || has("startTime"))
        && records().is_some_and(|records| records.iter().all(is_record))
}

/// Reads a session.
pub(super) fn read(
    input: &Input,
    item: &RawValue,
    form: Form,
    place: (usize, usize),
    at: Timestamp,
) -> Result<Draft, Failure> {
    let envelope: JsonMap =
        serde_json::from_str(item.get()).map_err(|error| input.syntax(item.get(), error))?;
    let list = value_of(item, MESSAGES, '[')
        .ok_or_else(|| no_form(input, item.get(), "an object has no list of messages"))?;
    let records = items(input, list)?;
    let (mut nodes, mut diagnostics) = (Vec::new(), Vec::new());
    let time = |raw, key| value_of(raw, key, '"').and_then(time_of);
    let mut now = time(item, "startTime").unwrap_or(at);
    for raw in records {
        now = time(raw, "timestamp").unwrap_or(now);
        for message in messages(raw, nodes.len() + 1, &mut diagnostics) {
            nodes.push(Node::new(format!("m{}", nodes.len() + 1), message, now));
        }
    }
    let tree = Tree::of_chain(nodes).map_err(Error::from)?;
    let source = Source::new(&input.name, Codec::GeminiCli, form, place)
        .in_envelope(Some((MESSAGES, envelope)));
    let title = title(tree.nodes());
    Ok(Draft { source, title, tree, diagnostics })
}

/// Returns the messages of a record. `number` is that of the first one.
fn messages(raw: &RawValue, number: usize, diagnostics: &mut Vec<Diagnostic>) -> Vec<Message> {
    if let Some((mut messages, mut mark)) = record::read(raw) {
        let original = Json::from(raw.to_owned());
        let plain = record::written(&messages.iter().collect::<Vec<_>>(), mark.parts);
        mark.patch = JsonPatch::between(&plain, &original).map(JsonPatch::into_json);
        let mut marks = std::iter::once(mark)
            .chain(std::iter::repeat_with(|| Mark { continues: true, ..Mark::default() }));
        for message in &mut messages {
            message.metadata.insert(KEY, marks.next().unwrap_or_default().to_json());
        }
        return messages;
    }
    let kind = value_of(raw, "type", '"').and_then(text_of).unwrap_or_else(|| "record".to_owned());
    if ["user", "gemini"].contains(&kind.as_str()) {
        let said = "it cannot be read: it is kept, and no provider gets it";
        diagnostics.push(note(DiagnosticCode::Unrepresentable, format!("m{number}"), said));
    }
    let part = data(format!("{KEY}.{kind}"), Json::from(raw.to_owned()).compact());
    let metadata = Metadata::default().with(KEY, Mark::default().to_json());
    vec![Message::new(Role::System, [part]).with_metadata(metadata)]
}
