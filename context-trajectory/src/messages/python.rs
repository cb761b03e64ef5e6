//! JSON in the form of Python's `json.dumps` with sorted keys and unescaped non-ASCII characters,
//! which is common in prompts.

use context_codec_kit::wire::{Entries, raw_kind, raw_text};
use serde_json::value::RawValue;

/// The largest nesting depth that is rewritten. Deeper values are copied as they were written.
const MAX_DEPTH: usize = 64;

/// Appends a value. Numbers keep their digits.
pub(super) fn write(out: &mut String, value: &RawValue) {
    write_at(out, value, 0);
}

/// Appends a quoted string.
pub(super) fn write_text(out: &mut String, text: &str) {
    out.push_str(&serde_json::to_string(text).expect("a text prints as JSON"));
}

fn write_at(out: &mut String, value: &RawValue, depth: usize) {
    let written = value.get();
    let done = match raw_kind(value) {
        _ if depth > MAX_DEPTH => false,
        "a string" => match raw_text(value) {
            Some(text) => {
                write_text(out, &text);
                true
            }
            None => false,
        },
        "a list" => match serde_json::from_str::<Vec<&RawValue>>(written) {
            Ok(items) => {
                out.push('[');
                for (i, item) in items.into_iter().enumerate() {
                    out.push_str(if i == 0 { "" } else { ", " });
                    write_at(out, item, depth + 1);
                }
                out.push(']');
                true
            }
            Err(_) => false,
        },
        "an object" => match serde_json::from_str::<Entries<'_>>(written) {
            Ok(entries) => {
                let mut entries: Vec<_> = entries.into_iter().collect();
                entries.sort_unstable_by(|(a, _), (b, _)| a.0.cmp(&b.0));
                out.push('{');
                for (i, (key, value)) in entries.into_iter().enumerate() {
                    out.push_str(if i == 0 { "" } else { ", " });
                    write_text(out, &key.0);
                    out.push_str(": ");
                    write_at(out, value, depth + 1);
                }
                out.push('}');
                true
            }
            Err(_) => false,
        },
        _ => false,
    };
    if !done {
        out.push_str(written);
    }
}
