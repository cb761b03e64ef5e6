//! The parts of a message in a Markdown document.

use std::fmt::{self, Write};

use context_core::message::{Media, MediaSource, Reasoning, data_url};
use context_core::{Part, ToolResult};

use super::escape::{code, fenced, inline, markdown};

/// The lines of a long result that are written, from its head and from its tail.
const HEAD_LINES: usize = 40;
const TAIL_LINES: usize = 15;
/// The bytes of them.
const HEAD_BYTES: usize = 4_000;
const TAIL_BYTES: usize = 2_000;

/// Writes a part that is neither a call nor a result.
pub(super) fn part(out: &mut impl Write, part: &Part) -> fmt::Result {
    match part {
        Part::Text(text) => {
            out.write_char('\n')?;
            markdown(out, &text.text)
        }
        Part::Reasoning(thought) => reasoning(out, thought),
        Part::Image(media) => self::media(out, "image", media),
        Part::Document(media) => self::media(out, "document", media),
        Part::Audio(media) => self::media(out, "audio", media),
        Part::Data(data) => {
            writeln!(out, "\nData {}:\n", code(&data.name))?;
            fenced(out, "json", data.value.as_str())
        }
        Part::Opaque(block) => writeln!(
            out,
            "\n*A block that only {} understands, {}*",
            inline(&block.provider),
            bytes(block.value.as_str().len())
        ),
        Part::Unknown(json) => {
            writeln!(out, "\n*A part of an unknown type, {}*", bytes(json.as_str().len()))
        }
        Part::ToolCall(_) | Part::ToolResult(_) => Ok(()),
        _ => writeln!(out, "\n*A part that is not written here*"),
    }
}

fn reasoning(out: &mut impl Write, thought: &Reasoning) -> fmt::Result {
    if thought.text.trim().is_empty() {
        let size = thought.encrypted.as_ref().map_or(0, |sealed| sealed.len());
        return match size {
            0 => Ok(()),
            size => writeln!(out, "\n*A thought that only the provider can read, {}*", bytes(size)),
        };
    }
    folded(out, "Thought", &mut |out: &mut dyn Write| {
        let mut text = String::new();
        markdown(&mut text, &thought.text)?;
        out.write_str(&text)
    })
}

/// Writes content that a reader unfolds.
pub(super) fn folded(
    out: &mut impl Write,
    summary: &'static str,
    content: &mut dyn FnMut(&mut dyn Write) -> fmt::Result,
) -> fmt::Result {
    write!(out, "\n<details>\n<summary>{summary}</summary>\n\n")?;
    content(out)?;
    writeln!(out, "\n</details>")
}

fn media(out: &mut impl Write, kind: &str, media: &Media) -> fmt::Result {
    let mut facts = vec![kind.to_owned()];
    facts.extend(media.name.as_deref().map(code));
    let (mut media_type, mut size) = (media.media_type.clone(), None);
    match &media.source {
        MediaSource::Base64(data) => size = Some(decoded(data)),
        MediaSource::Url(url) => match data_url(url) {
            Some((written, data)) => {
                media_type = media_type.or_else(|| Some(written.to_owned()));
                size = Some(decoded(data));
            }
            None if url.starts_with("data:") => size = Some(url.len()),
            None => facts.push(code(url)),
        },
        MediaSource::Reference(name) => facts.push(code(name)),
        _ => {}
    }
    facts.extend(media_type.as_deref().map(inline));
    facts.extend(size.map(bytes));
    writeln!(out, "\n*[{}]*", facts.join(", "))
}

/// Returns the number of bytes that Base64 stands for.
fn decoded(data: &str) -> usize {
    let digits = data.bytes().filter(|byte| !matches!(byte, b'=' | b'\n' | b'\r')).count();
    digits / 4 * 3 + digits % 4 * 3 / 4
}

/// Writes the result of a call. `facts` name its message.
pub(super) fn result(
    out: &mut impl Write,
    result: &ToolResult,
    facts: &str,
    in_full: bool,
) -> fmt::Result {
    let state = if result.is_error { "Failed" } else { "Result" };
    writeln!(out, "\n**{state}** {facts}")?;
    for each in &result.output {
        match each {
            Part::Text(text) => {
                out.write_char('\n')?;
                output(out, &text.text, in_full)?;
            }
            other => part(out, other)?,
        }
    }
    Ok(())
}

/// Writes an output: of a long one, head and tail.
fn output(out: &mut impl Write, text: &str, in_full: bool) -> fmt::Result {
    let is_json =
        text.starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    let language = if is_json { "json" } else { "" };
    let lines = text.lines().count();
    let short =
        lines <= HEAD_LINES + TAIL_LINES + 5 && text.len() <= HEAD_BYTES + TAIL_BYTES + 1_000;
    if in_full || short {
        return fenced(out, language, text);
    }
    let mut head =
        text.match_indices('\n').nth(HEAD_LINES - 1).map_or(text.len(), |(at, _)| at + 1);
    head = head.min(HEAD_BYTES);
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    let mut tail = text.trim_end_matches('\n').rmatch_indices('\n').nth(TAIL_LINES - 1);
    let mut tail = tail
        .take()
        .map_or(0, |(at, _)| at + 1)
        .max(text.len().saturating_sub(TAIL_BYTES))
        .max(head);
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    fenced(out, "", &text[..head])?;
    let left_out = &text[head..tail];
    let lines = match left_out.lines().count() {
        0 | 1 => String::new(),
        lines => format!("{}, ", count(lines, "line")),
    };
    writeln!(out, "\n*… {lines}{} left out …*\n", bytes(left_out.len()))?;
    fenced(out, "", &text[tail..])
}

/// Returns a JSON text with a line for each value, all values as they were written.
pub(super) fn spread(json: &str) -> String {
    let (mut out, mut depth, mut at) = (String::with_capacity(json.len() * 2), 0_usize, 0);
    let bytes = json.as_bytes();
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        (0..depth.min(32)).for_each(|_| out.push_str("  "));
    };
    while let Some(byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'"' => {
                while let Some(byte) = bytes.get(at).filter(|byte| **byte != b'"') {
                    at += if *byte == b'\\' { 2 } else { 1 };
                }
                at = (at + 1).min(json.len());
                out.push_str(json.get(start..at).unwrap_or_default());
            }
            b'{' | b'[' => {
                out.push(char::from(*byte));
                let end = bytes[at..].iter().position(|byte| !byte.is_ascii_whitespace());
                let next = end.and_then(|end| bytes.get(at + end).map(|byte| (at + end, *byte)));
                if let Some((end, close @ (b'}' | b']'))) = next {
                    out.push(char::from(close));
                    at = end + 1;
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(char::from(*byte));
            }
            b',' => {
                out.push(',');
                line(&mut out, depth);
            }
            b':' => out.push_str(": "),
            b' ' | b'\t' | b'\n' | b'\r' => {}
            _ => out.push(char::from(*byte)),
        }
    }
    out
}

/// Returns a number of bytes with its unit.
pub(super) fn bytes(n: usize) -> String {
    count(n, "byte")
}

/// Returns a number with its noun, such as `1,234 messages`.
pub(super) fn count(n: usize, one: &str) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    format!("{text} {one}{}", if n == 1 { "" } else { "s" })
}
