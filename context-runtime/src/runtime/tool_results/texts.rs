//! The texts of results.

use std::borrow::Cow;

use context_core::message::is_blank;
use context_core::{Message, Part, ToolResult};
use serde::de::IgnoredAny;

/// What stands for an output that says nothing. Providers refuse empty texts, and a model that is
/// shown none waits for it.
const NOTHING: &str = "[no output]";
/// The same of a call that failed.
const NOTHING_BUT_FAILED: &str = "[failed without saying why]";

/// Gives results that say nothing a text that says so.
pub(super) fn fill_empty(message: &mut Message) {
    for part in &mut message.parts {
        let Part::ToolResult(result) = part else { continue };
        if result.output.iter().any(says_something) {
            continue;
        }
        let text = if result.is_error { NOTHING_BUT_FAILED } else { NOTHING };
        replace_blank(result, text);
    }
}

fn replace_blank(result: &mut ToolResult, text: &str) {
    result.output.retain(|part| !matches!(part, Part::Text(_)));
    result.output.insert(0, Part::text(text));
}

fn says_something(part: &Part) -> bool {
    match part {
        Part::Text(text) => !is_blank(&text.text),
        // Data of the application is not sent.
        Part::Data(_) => false,
        _ => true,
    }
}

/// The texts of an output as one, joined by line feeds; nothing if there is none.
pub(super) fn joined(output: &[Part]) -> Option<Cow<'_, str>> {
    let mut texts = output.iter().filter_map(|part| match part {
        Part::Text(text) => Some(&*text.text),
        _ => None,
    });
    let first = texts.next()?;
    Some(texts.fold(Cow::Borrowed(first), |mut all, text| {
        let joined = all.to_mut();
        joined.push('\n');
        joined.push_str(text);
        all
    }))
}

/// Puts one text in the place of the first one of an output and leaves the others out. What is no
/// text stays.
pub(super) fn replace(output: &mut Vec<Part>, text: String) {
    let at = output.iter().position(|part| matches!(part, Part::Text(_))).unwrap_or(0);
    output.retain(|part| !matches!(part, Part::Text(_)));
    output.insert(at, Part::text(text));
}

/// What a text is, as a blob says it.
pub(super) fn media_type(text: &str) -> &'static str {
    let is_json = text.trim_start().starts_with(['{', '['])
        && serde_json::from_str::<IgnoredAny>(text).is_ok();
    if is_json { "application/json" } else { "text/plain" }
}
