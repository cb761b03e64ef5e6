//! Values in texts: ids, numbers, paths, addresses and names as programs write them.
//!
//! A value is a run of letters, digits and `_ - . / @ : # +` of 5 to 80 bytes, without punctuation
//! at its ends, that holds a digit, `_`, `@`, or a `/` or `.` between letters. So `HAT170`,
//! `mia_li_3668`, `src/fields.py` and `2024-05-20` are values; `flight` and `9:30` are not.

use std::borrow::Cow;

use context_runtime::{Message, Part};

const SHORTEST: usize = 5;
const LONGEST: usize = 80;

/// Returns the values of a text, each with the byte at which it begins.
pub(crate) fn values(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |c: char| c.is_alphanumeric() || "_-./@:#+".contains(c);
    text.split(move |c| !is_part(c)).filter_map(|run| {
        let value = run.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
        is_value(value).then(|| (value.as_ptr() as usize - text.as_ptr() as usize, value))
    })
}

fn is_value(word: &str) -> bool {
    let between_letters = || {
        let mut parts = word.split(['/', '.']).filter(|part| !part.is_empty());
        let has_letters = |part: &str| part.chars().any(char::is_alphabetic);
        parts.by_ref().take(2).filter(|part| has_letters(part)).count() == 2
    };
    (SHORTEST..=LONGEST).contains(&word.len())
        && (word.chars().any(|c| c.is_ascii_digit() || c == '_' || c == '@') || between_letters())
}

/// Returns up to `most` words in front of a byte of a text, in order: runs of letters on the same
/// or the previous line.
pub(crate) fn cue(text: &str, before: usize, most: usize) -> String {
    let from = text.floor_char_boundary(before.saturating_sub(120));
    let words = text[from..before].rsplit(|c: char| !c.is_alphabetic());
    let mut words: Vec<&str> = words.filter(|word| word.len() > 1).take(most).collect();
    words.reverse();
    words.join(" ")
}

/// Returns the texts of a message: of texts, of calls and of results, at any depth.
pub(crate) fn texts(message: &Message) -> Vec<Cow<'_, str>> {
    let mut texts = Vec::new();
    let mut left: Vec<&Part> = message.parts.iter().rev().collect();
    while let Some(part) = left.pop() {
        match part {
            Part::Text(text) => texts.push(Cow::Borrowed(text.text.as_str())),
            Part::ToolCall(call) => texts.push(Cow::Borrowed(call.input.as_written())),
            Part::ToolResult(result) => left.extend(result.output.iter().rev()),
            _ => {}
        }
    }
    texts
}
