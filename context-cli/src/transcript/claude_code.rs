//! Sessions of Claude Code: JSON Lines in which each line names its predecessor.
//!
//! | file | chat |
//! |---|---|
//! | the lines of one `sessionId` | one chat; a line without one belongs to the chat of the line it refers to, else of the line before it |
//! | a line with an Anthropic `message` | a message with `uuid` as id and `timestamp` as time |
//! | any other line with a `uuid` | an application message without text, which keeps its position and is sent to no provider |
//! | other lines: summaries, snapshots | [kept](super::kept) with their line number |
//! | `parentUuid` | the predecessor; the message is a root if it is null or not in the session |
//! | no `parentUuid` in the whole session | each line follows the one before it, with side chains separate |
//! | several lines with the same predecessor | [branches] |
//! | `summary` of a line of the session | the title, the last one if there are several |
//!
//! Lines are never merged: an answer that was streamed as several lines with one `message.id`
//! becomes several messages. A line whose `uuid` occurred before does not become a message. It is
//! kept like a snapshot, with a diagnostic.
//!
//! The rest of a line is in the metadata of its message, under [`KEY`]:
//! `{"line": number, "rest": {…}}`, with null in place of the message. Export is therefore exact,
//! whatever else a line contains.

mod back;
mod branches;
mod lines;

use std::collections::{HashMap, HashSet};

use context_runtime::transfer::Tree;
use context_runtime::{
    Diagnostic, DiagnosticCode, Json, JsonMap, Message, Metadata, Role, Timestamp, limits,
    store::Node,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub(super) use self::back::back;
use self::lines::{Entry, by_session};
use super::kept::{Kept, keep};
use super::source::{Form, Source};
use super::{Codec, Draft, Reading, Value, data, entries, no_form, note, title};
use crate::error::Failure;
use crate::input::Input;

/// The metadata key for the original line of a message.
pub(super) const KEY: &str = "claude-code";

/// The original line of a message.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Mark {
    /// The line number, from 1.
    pub(super) line: usize,
    /// The other keys of the line, with null for the message. `None` if the message holds the whole
    /// line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rest: Option<JsonMap>,
}

impl Mark {
    fn metadata(&self) -> Metadata {
        Metadata::default()
            .with(KEY, Json::from_serialize(self).expect("text keys and JSON values"))
    }
}

/// Returns whether a line was written by Claude Code.
pub(super) fn is_line(raw: &RawValue) -> bool {
    let Some(entries) = entries(raw) else { return false };
    let has = |keys: &[&str]| keys.iter().all(|key| entries.contains_key(*key));
    const SIGNS: [&[&str]; 5] = [
        &["uuid", "parentUuid"],
        &["uuid", "sessionId"],
        &["summary", "leafUuid"],
        &["sessionId", "timestamp"],
        &["messageId", "snapshot"],
    ];
    has(&["type"]) && !has(&["role"]) && SIGNS.iter().any(|keys| has(keys))
}

/// Reads the sessions of a file.
pub(super) fn read(
    input: &Input,
    values: Vec<Value<'_>>,
    at: Timestamp,
) -> Result<Reading, Failure> {
    let mut reading = Reading::default();
    let mut all = Vec::with_capacity(values.len());
    for Value { line, raw } in values {
        match Entry::read(line, raw) {
            Some(entry) => all.push(entry),
            None => reading.broken.push(line, no_form(input, raw.get(), "a line is no object")),
        }
    }
    let sessions = by_session(all);
    let of = sessions.len();
    for (index, session) in sessions.into_iter().enumerate() {
        let source = Source::new(&input.name, Codec::ClaudeCode, Form::MixedLines, (index, of));
        reading.drafts.push(draft(source, session, at).map_err(context_runtime::Error::from)?);
    }
    Ok(reading)
}

/// A line that becomes a message.
struct Item {
    line: usize,
    /// The index of the preceding item.
    parent: Option<usize>,
    is_side: bool,
    is_message: bool,
}

/// Reads a session as a chat.
fn draft(
    mut source: Source,
    session: Vec<Entry>,
    at: Timestamp,
) -> Result<Draft, context_runtime::transfer::TreeError> {
    let (mut placed, mut kept, mut diagnostics) = (Vec::new(), Vec::new(), Vec::new());
    let mut ids: HashMap<String, usize> = HashMap::new();
    for entry in session {
        match entry.id() {
            Some(id) if ids.contains_key(&id) => {
                let said = "its uuid is that of an earlier line: it is kept, not as a message";
                diagnostics.push(misplaced(entry.line, said));
                kept.push(entry);
            }
            Some(id) => {
                ids.insert(id.clone(), placed.len());
                placed.push((id, entry));
            }
            None => kept.push(entry),
        }
    }
    let mut items: Vec<Item> = Vec::with_capacity(placed.len());
    for (_, entry) in &placed {
        let parent = entry.text("parentUuid").map(|parent| ids.get(&parent).copied());
        if parent == Some(None) {
            diagnostics.push(misplaced(
                entry.line,
                "what it follows is not in its session: it begins anew",
            ));
        }
        items.push(Item {
            line: entry.line,
            parent: parent.flatten(),
            is_side: entry.is_true("isSidechain"),
            is_message: entry.has_message(),
        });
    }
    if placed.len() > 1 && placed.iter().all(|(_, entry)| entry.text("parentUuid").is_none()) {
        branches::chain(&mut items);
    }
    for cut in branches::cut_cycles(&mut items) {
        diagnostics
            .push(misplaced(items[cut].line, "it follows itself over other lines: it begins anew"));
    }
    let summaries: Vec<_> = kept.iter().filter_map(|entry| entry.summary_of(&ids)).collect();

    // Lines before the first timestamp get that timestamp.
    let mut time = placed.iter().find_map(|(_, entry)| entry.time()).unwrap_or(at);
    let (mut tree, mut places) = (Tree::default(), vec![0; items.len()]);
    let mut nodes: Vec<Option<Node>> = Vec::with_capacity(placed.len());
    for (id, entry) in placed {
        time = entry.time().unwrap_or(time);
        nodes.push(Some(Node::new(id, message(&entry, &mut diagnostics), time)));
    }
    for index in branches::parents_first(&items) {
        if let Some(node) = nodes[index].take() {
            places[index] = tree.add(node, items[index].parent.map(|parent| places[parent]))?;
        }
    }
    for (name, head) in branches::named(&items) {
        tree.branch(name, places[head])?;
    }
    let in_file: HashSet<_> = ids.into_keys().collect();
    let kept = kept.into_iter().map(|entry| Kept { at: entry.line, value: entry.into_json() });
    source.kept = keep(
        kept.collect(),
        &mut tree,
        |kept| format!("{KEY}.{}", lines::kind(&kept.value)),
        |kept| Mark { line: kept.at, rest: None }.metadata(),
        |kept| lines::free_id(kept.at, &in_file),
        at,
    )?;
    let fits = |title: &String| !title.trim().is_empty() && title.len() <= limits::MAX_TITLE_BYTES;
    let title = summaries.into_iter().rfind(fits).or_else(|| title(tree.nodes()));
    Ok(Draft { source, title, tree, diagnostics })
}

fn misplaced(line: usize, said: &str) -> Diagnostic {
    note(DiagnosticCode::Misplaced, format!("line {line}"), said)
}

/// Returns the message of a line: its Anthropic message, else the whole line as data.
fn message(entry: &Entry, diagnostics: &mut Vec<Diagnostic>) -> Message {
    if let Some(original) = entry.message() {
        match Codec::ClaudeCode.lift(original) {
            Ok((mut message, said)) => {
                for mut diagnostic in said {
                    diagnostic.path = format!("line {} {}", entry.line, diagnostic.path);
                    diagnostics.push(diagnostic);
                }
                let mark = Mark { line: entry.line, rest: Some(entry.rest()) }.metadata();
                for (key, value) in mark.iter() {
                    message.metadata.insert(key, value.clone());
                }
                return message;
            }
            Err(error) => {
                let path = format!("line {}", entry.line);
                diagnostics.push(note(DiagnosticCode::Unrepresentable, path, error.to_string()));
            }
        }
    }
    let part = data(format!("{KEY}.{}", entry.kind()), entry.to_json());
    Message::new(Role::System, [part])
        .with_metadata(Mark { line: entry.line, rest: None }.metadata())
}
