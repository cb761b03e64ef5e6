//! Sessions of the Codex CLI, which it calls rollouts: JSON Lines of messages and events.
//!
//! | file | chat |
//! |---|---|
//! | `{"timestamp": …, "type": "response_item", "payload": …}` | a message; the payload is an OpenAI Responses item |
//! | an item as a line, in older versions | the same |
//! | all other lines: `session_meta`, `turn_context`, `event_msg`, `compacted` | kept in the [sidecar](crate::sidecar) with their line number |
//! | the first `user_message` event | the title; without one, the first user message is used |
//!
//! A file is one chat. Consecutive items are read together, so everything the model did in one turn
//! is one message, and so are the results of its calls. Ids are `line-` followed by the number of a
//! message's first line. An item that cannot be read becomes an application message without text:
//! it keeps its position, and no provider gets it.
//!
//! The original lines are in the metadata of a message, under [`KEY`]: a list of
//! `{"line": number, "rest": {…}}`, one per item, with null in place of the payload. Export is
//! therefore exact, whatever else a line contains.

mod write;

use std::sync::Arc;

use context_core::base::{DiagnosticCode, JsonMap};
use context_core::{Diagnostic, Json, Message, Metadata, Node, Role, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub(crate) use self::write::write;
use crate::chat::{TranscriptChat, data, title, title_of, warning};
use crate::list_codec::ListCodec;
use crate::raw::{Entries, entries, first, text_of};
use crate::read::{PROBED, ReadTranscript, Value, unknown_form};
use crate::sidecar::{self, SidecarEntry};
use crate::time::time_of;
use crate::{
    FileLayout, FileText, FormProblem, Format, TranscriptError, TranscriptSource, Tree, detect,
};

/// The metadata key for the original lines of a message.
pub(crate) const KEY: &str = "codex";
/// The type of lines whose payload is an item.
const ITEM: &str = "response_item";
/// The types of lines.
const TYPES: [&str; 5] = ["session_meta", ITEM, "event_msg", "turn_context", "compacted"];

/// The original line of a message.
#[derive(Debug, Serialize, Deserialize)]
struct OriginalLine {
    /// The line number, from 1.
    line: usize,
    /// The other keys of the line, with null for the payload. `None` if the message holds the whole
    /// line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rest: Option<JsonMap>,
}

impl OriginalLine {
    /// Returns the metadata of a message that holds the whole line.
    fn holding_line(line: usize) -> Metadata {
        Metadata::default().with(KEY, Self::to_json(&[Self { line, rest: None }]))
    }

    fn to_json(lines: &[Self]) -> Json {
        Json::from_serialize(lines).expect("text keys and JSON values")
    }
}

/// A line that is an item.
struct Item<'a> {
    raw: &'a RawValue,
    line: OriginalLine,
    at: Timestamp,
}

/// Returns whether a line was written by the Codex CLI.
pub(crate) fn is_line(raw: &RawValue) -> bool {
    entries(raw)
        .is_some_and(|entries| kind(&entries).is_some_and(|kind| TYPES.contains(&kind.as_str())))
}

/// Returns the type of a line with a payload.
fn kind(entries: &Entries<'_>) -> Option<String> {
    let has =
        |key: &str, begins: char| entries.get(key).is_some_and(|value| first(value) == begins);
    if !has("timestamp", '"') || !has("payload", '{') {
        return None;
    }
    text_of(entries.get("type")?)
}

/// Returns whether lines are a rollout. Either one of the first lines has the current form, or the
/// file has the older form: a line about the session, followed by items.
pub(crate) fn is_rollout(values: &[Value<'_>]) -> bool {
    let is_old = || {
        let [start, next, ..] = values else { return false };
        let (Some(start), Some(next)) = (entries(start.raw), entries(next.raw)) else {
            return false;
        };
        let is_session = ["id", "timestamp"].iter().all(|key| start.contains_key(*key))
            && ["type", "role", "messages"].iter().all(|key| !start.contains_key(*key));
        is_session && (next.contains_key("record_type") || is_old_item(&next))
    };
    values.iter().take(PROBED).any(|value| is_line(value.raw)) || is_old()
}

/// Returns whether a line without payload is an item.
fn is_old_item(entries: &Entries<'_>) -> bool {
    let kind = entries.get("type").and_then(|kind| text_of(kind)).unwrap_or_default();
    kind == "message" && entries.contains_key("role") || detect::is_item_type(entries)
}

/// Reads the session of a file.
pub(crate) fn read(
    file: &FileText,
    values: Vec<Value<'_>>,
    at: Timestamp,
) -> Result<ReadTranscript, TranscriptError> {
    let mut read = ReadTranscript::default();
    let format = Format::Codex;
    let (mut nodes, mut diagnostics) = (Vec::new(), Vec::new());
    let (mut run, mut others, mut question) = (Vec::new(), Vec::new(), None);
    // Lines before the first timestamp get that timestamp.
    let time = |raw| entries(raw)?.get("timestamp").and_then(|time| time_of(time));
    let mut now = values.iter().find_map(|value| time(value.raw)).unwrap_or(at);
    for Value { line, raw } in values {
        let Some(entries) = entries(raw) else {
            let problem = FormProblem::LineNotObject;
            read.broken.push(line, unknown_form(file, raw.get(), Some(format), problem));
            continue;
        };
        now = entries.get("timestamp").and_then(|time| time_of(time)).unwrap_or(now);
        let (item, rest) = match kind(&entries) {
            Some(kind) if kind == ITEM => (entries.get("payload").copied(), Some(rest(raw))),
            None if is_old_item(&entries) => (Some(raw), None),
            _ => (None, None),
        };
        let Some(item) = item else {
            question = question.or_else(|| question_of(&entries));
            others.push(SidecarEntry { at: line, value: Json::from(raw.to_owned()).compact() });
            continue;
        };
        match problem(item) {
            None => {
                run.push(Item { raw: item, line: OriginalLine { line, rest }, at: now });
            }
            Some(problem) => {
                close(&mut run, &mut nodes, &mut diagnostics);
                diagnostics.push(warning(
                    DiagnosticCode::Unrepresentable,
                    format!("line {line}"),
                    problem,
                ));
                let part = data(format!("{KEY}.line"), Json::from(raw.to_owned()).compact());
                let message = Message::new(Role::System, [part])
                    .with_metadata(OriginalLine::holding_line(line));
                nodes.push(Node::new(format!("line-{line}"), message, now));
            }
        }
    }
    close(&mut run, &mut nodes, &mut diagnostics);
    if nodes.is_empty() && others.is_empty() {
        return Ok(read);
    }
    let no_tree = |source| file.tree_error(format, source);
    let mut tree = Tree::of_chain(nodes).map_err(no_tree)?;
    let mut source = TranscriptSource::new(file.name(), format, FileLayout::MixedLines, (0, 1));
    let name = |_: &SidecarEntry| format!("{KEY}.line");
    let id = |entry: &SidecarEntry| format!("line-{}", entry.at);
    let metadata = |entry: &SidecarEntry| OriginalLine::holding_line(entry.at);
    source.sidecar = sidecar::store(others, &mut tree, name, metadata, id, at).map_err(no_tree)?;
    let title = question.or_else(|| title(tree.nodes()));
    read.chats.push(TranscriptChat { source, title, tree, diagnostics });
    Ok(read)
}

/// Returns the reason why an item cannot be read, if it cannot.
fn problem(item: &RawValue) -> Option<String> {
    match ListCodec::RESPONSES.lift(&[item]) {
        Ok((messages, _)) if count(&messages) == 1 => None,
        Ok(_) => Some("it is not a message: it is kept unchanged".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

/// Returns the number of items that messages are written as.
fn count(messages: &[Arc<Message>]) -> usize {
    ListCodec::RESPONSES.lower_source(messages.to_vec()).0.len()
}

/// Converts consecutive items to messages.
fn close(run: &mut Vec<Item<'_>>, nodes: &mut Vec<Node>, diagnostics: &mut Vec<Diagnostic>) {
    let items = std::mem::take(run);
    let raws: Vec<_> = items.iter().map(|item| item.raw).collect();
    let (mut messages, mut lost) = ListCodec::RESPONSES.lift(&raws).unwrap_or_default();
    let mut counts: Vec<_> =
        messages.iter().map(|message| count(std::slice::from_ref(message))).collect();
    if counts.iter().sum::<usize>() != items.len() {
        // Each item is known to be readable on its own.
        let alone = raws.iter().filter_map(|raw| ListCodec::RESPONSES.lift(&[raw]).ok());
        (messages, lost) =
            alone.fold((Vec::new(), Vec::new()), |(mut all, mut notes), (messages, lost)| {
                all.extend(messages);
                notes.extend(lost);
                (all, notes)
            });
        counts = vec![1; messages.len()];
    }
    let from = items.first().map_or(0, |item| item.line.line);
    diagnostics.extend(lost.into_iter().map(|diagnostic| {
        warning(diagnostic.code, format!("line {from} and following"), diagnostic.message)
    }));
    let mut items = items.into_iter();
    for (message, count) in messages.into_iter().zip(counts) {
        let mut message = Arc::unwrap_or_clone(message);
        let of_message: Vec<_> = items.by_ref().take(count).collect();
        let Some(Item { at, line: OriginalLine { line, .. }, .. }) = of_message.first() else {
            continue;
        };
        let (id, at) = (format!("line-{line}"), *at);
        let lines: Vec<_> = of_message.into_iter().map(|item| item.line).collect();
        message.metadata.insert(KEY, OriginalLine::to_json(&lines));
        nodes.push(Node::new(id, message, at));
    }
}

/// Returns a line with null in place of its payload.
fn rest(raw: &RawValue) -> JsonMap {
    let map: JsonMap = serde_json::from_str(raw.get()).unwrap_or_default();
    let without = |(key, value): (String, Json)| {
        let value = if key == "payload" { serde_json::Value::Null.into() } else { value.compact() };
        (key, value)
    };
    map.into_iter().map(without).collect()
}

/// Returns the user's question if the line is the event that contains it.
fn question_of(line: &Entries<'_>) -> Option<String> {
    let event = entries(line.get("payload")?)?;
    if text_of(event.get("type")?)? != "user_message" {
        return None;
    }
    title_of(&text_of(event.get("message")?)?)
}
