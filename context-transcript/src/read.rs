//! Reading a file: which format it has, and its conversations.

use context_core::Timestamp;
use serde_json::value::RawValue;

use crate::chat::TranscriptChat;
use crate::{
    BrokenLines, FileText, FormProblem, Format, TranscriptError, claude_code, codex, flat, forms,
    lists, records,
};

/// The number of lines inspected to detect the format of a file.
pub(crate) const PROBED: usize = 64;

/// The content of a file.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ReadTranscript {
    /// The conversations in order.
    pub chats: Vec<TranscriptChat>,
    /// The lines that could not be read.
    pub broken: BrokenLines,
}

/// A value with its line number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value<'a> {
    pub(crate) line: usize,
    pub(crate) raw: &'a RawValue,
}

/// Reads the conversations of a file. Without a format, the format is detected by features that
/// only one format has; messages that several formats allow are read as OpenAI Chat Completions.
/// Messages without a time of their own get `at`.
///
/// A line of JSON Lines that cannot be read does not affect the others; it is in
/// [`ReadTranscript::broken`]. Any other file is read completely or refused, and so is a file
/// without a single valid line. At most a million lines or list entries are read.
pub fn read(
    file: &FileText,
    format: Option<Format>,
    at: Timestamp,
) -> Result<ReadTranscript, TranscriptError> {
    let mut read = match is_lines(file, format)? {
        true => read_lines(file, format, at)?,
        false => {
            file.check_utf8()?;
            let raw = parse(file, file.text())?;
            let alone = || vec![Value { line: file.line_of(raw.get()), raw }];
            if format.is_none() && claude_code::is_line(raw) {
                claude_code::read(file, alone(), at)?
            } else if format.is_none() && codex::is_line(raw) {
                codex::read(file, alone(), at)?
            } else {
                flat::read_whole(file, raw, format, at)?
            }
        }
    };
    if read.chats.is_empty() {
        std::mem::take(&mut read.broken).into_result()?;
    }
    Ok(read)
}

/// Returns the lines that are not blank, numbered from 1.
fn lines(file: &FileText) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(file.text().split('\n')).filter(|(_, text)| !text.trim().is_empty())
}

/// Returns whether the file is JSON Lines: by its name, or because its first line is a complete
/// value and not the last line.
fn is_lines(file: &FileText, format: Option<Format>) -> Result<bool, TranscriptError> {
    let mut lines = lines(file);
    let Some((_, first)) = lines.next() else {
        return Err(unknown_form(file, file.text(), format, FormProblem::Empty));
    };
    let named = [".jsonl", ".ndjson"].iter().any(|end| file.name().to_lowercase().ends_with(end));
    let mut looks = || lines.next().is_some() && serde_json::from_str::<&RawValue>(first).is_ok();
    Ok(named || matches!(format, Some(Format::ClaudeCode | Format::Codex | Format::Pi)) || looks())
}

fn read_lines(
    file: &FileText,
    format: Option<Format>,
    at: Timestamp,
) -> Result<ReadTranscript, TranscriptError> {
    let (mut values, mut broken) = (Vec::new(), BrokenLines::default());
    for (line, text) in lines(file) {
        match file.check_line(line).and_then(|()| parse(file, text)) {
            Ok(_) if values.len() == lists::MAX_ITEMS => return Err(lists::too_many(file)),
            Ok(raw) => values.push(Value { line, raw }),
            Err(error) => broken.push(line, error),
        }
    }
    let probe =
        |is_line: fn(&RawValue) -> bool| values.iter().take(PROBED).any(|value| is_line(value.raw));
    let (is_session, is_rollout) = match format {
        None => (probe(claude_code::is_line), codex::is_rollout(&values)),
        Some(format) => (format == Format::ClaudeCode, format == Format::Codex),
    };
    let records = match format {
        None if is_session || is_rollout => None,
        named => forms::of_lines(named, &values),
    };
    let mut read = match (values.is_empty(), records) {
        (true, _) => ReadTranscript::default(),
        (false, Some((form, title))) => records::read_lines(form, file, values, title, at)?,
        _ if is_rollout => codex::read(file, values, at)?,
        _ if is_session => claude_code::read(file, values, at)?,
        _ => flat::read_lines(file, values, format, at)?,
    };
    read.broken.append(broken);
    Ok(read)
}

/// Returns the error for a part of the file that has no form that is known.
pub(crate) fn unknown_form(
    file: &FileText,
    part: &str,
    format: Option<Format>,
    problem: FormProblem,
) -> TranscriptError {
    let (line, file) = (file.line_of(part), file.shown().to_owned());
    TranscriptError::UnknownForm { file, line, format, problem }
}

fn parse<'a>(file: &FileText, part: &'a str) -> Result<&'a RawValue, TranscriptError> {
    serde_json::from_str(part).map_err(|error| file.syntax_error(part, error))
}
