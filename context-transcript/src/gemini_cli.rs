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

mod record;
mod write;

use context_codec_kit::JsonPatch;
use context_core::base::{DiagnosticCode, JsonMap};
use context_core::{Diagnostic, Json, Message, Metadata, Node, Role, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub(crate) use self::write::write;
use crate::chat::{TranscriptChat, data, title, warning};
use crate::lists::{MAX_ITEMS, first_entries, items};
use crate::raw::{entries, first, text_of, value_of};
use crate::read::unknown_form;
use crate::time::time_of;
use crate::{FileLayout, FileText, FormProblem, Format, TranscriptError, TranscriptSource, Tree};

/// The metadata key for the original record of a message.
pub(crate) const KEY: &str = "gemini-cli";
/// The key of the records.
const MESSAGES: &str = "messages";

/// The original record of messages.
#[derive(Debug, Default, Serialize, Deserialize)]
struct OriginalRecord {
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

impl OriginalRecord {
    fn of(message: &Message) -> Option<Self> {
        message.metadata.get(KEY)?.parse().ok()
    }

    fn to_json(&self) -> Json {
        Json::from_serialize(self).expect("text keys and JSON values")
    }
}

/// Returns whether a value is a session.
pub(crate) fn is_session(item: &RawValue) -> bool {
    let Some(entries) = entries(item) else { return false };
    let has = |key: &str| entries.get(key).is_some_and(|value| first(value) == '"');
    let records = || {
        let list = entries.get(MESSAGES).filter(|list| first(list) == '[')?;
        first_entries(list, MAX_ITEMS).ok()
    };
    let is_record = |raw: &&RawValue| {
        value_of(raw, "type", '"').is_some() && value_of(raw, "role", '"').is_none()
    };
    has("sessionId")
        && (has("projectHash") || has("startTime"))
        && records().is_some_and(|records| records.iter().all(is_record))
}

/// Reads a session.
pub(crate) fn read(
    file: &FileText,
    item: &RawValue,
    layout: FileLayout,
    position: (usize, usize),
    at: Timestamp,
) -> Result<TranscriptChat, TranscriptError> {
    let format = Format::GeminiCli;
    let envelope: JsonMap =
        serde_json::from_str(item.get()).map_err(|error| file.syntax_error(item.get(), error))?;
    let list = value_of(item, MESSAGES, '[')
        .ok_or_else(|| unknown_form(file, item.get(), Some(format), FormProblem::NoMessages))?;
    let records = items(file, list)?;
    let (mut nodes, mut diagnostics) = (Vec::new(), Vec::new());
    let time = |raw, key| value_of(raw, key, '"').and_then(time_of);
    let mut now = time(item, "startTime").unwrap_or(at);
    for raw in records {
        now = time(raw, "timestamp").unwrap_or(now);
        for message in messages(raw, nodes.len() + 1, &mut diagnostics) {
            nodes.push(Node::new(format!("m{}", nodes.len() + 1), message, now));
        }
    }
    let tree = Tree::of_chain(nodes).map_err(|source| file.tree_error(format, source))?;
    let source = TranscriptSource::new(file.name(), format, layout, position)
        .in_envelope(Some((MESSAGES, envelope)));
    let title = title(tree.nodes());
    Ok(TranscriptChat { source, title, tree, diagnostics })
}

/// Returns the messages of a record. `number` is that of the first one.
fn messages(raw: &RawValue, number: usize, diagnostics: &mut Vec<Diagnostic>) -> Vec<Message> {
    if let Some((mut messages, mut first)) = record::read(raw) {
        let whole = Json::from(raw.to_owned());
        let plain = record::to_json(&messages.iter().collect::<Vec<_>>(), first.parts);
        first.patch = JsonPatch::between(&plain, &whole).map(JsonPatch::into_json);
        let mut originals = std::iter::once(first).chain(std::iter::repeat_with(|| {
            OriginalRecord { continues: true, ..OriginalRecord::default() }
        }));
        for message in &mut messages {
            message.metadata.insert(KEY, originals.next().unwrap_or_default().to_json());
        }
        return messages;
    }
    let kind = value_of(raw, "type", '"').and_then(text_of).unwrap_or_else(|| "record".to_owned());
    if ["user", "gemini"].contains(&kind.as_str()) {
        let problem = "it cannot be read: it is kept, and no provider gets it";
        let path = format!("m{number}");
        diagnostics.push(warning(DiagnosticCode::Unrepresentable, path, problem));
    }
    let part = data(format!("{KEY}.{kind}"), Json::from(raw.to_owned()).compact());
    let metadata = Metadata::default().with(KEY, OriginalRecord::default().to_json());
    vec![Message::new(Role::System, [part]).with_metadata(metadata)]
}
