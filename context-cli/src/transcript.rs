//! The file formats of transcripts, for import and export.
//!
//! A file holds one conversation or several. A conversation is a list of messages, or an object
//! with such a list under `messages`, `history`, `traj`, `contents` or `input`; the rest of the
//! object is its envelope ([`flat`]). A conversation may also be a log: a session of Claude Code
//! ([`claude_code`]), the Codex CLI ([`codex`]) or the Gemini CLI ([`gemini_cli`]), or an answer
//! tree of ToolBench ([`toolbench`]). Several conversations are a list or JSON Lines; JSON Lines of
//! messages are one conversation. The properties of the file are stored with each chat as a
//! [`Source`], so that an export gives equal values.
//!
//! A line of JSON Lines that cannot be read does not affect the others: it is reported in
//! [`Reading::broken`], and the caller decides. Any other file is read completely or refused.

mod back;
mod broken;
mod claude_code;
mod codec;
mod codex;
mod detect;
mod flat;
mod gemini_cli;
mod items;
mod kept;
mod measures;
mod source;
mod toolbench;
mod whole;

use std::collections::HashMap;

use clap::ValueEnum;
use context_runtime::transfer::Tree;
use context_runtime::{Diagnostic, DiagnosticCode, Part, Role, Severity, Timestamp, store::Node};
use serde_json::value::RawValue;

pub(crate) use self::back::{Content, Exported, file, is_note, single, value};
pub(crate) use self::broken::{Broken, BrokenLines};
pub(crate) use self::codec::Codec;
pub(crate) use self::kept::BRANCH as SOURCE_BRANCH;
pub(crate) use self::measures::measures;
pub(crate) use self::source::Source;
pub(crate) use self::whole::{Whole, locate};
use crate::error::Failure;
use crate::input::Input;
use crate::text::preview;

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Wire {
    /// Find out
    Auto,
    /// OpenAI Chat Completions
    Openai,
    /// OpenAI Responses: items
    OpenaiResponses,
    /// Anthropic Messages
    Anthropic,
    /// Gemini: contents
    Gemini,
    /// UIMessages of the AI SDK
    Uimessage,
    /// Sessions of Claude Code
    ClaudeCode,
    /// Sessions of the Codex CLI
    Codex,
    /// Sessions of the Gemini CLI
    GeminiCli,
    /// Trajectories of SWE-agent
    SweAgent,
    /// Answer trees of ToolBench
    Toolbench,
    /// What `export --to jsonl` writes: whole chats, nothing lost
    Jsonl,
}

/// The content of a file.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// The conversations in order.
    pub(crate) drafts: Vec<Draft>,
    /// The lines that could not be read.
    pub(crate) broken: BrokenLines,
}

/// A chat that is ready to be written.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The properties of the file.
    pub(crate) source: Source,
    /// The title, for people.
    pub(crate) title: Option<String>,
    /// The messages and branches.
    pub(crate) tree: Tree,
    /// Content that was kept without being understood.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// A value with its line number.
#[derive(Clone, Copy, Debug)]
struct Value<'a> {
    line: usize,
    raw: &'a RawValue,
}

/// Reads the conversations of a file. Fails for a file without a single valid line.
pub(crate) fn read(input: &Input, from: Wire, at: Timestamp) -> Result<Reading, Failure> {
    let mut reading = match is_lines(input, from)? {
        true => read_lines(input, from, at)?,
        false => {
            input.all_text()?;
            let raw = parse(input, &input.text)?;
            let alone = || vec![Value { line: input.line_of(raw.get()), raw }];
            if from == Wire::Auto && claude_code::is_line(raw) {
                claude_code::read(input, alone(), at)?
            } else if from == Wire::Auto && codex::is_line(raw) {
                codex::read(input, alone(), at)?
            } else {
                flat::read_whole(input, raw, from, at)?
            }
        }
    };
    if reading.drafts.is_empty() {
        reading.broken = reading.broken.refused()?;
    }
    Ok(reading)
}

/// Returns the lines that are not blank, numbered from 1.
fn lines(input: &Input) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(input.text.split('\n')).filter(|(_, text)| !text.trim().is_empty())
}

/// Returns whether the file is JSON Lines: by its name, or because its first line is a complete
/// value and not the last line.
fn is_lines(input: &Input, from: Wire) -> Result<bool, Failure> {
    let mut lines = lines(input);
    let Some((_, first)) = lines.next() else {
        return Err(no_form(input, &input.text, "it is empty"));
    };
    let named = [".jsonl", ".ndjson"].iter().any(|end| input.name.to_lowercase().ends_with(end));
    let mut looks = || lines.next().is_some() && serde_json::from_str::<&RawValue>(first).is_ok();
    Ok(named || matches!(from, Wire::ClaudeCode | Wire::Codex) || looks())
}

fn read_lines(input: &Input, from: Wire, at: Timestamp) -> Result<Reading, Failure> {
    let (mut values, mut broken) = (Vec::new(), BrokenLines::default());
    for (line, text) in lines(input) {
        let parsed = match input.not_text.binary_search(&line) {
            Ok(_) => Err(input.no_text(line)),
            Err(_) => parse(input, text),
        };
        match parsed {
            Ok(_) if values.len() == items::MAX_ITEMS => return Err(items::too_many(input)),
            Ok(raw) => values.push(Value { line, raw }),
            Err(failure) => broken.push(line, failure),
        }
    }
    let probe =
        |is_line: fn(&RawValue) -> bool| values.iter().take(PROBED).any(|value| is_line(value.raw));
    let (is_session, is_rollout) = match from {
        Wire::Auto => (probe(claude_code::is_line), codex::is_rollout(&values)),
        from => (from == Wire::ClaudeCode, from == Wire::Codex),
    };
    let mut reading = match values.is_empty() {
        true => Reading::default(),
        false if is_rollout => codex::read(input, values, at)?,
        false if is_session => claude_code::read(input, values, at)?,
        false => flat::read_lines(input, values, from, at),
    };
    reading.broken.append(broken);
    Ok(reading)
}

/// The number of lines inspected to detect the format of a file.
const PROBED: usize = 64;

fn no_form(input: &Input, part: &str, problem: &'static str) -> Failure {
    Failure::Form { file: input.shown.clone(), line: input.line_of(part), problem }
}

fn parse<'a>(input: &Input, part: &'a str) -> Result<&'a RawValue, Failure> {
    serde_json::from_str(part).map_err(|error| input.syntax(part, error))
}

/// Returns the first character of a value, such as `{` or `[`.
fn first(raw: &RawValue) -> char {
    raw.get().chars().next().unwrap_or_default()
}

/// The entries of an object by key.
type Entries<'a> = HashMap<String, &'a RawValue>;

/// Returns the entries of an object, or `None` for any other value.
fn entries(raw: &RawValue) -> Option<Entries<'_>> {
    if first(raw) != '{' {
        return None;
    }
    serde_json::from_str(raw.get()).ok()
}

/// Returns the value of a key of an object, if it starts with this character.
fn value_of<'a>(raw: &'a RawValue, key: &str, begins: char) -> Option<&'a RawValue> {
    entries(raw)?.remove(key).filter(|value| first(value) == begins)
}

/// Returns the text of a value that is a string.
fn text_of(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// Returns the time of a value that is a timestamp string.
fn time_of(raw: &RawValue) -> Option<Timestamp> {
    timestamp(&text_of(raw)?)
}

fn timestamp(text: &str) -> Option<Timestamp> {
    let time: jiff::Timestamp = text.parse().ok()?;
    Some(Timestamp::from_micros(time.as_microsecond()))
}

/// Returns the start of the first user message.
fn title<'a>(nodes: impl IntoIterator<Item = &'a std::sync::Arc<Node>>) -> Option<String> {
    let mut texts = nodes
        .into_iter()
        .filter(|node| node.role() == Some(Role::User))
        .filter_map(|node| Some(preview(&node.message().ok()?.plain_text(), 60)));
    texts.find(|text| !text.is_empty())
}

/// Returns a warning about a message.
fn note(code: DiagnosticCode, path: String, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(code, Severity::Warning, path, message)
}

/// Returns a data part that only this program can read.
fn data(name: String, value: context_runtime::Json) -> Part {
    Part::Data(context_runtime::Data { name, value })
}

#[cfg(test)]
mod tests;
