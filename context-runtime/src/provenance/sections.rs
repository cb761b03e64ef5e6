//! The texts of a message, and the strings and numbers in those that are JSON.

use std::borrow::Cow;
use std::ops::Range;

use context_core::message::ToolInput;
use context_core::{Message, Part, ToolCall, ToolResult};
use serde::de::IgnoredAny;

use super::tokens::floor;

/// Maximum number of bytes of a text that are searched for values.
pub(super) const MAX_TEXT: usize = 256 * 1024;

/// A text of a message.
#[derive(Clone, Copy)]
pub(super) struct Section<'m> {
    pub(super) place: SectionPlace<'m>,
    pub(super) text: &'m str,
    /// Whether the text is valid JSON.
    pub(super) is_json: bool,
}

/// The part of the message that holds a text.
#[derive(Clone, Copy)]
pub(super) enum SectionPlace<'m> {
    Text,
    Call(&'m ToolCall),
    Result(&'m ToolResult),
    Data(&'m str),
}

impl<'m> Section<'m> {
    pub(super) fn plain(place: SectionPlace<'m>, text: &'m str) -> Self {
        Self { place, text: &text[..floor(text, MAX_TEXT)], is_json: false }
    }

    fn json(place: SectionPlace<'m>, text: &'m str) -> Self {
        match text.len() > MAX_TEXT {
            true => Self::plain(place, text),
            false => Self { place, text, is_json: true },
        }
    }

    /// A text that a tool wrote, which is JSON more often than not.
    fn output(place: SectionPlace<'m>, text: &'m str) -> Self {
        let is_json = text.trim_start().starts_with(['{', '['])
            && text.len() <= MAX_TEXT
            && serde_json::from_str::<IgnoredAny>(text).is_ok();
        Self { is_json, ..Self::plain(place, text) }
    }
}

/// Returns the texts of a message, in order. Reasoning, ids and media are left out.
pub(super) fn sections(message: &Message) -> Vec<Section<'_>> {
    let mut all = Vec::with_capacity(message.parts.len());
    for part in &message.parts {
        match part {
            Part::Text(text) => all.push(Section::plain(SectionPlace::Text, &text.text)),
            Part::ToolCall(call) => {
                let place = SectionPlace::Call(call);
                all.push(match &call.input {
                    ToolInput::Json(json) => Section::json(place, json.as_str()),
                    ToolInput::Invalid(text) => Section::plain(place, text),
                });
            }
            Part::ToolResult(result) => {
                let place = SectionPlace::Result(result);
                // Results do not nest in practice, so what is deeper is left out.
                all.extend(result.output.iter().filter_map(|part| match part {
                    Part::Text(text) => Some(Section::output(place, &text.text)),
                    Part::Data(data) => Some(Section::json(place, data.value.as_str())),
                    _ => None,
                }));
            }
            Part::Data(data) => {
                all.push(Section::json(SectionPlace::Data(&data.name), data.value.as_str()));
            }
            _ => {}
        }
    }
    all
}

/// A string, number or key of a JSON text.
pub(super) struct Leaf<'a> {
    /// The text, unescaped.
    pub(super) text: Cow<'a, str>,
    /// The bytes of the text as it is written, without quotation marks.
    pub(super) written: Range<usize>,
    pub(super) kind: LeafKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LeafKind {
    Key,
    String,
    Number,
}

/// The position in a JSON text.
#[derive(Default)]
pub(super) struct Path<'a>(Vec<Step<'a>>);

enum Step<'a> {
    Key(Cow<'a, str>),
    Item(usize),
}

impl Path<'_> {
    /// Returns the position as a JSON pointer.
    pub(super) fn pointer(&self) -> String {
        let mut out = String::new();
        for step in &self.0 {
            out.push('/');
            match step {
                Step::Key(key) => out.push_str(&key.replace('~', "~0").replace('/', "~1")),
                Step::Item(number) => out.push_str(&number.to_string()),
            }
        }
        out
    }
}

/// Calls `found` with each string, number and key of a valid JSON text. It does not recurse, so
/// that no depth is too much.
pub(super) fn leaves<'a>(json: &'a str, found: &mut impl FnMut(&Path<'a>, Leaf<'a>)) {
    let bytes = json.as_bytes();
    let (mut path, mut key_next, mut at) = (Path::default(), false, 0);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'{' => {
                path.0.push(Step::Key(Cow::Borrowed("")));
                key_next = true;
            }
            b'[' => {
                path.0.push(Step::Item(0));
                key_next = false;
            }
            b'}' | b']' => {
                path.0.pop();
                key_next = false;
            }
            b',' => match path.0.last_mut() {
                Some(Step::Item(number)) => *number += 1,
                _ => key_next = true,
            },
            b'"' => {
                let end = string_end(bytes, at);
                let text = unescaped(&json[at - 1..(end + 1).min(json.len())]);
                let kind = if key_next { LeafKind::Key } else { LeafKind::String };
                if let (true, Some(Step::Key(key))) = (key_next, path.0.last_mut()) {
                    key.clone_from(&text);
                }
                found(&path, Leaf { text, written: at..end, kind });
                (at, key_next) = (end + 1, false);
            }
            b'-' | b'0'..=b'9' => {
                let digits =
                    |byte: &&u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
                let start = at - 1;
                at += bytes[at..].iter().take_while(digits).count();
                let text = Cow::Borrowed(&json[start..at]);
                found(&path, Leaf { text, written: start..at, kind: LeafKind::Number });
            }
            _ => {}
        }
    }
}

/// Returns the byte of the closing quotation mark.
fn string_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    loop {
        match bytes.get(at) {
            Some(b'\\') => at += 2,
            Some(b'"') | None => return at.min(bytes.len()),
            Some(_) => at += 1,
        }
    }
}

fn unescaped(quoted: &str) -> Cow<'_, str> {
    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    match inner.contains('\\') {
        true => serde_json::from_str(quoted).map_or(Cow::Borrowed(inner), Cow::Owned),
        false => Cow::Borrowed(inner),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_have_pointers_and_are_unescaped() {
        let json = r#" {"a/b": ["x\ty", {"c": -1.50}, true, null], "é": "", "n": {}} "#;
        let mut all = Vec::new();
        leaves(json, &mut |path, leaf| {
            let kind = ["key", "string", "number"][leaf.kind as usize];
            all.push(format!("{kind} {} {:?} {}", path.pointer(), leaf.text, &json[leaf.written]));
        });
        assert_eq!(
            all,
            [
                r#"key /a~1b "a/b" a/b"#,
                r#"string /a~1b/0 "x\ty" x\ty"#,
                r#"key /a~1b/1/c "c" c"#,
                r#"number /a~1b/1/c "-1.50" -1.50"#,
                r#"key /é "é" é"#,
                r#"string /é "" "#,
                r#"key /n "n" n"#,
            ]
        );
    }
}
