//! Sessions of Claude Code: JSON Lines in which each line names its predecessor.
//!
//! | file | chat |
//! |---|---|
//! | the lines of one `sessionId` | one chat; a line without one belongs to the chat of the line it refers to, else of the line before it |
//! | a line with an Anthropic `message` | a message with `uuid` as id and `timestamp` as time |
//! | any other line with a `uuid` | an application message without text, which keeps its position and is sent to no provider |
//! | other lines: summaries, snapshots | kept in the [sidecar](crate::sidecar) with their line number |
//! | `parentUuid` | the predecessor; the message is a root if it is null or not in the session |
//! | no `parentUuid` in the whole session | each line follows the one before it, with side chains separate |
//! | several lines with the same predecessor | [branches](crate::branches) |
//! | `summary` of a line of the session | the title, the last one if there are several |
//!
//! Lines are never merged: an answer that was streamed as several lines with one `message.id`
//! becomes several messages. A line whose `uuid` occurred before does not become a message. It is
//! kept like a snapshot, with a diagnostic.
//!
//! The rest of a line is in the metadata of its message, under [`KEY`]:
//! `{"line": number, "rest": {…}}`, with null in place of the message. Export is therefore exact,
//! whatever else a line contains.

mod lines;
mod write;

use std::collections::{HashMap, HashSet};

use context_core::base::{DiagnosticCode, JsonMap, limits};
use context_core::{Diagnostic, Json, Message, Metadata, Node, Role, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use self::lines::{Entry, by_session};
pub(crate) use self::write::write;
use crate::branches::{self, BranchItem};
use crate::chat::{TranscriptChat, data, title, warning};
use crate::raw::entries;
use crate::read::{ReadTranscript, Value, unknown_form};
use crate::sidecar::{self, SidecarEntry};
use crate::{
    FileLayout, FileText, FormProblem, Format, TranscriptError, TranscriptSource, TreeError,
};

/// The metadata key for the original line of a message.
pub(crate) const KEY: &str = "claude-code";

/// The original line of a message.
#[derive(Debug, Serialize, Deserialize)]
struct OriginalLine {
    /// The line number, from 1.
    line: usize,
    /// The other keys of the line, with null for the message. `None` if the message holds the whole
    /// line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rest: Option<JsonMap>,
}

impl OriginalLine {
    fn metadata(&self) -> Metadata {
        Metadata::default()
            .with(KEY, Json::from_serialize(self).expect("text keys and JSON values"))
    }
}

/// Returns whether a line was written by Claude Code.
pub(crate) fn is_line(raw: &RawValue) -> bool {
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
pub(crate) fn read(
    file: &FileText,
    values: Vec<Value<'_>>,
    at: Timestamp,
) -> Result<ReadTranscript, TranscriptError> {
    let mut read = ReadTranscript::default();
    let mut all = Vec::with_capacity(values.len());
    for Value { line, raw } in values {
        match Entry::read(line, raw) {
            Some(entry) => all.push(entry),
            None => {
                let (format, problem) = (Some(Format::ClaudeCode), FormProblem::LineNotObject);
                read.broken.push(line, unknown_form(file, raw.get(), format, problem));
            }
        }
    }
    let sessions = by_session(all);
    let count = sessions.len();
    for (index, session) in sessions.into_iter().enumerate() {
        let (format, layout) = (Format::ClaudeCode, FileLayout::MixedLines);
        let source = TranscriptSource::new(file.name(), format, layout, (index, count));
        let chat = chat(source, session, at);
        read.chats.push(chat.map_err(|source| file.tree_error(format, source))?);
    }
    Ok(read)
}

/// Reads a session as a chat.
fn chat(
    mut source: TranscriptSource,
    session: Vec<Entry>,
    at: Timestamp,
) -> Result<TranscriptChat, TreeError> {
    let (mut placed, mut others, mut diagnostics) = (Vec::new(), Vec::new(), Vec::new());
    let mut ids: HashMap<String, usize> = HashMap::new();
    for entry in session {
        match entry.id() {
            Some(id) if ids.contains_key(&id) => {
                let problem = "an earlier line has its uuid: it is kept, but not as a message";
                diagnostics.push(misplaced(entry.line, problem));
                others.push(entry);
            }
            Some(id) => {
                ids.insert(id.clone(), placed.len());
                placed.push((id, entry));
            }
            None => others.push(entry),
        }
    }
    let mut items: Vec<BranchItem> = Vec::with_capacity(placed.len());
    for (_, entry) in &placed {
        let parent = entry.text("parentUuid").map(|parent| ids.get(&parent).copied());
        if parent == Some(None) {
            diagnostics
                .push(misplaced(entry.line, "its parent is not in its session: it becomes a root"));
        }
        items.push(BranchItem {
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
            .push(misplaced(placed[cut].1.line, "it is its own ancestor: it becomes a root"));
    }
    let summaries: Vec<_> = others.iter().filter_map(|entry| entry.summary_of(&ids)).collect();

    // Lines before the first timestamp get that timestamp.
    let mut time = placed.iter().find_map(|(_, entry)| entry.time()).unwrap_or(at);
    let mut nodes = Vec::with_capacity(placed.len());
    for (id, entry) in placed {
        time = entry.time().unwrap_or(time);
        nodes.push(vec![Node::new(id, message(&entry, &mut diagnostics), time)]);
    }
    let mut tree = branches::tree(&items, nodes, None)?;
    let in_file: HashSet<_> = ids.into_keys().collect();
    let others =
        others.into_iter().map(|entry| SidecarEntry { at: entry.line, value: entry.into_json() });
    source.sidecar = sidecar::store(
        others.collect(),
        &mut tree,
        |entry| format!("{KEY}.{}", lines::kind(&entry.value)),
        |entry| OriginalLine { line: entry.at, rest: None }.metadata(),
        |entry| lines::free_id(entry.at, &in_file),
        at,
    )?;
    let fits = |title: &String| !title.trim().is_empty() && title.len() <= limits::MAX_TITLE_BYTES;
    let title = summaries.into_iter().rfind(fits).or_else(|| title(tree.nodes()));
    Ok(TranscriptChat { source, title, tree, diagnostics })
}

fn misplaced(line: usize, problem: &str) -> Diagnostic {
    warning(DiagnosticCode::Misplaced, format!("line {line}"), problem)
}

/// Returns the message of a line: its Anthropic message, else the whole line as data.
fn message(entry: &Entry, diagnostics: &mut Vec<Diagnostic>) -> Message {
    if let Some(original) = entry.message() {
        match Format::ClaudeCode.lift(original) {
            Ok((mut message, lost)) => {
                for mut diagnostic in lost {
                    diagnostic.path = format!("line {} {}", entry.line, diagnostic.path);
                    diagnostics.push(diagnostic);
                }
                let metadata =
                    OriginalLine { line: entry.line, rest: Some(entry.rest()) }.metadata();
                for (key, value) in metadata.iter() {
                    message.metadata.insert(key, value.clone());
                }
                return message;
            }
            Err(error) => {
                let path = format!("line {}", entry.line);
                diagnostics.push(warning(DiagnosticCode::Unrepresentable, path, error.to_string()));
            }
        }
    }
    let part = data(format!("{KEY}.{}", entry.kind()), entry.to_json());
    Message::new(Role::System, [part])
        .with_metadata(OriginalLine { line: entry.line, rest: None }.metadata())
}
