//! Sessions of the Codex CLI, which it calls rollouts: JSON Lines of messages and events.
//!
//! | file | chat |
//! |---|---|
//! | `{"timestamp": …, "type": "response_item", "payload": …}` | a message; the payload is an OpenAI Responses item |
//! | an item as a line, in older versions | the same |
//! | all other lines: `session_meta`, `turn_context`, `event_msg`, `compacted` | [kept](super::kept) with their line number |
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

use std::sync::Arc;

use context_runtime::transfer::Tree;
use context_runtime::{
    Diagnostic, DiagnosticCode, Error, Json, JsonMap, Message, Metadata, Part, Role, Timestamp,
    limits,
    store::{Node, NodeKind, Placed},
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::kept::{Kept, keep};
use super::source::{Form, Source};
use super::whole::Whole;
use super::{
    Codec, Draft, Entries, Reading, Value, data, detect, entries, first, no_form, note, text_of,
    time_of, title,
};
use crate::error::Failure;
use crate::input::Input;
use crate::text::{preview, time};

/// The metadata key for the original lines of a message.
pub(super) const KEY: &str = "codex";
/// The type of lines whose payload is an item.
const ITEM: &str = "response_item";
/// The types of lines.
const TYPES: [&str; 5] = ["session_meta", ITEM, "event_msg", "turn_context", "compacted"];

/// The original line of a message.
#[derive(Debug, Serialize, Deserialize)]
struct Mark {
    /// The line number, from 1.
    line: usize,
    /// The other keys of the line, with null for the payload. `None` if the message holds the whole
    /// line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rest: Option<JsonMap>,
}

impl Mark {
    /// Returns the metadata of a message that is not an item.
    fn note(line: usize) -> Metadata {
        Metadata::default().with(KEY, Self::to_json(&[Self { line, rest: None }]))
    }

    fn to_json(marks: &[Self]) -> Json {
        Json::from_serialize(marks).expect("text keys and JSON values")
    }
}

/// A line that is an item.
struct Item<'a> {
    raw: &'a RawValue,
    mark: Mark,
    at: Timestamp,
}

/// Returns whether a line was written by the Codex CLI.
pub(super) fn is_line(raw: &RawValue) -> bool {
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
pub(super) fn is_rollout(values: &[Value<'_>]) -> bool {
    let is_old = || {
        let [start, next, ..] = values else { return false };
        let (Some(start), Some(next)) = (entries(start.raw), entries(next.raw)) else {
            return false;
        };
        let is_session = ["id", "timestamp"].iter().all(|key| start.contains_key(*key))
            && ["type", "role", "messages"].iter().all(|key| !start.contains_key(*key));
        is_session && (next.contains_key("record_type") || is_old_item(&next))
    };
    values.iter().take(super::PROBED).any(|value| is_line(value.raw)) || is_old()
}

/// Returns whether a line without payload is an item.
fn is_old_item(entries: &Entries<'_>) -> bool {
    let kind = entries.get("type").and_then(|kind| text_of(kind)).unwrap_or_default();
    kind == "message" && entries.contains_key("role") || detect::is_item_type(entries)
}

/// Reads the session of a file.
pub(super) fn read(
    input: &Input,
    values: Vec<Value<'_>>,
    at: Timestamp,
) -> Result<Reading, Failure> {
    let mut reading = Reading::default();
    let (mut nodes, mut diagnostics) = (Vec::new(), Vec::new());
    let (mut run, mut kept, mut named) = (Vec::new(), Vec::new(), None);
    // Lines before the first timestamp get that timestamp.
    let time = |raw| entries(raw)?.get("timestamp").and_then(|time| time_of(time));
    let mut now = values.iter().find_map(|value| time(value.raw)).unwrap_or(at);
    for Value { line, raw } in values {
        let Some(entries) = entries(raw) else {
            reading.broken.push(line, no_form(input, raw.get(), "a line is no object"));
            continue;
        };
        now = entries.get("timestamp").and_then(|time| time_of(time)).unwrap_or(now);
        let (item, rest) = match kind(&entries) {
            Some(kind) if kind == ITEM => (entries.get("payload").copied(), Some(rest(raw))),
            None if is_old_item(&entries) => (Some(raw), None),
            _ => (None, None),
        };
        let Some(item) = item else {
            named = named.or_else(|| asked(&entries));
            kept.push(Kept { at: line, value: Json::from(raw.to_owned()).compact() });
            continue;
        };
        match problem(item) {
            None => run.push(Item { raw: item, mark: Mark { line, rest }, at: now }),
            Some(problem) => {
                close(&mut run, &mut nodes, &mut diagnostics);
                diagnostics.push(note(
                    DiagnosticCode::Unrepresentable,
                    format!("line {line}"),
                    problem,
                ));
                let part = data(format!("{KEY}.line"), Json::from(raw.to_owned()).compact());
                let message = Message::new(Role::System, [part]).with_metadata(Mark::note(line));
                nodes.push(Node::new(format!("line-{line}"), message, now));
            }
        }
    }
    close(&mut run, &mut nodes, &mut diagnostics);
    if nodes.is_empty() && kept.is_empty() {
        return Ok(reading);
    }
    let mut tree = Tree::of_chain(nodes).map_err(Error::from)?;
    let mut source = Source::new(&input.name, Codec::Codex, Form::MixedLines, (0, 1));
    let name = |_: &Kept| format!("{KEY}.line");
    let id = |kept: &Kept| format!("line-{}", kept.at);
    let kept = keep(kept, &mut tree, name, |kept| Mark::note(kept.at), id, at);
    source.kept = kept.map_err(Error::from)?;
    let title = named.or_else(|| title(tree.nodes()));
    reading.drafts.push(Draft { source, title, tree, diagnostics });
    Ok(reading)
}

/// Returns the reason why an item cannot be read, if it cannot.
fn problem(item: &RawValue) -> Option<String> {
    match Whole::RESPONSES.lift(&[item]) {
        Ok((messages, _)) if count(&messages) == 1 => None,
        Ok(_) => Some("it is no message: it is kept as it is".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

/// Returns the number of items that messages are written as.
fn count(messages: &[Arc<Message>]) -> usize {
    Whole::RESPONSES.lower_source(messages.to_vec()).0.len()
}

/// Converts consecutive items to messages.
fn close(run: &mut Vec<Item<'_>>, nodes: &mut Vec<Node>, diagnostics: &mut Vec<Diagnostic>) {
    let items = std::mem::take(run);
    let raws: Vec<_> = items.iter().map(|item| item.raw).collect();
    let (mut messages, mut said) = Whole::RESPONSES.lift(&raws).unwrap_or_default();
    let mut counts: Vec<_> =
        messages.iter().map(|message| count(std::slice::from_ref(message))).collect();
    if counts.iter().sum::<usize>() != items.len() {
        // Each item is known to be readable on its own.
        let alone = raws.iter().filter_map(|raw| Whole::RESPONSES.lift(&[raw]).ok());
        (messages, said) =
            alone.fold((Vec::new(), Vec::new()), |(mut all, mut notes), (messages, said)| {
                all.extend(messages);
                notes.extend(said);
                (all, notes)
            });
        counts = vec![1; messages.len()];
    }
    let from = items.first().map_or(0, |item| item.mark.line);
    diagnostics.extend(said.into_iter().map(|diagnostic| {
        note(diagnostic.code, format!("line {from} and following"), diagnostic.message)
    }));
    let mut items = items.into_iter();
    for (message, count) in messages.into_iter().zip(counts) {
        let mut message = Arc::unwrap_or_clone(message);
        let of_it: Vec<_> = items.by_ref().take(count).collect();
        let Some(Item { at, mark: Mark { line, .. }, .. }) = of_it.first() else { continue };
        let (id, at) = (format!("line-{line}"), *at);
        let marks: Vec<_> = of_it.into_iter().map(|item| item.mark).collect();
        message.metadata.insert(KEY, Mark::to_json(&marks));
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
fn asked(line: &Entries<'_>) -> Option<String> {
    let event = entries(line.get("payload")?)?;
    if text_of(event.get("type")?)? != "user_message" {
        return None;
    }
    let text = preview(&text_of(event.get("message")?)?, 60);
    (!text.is_empty() && text.len() <= limits::MAX_TITLE_BYTES).then_some(text)
}

/// Lines with their numbers.
type Lines = Vec<(usize, Json)>;

/// Returns the lines of a session with their numbers, in order, with later additions at the end.
pub(super) fn back(source: &Source, nodes: &[Placed]) -> Result<(Lines, Vec<Diagnostic>), Failure> {
    let mut lines: Lines = source.kept.iter().map(|kept| (kept.at, kept.value.clone())).collect();
    let (mut diagnostics, mut last, mut wraps) = (Vec::new(), 0, None);
    for placed in nodes.iter().filter(|placed| placed.node.kind != NodeKind::Boundary) {
        let message = placed.node.message().map_err(Error::from)?;
        let marks = message
            .metadata
            .get(KEY)
            .and_then(|json| json.parse::<Vec<Mark>>().ok())
            .unwrap_or_default();
        if let ([Mark { line, .. }], [Part::Data(data)]) =
            (marks.as_slice(), message.parts.as_slice())
        {
            last = *line;
            lines.push((last, data.value.clone()));
            continue;
        }
        let (items, said) = Whole::RESPONSES.lower_source(vec![Arc::clone(message)]);
        diagnostics.extend(said.into_iter().map(|mut diagnostic| {
            super::locate(&mut diagnostic, std::slice::from_ref(&placed.node.id));
            diagnostic
        }));
        if items.is_empty() {
            let id = placed.node.id.to_string();
            diagnostics.push(note(
                DiagnosticCode::Unrepresentable,
                id,
                "left out: it has no form here",
            ));
        }
        let mut marks = marks.into_iter();
        // Additional items of an edited message get the position of its last line.
        let (mut line, mut rest) = match placed.node.revision {
            0 => (usize::MAX, None),
            _ => (last, None),
        };
        for item in items {
            match marks.next() {
                Some(mark) => {
                    wraps = wraps.or(Some(mark.rest.is_some()));
                    (line, rest) = (mark.line, mark.rest);
                }
                None => rest = rest.or_else(|| wraps.unwrap_or(true).then(|| added(placed))),
            }
            last = line;
            let value = match rest.clone() {
                None => item,
                Some(mut rest) => {
                    rest.insert("payload".to_owned(), item);
                    Json::from_serialize(&rest).expect("text keys and JSON values")
                }
            };
            lines.push((line, value));
        }
    }
    lines.sort_by_key(|(line, _)| *line);
    Ok((lines, diagnostics))
}

/// Returns the line fields for an item that was in no file.
fn added(placed: &Placed) -> JsonMap {
    let time = time(placed.node.created_at);
    let entries = [("timestamp", time.as_str()), ("type", ITEM)];
    entries.into_iter().map(|(key, value)| (key.to_owned(), Json::from(value))).collect()
}
