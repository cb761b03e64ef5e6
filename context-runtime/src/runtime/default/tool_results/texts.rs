//! The texts of results.

use context_core::{Message, Part, ToolResult};
use serde::de::IgnoredAny;

/// The replacement of an empty output. Providers refuse empty texts, and a model that is shown none
/// waits for the output.
const NOTHING: &str = "[no output]";
/// The replacement of an empty output of a failed call.
const NOTHING_BUT_FAILED: &str = "[failed without a message]";

/// Gives empty results a replacement text.
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
        Part::Text(text) => !text.text.is_blank(),
        // Application data is not sent.
        Part::Data(_) => false,
        _ => true,
    }
}

/// Replaces the first text of an output and removes the others. Other parts stay.
pub(super) fn replace(output: &mut Vec<Part>, text: String) {
    let at = output.iter().position(|part| matches!(part, Part::Text(_))).unwrap_or(0);
    output.retain(|part| !matches!(part, Part::Text(_)));
    output.insert(at, Part::text(text));
}

/// Returns the media type of a text for its blob.
pub(super) fn media_type(text: &str) -> &'static str {
    let is_json = text.trim_start().starts_with(['{', '['])
        && serde_json::from_str::<IgnoredAny>(text).is_ok();
    if is_json { "application/json" } else { "text/plain" }
}
