//! Reading of stored messages in the form that this crate writes.
//!
//! The general reader copies every part as raw JSON, parses that for its type, and then again for
//! its fields. Texts, calls and results that [`Message::encode`] wrote are read here in one pass.
//! Any other form, and anything malformed, is left to the general reader, so that both accept the
//! same bytes and report the same errors.

use std::io::{Error, ErrorKind, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::part::ToolInput;
use crate::base::json_string::plain_length;
use crate::{JsonString, Message, Metadata, Part, Role, ToolCall, ToolResult};

/// Reads a stored form, and returns whether the message is written with the same bytes again.
/// `None` if only the general reader can read it or say why it is malformed.
pub(super) fn read(bytes: &[u8]) -> Option<(Message, bool)> {
    let mut reader = Reader { rest: bytes, is_exact: true };
    let roles = [Role::User, Role::Assistant, Role::Tool, Role::System];
    let role = roles.into_iter().find(|role| reader.skip(Message::body_start(*role)))?;
    let parts = reader.parts(true)?;
    let mut metadata = Metadata::default();
    if reader.skip(br#","metadata":"#) {
        metadata = reader.compared()?;
        // Empty metadata are not written.
        reader.is_exact &= !metadata.is_empty();
    }
    let message = Message { role, parts, metadata };
    (reader.rest == b"}").then_some((message, reader.is_exact))
}

/// The bytes that are left to read.
#[derive(Clone, Copy)]
struct Reader<'a> {
    rest: &'a [u8],
    /// Whether all that was read is written with the same bytes again.
    is_exact: bool,
}

impl Reader<'_> {
    /// Reads these bytes, if they come next.
    fn skip(&mut self, expected: &[u8]) -> bool {
        let behind = self.rest.strip_prefix(expected);
        self.rest = behind.unwrap_or(self.rest);
        behind.is_some()
    }

    fn expect(&mut self, expected: &[u8]) -> Option<()> {
        self.skip(expected).then_some(())
    }

    /// Reads parts and the bracket behind them. Results in results are left to the general reader.
    fn parts(&mut self, with_results: bool) -> Option<Vec<Part>> {
        if self.skip(b"]") {
            return Some(Vec::new());
        }
        // Most messages have one part, and they are kept for long.
        let mut parts = Vec::with_capacity(1);
        loop {
            parts.push(self.part(with_results)?);
            if self.skip(b"]") {
                break;
            }
            self.expect(b",")?;
        }
        parts.shrink_to_fit();
        Some(parts)
    }

    fn part(&mut self, with_results: bool) -> Option<Part> {
        // Metadata, and fields in another order, are left to the general reader.
        let mut fast = *self;
        match fast.known_part(with_results) {
            Some(part) => {
                *self = fast;
                Some(part)
            }
            None => self.compared(),
        }
    }

    fn known_part(&mut self, with_results: bool) -> Option<Part> {
        self.expect(br#"{"type":""#)?;
        let part = if self.skip(br#"text","text":"#) {
            Part::text(self.json_string()?)
        } else if self.skip(br#"tool_call","id":"#) {
            let id = self.text()?;
            self.expect(br#","name":"#)?;
            let name = self.text()?;
            self.expect(br#","input":{"json":"#)?;
            let input = ToolInput::Json(self.value::<Box<RawValue>>()?.into());
            self.expect(b"}")?;
            Part::ToolCall(ToolCall { id, name, input, metadata: Metadata::default() })
        } else if with_results && self.skip(br#"tool_result","call_id":"#) {
            let call_id = self.text()?;
            let name = if self.skip(br#","name":"#) { Some(self.text()?) } else { None };
            self.expect(br#","output":["#)?;
            let output = self.parts(false)?;
            let is_error = self.skip(br#","is_error":true"#);
            let metadata = Metadata::default();
            Part::ToolResult(ToolResult { call_id, name, output, is_error, metadata })
        } else {
            return None;
        };
        self.expect(b"}")?;
        Some(part)
    }

    /// Reads a string.
    fn text(&mut self) -> Option<String> {
        let start = *self;
        self.expect(b"\"")?;
        let mut text = String::new();
        loop {
            let (plain, behind) = self.rest.split_at_checked(plain_length(self.rest))?;
            let plain = std::str::from_utf8(plain).ok()?;
            let (special, behind) = behind.split_first()?;
            self.rest = behind;
            match special {
                b'"' if text.is_empty() => return Some(plain.to_owned()),
                b'"' => {
                    text.push_str(plain);
                    text.shrink_to_fit();
                    return Some(text);
                }
                b'\\' => {}
                _ => return None,
            }
            let (escaped, behind) = behind.split_first()?;
            self.rest = behind;
            if text.is_empty() {
                // The length is known only at the end.
                text.reserve(plain.len() + behind.len().min(1024));
            }
            text.push_str(plain);
            text.push(match escaped {
                b'n' => '\n',
                b'"' => '"',
                b'\\' => '\\',
                b't' => '\t',
                b'r' => '\r',
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                _ => {
                    *self = start;
                    return self.compared();
                }
            });
        }
    }

    /// Reads the text of a part.
    fn json_string(&mut self) -> Option<JsonString> {
        match JsonString::read(self.rest) {
            Some((text, behind)) => {
                self.rest = behind;
                Some(text)
            }
            None => self.compared(),
        }
    }

    /// Reads a value and compares its bytes with what would be written.
    fn compared<T: DeserializeOwned + Serialize>(&mut self) -> Option<T> {
        let before = self.rest;
        let value = self.value()?;
        if self.is_exact {
            let mut same = Same(&before[..before.len() - self.rest.len()]);
            self.is_exact = serde_json::to_writer(&mut same, &value).is_ok() && same.0.is_empty();
        }
        Some(value)
    }

    /// Reads an object, a list or a string.
    fn value<T: DeserializeOwned>(&mut self) -> Option<T> {
        if !matches!(self.rest.first()?, b'{' | b'[' | b'"') {
            return None;
        }
        let mut values = serde_json::Deserializer::from_slice(self.rest).into_iter::<T>();
        let value = values.next()?.ok()?;
        self.rest = &self.rest[values.byte_offset()..];
        Some(value)
    }
}

/// Compares what is written with these bytes, and keeps those that are left.
struct Same<'a>(&'a [u8]);

impl Write for Same<'_> {
    fn write(&mut self, written: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.strip_prefix(written).ok_or(Error::from(ErrorKind::InvalidData))?;
        Ok(written.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
