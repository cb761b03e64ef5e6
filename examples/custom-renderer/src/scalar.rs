//! Texts, keys and numbers in a form that a YAML 1.2 parser reads back exactly.

use std::fmt::Write;

use context_core::fragment::Number;

/// The maximum number of characters in which parsers look for the colon after a key.
const LONGEST_KEY: usize = 1_000;

/// Writes a line break and the indentation of a level.
pub(crate) fn line(level: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", level));
}

/// Writes a key and its colon. `level` is the level of the key, or `None` within a single line.
pub(crate) fn key(key: &str, level: Option<usize>, out: &mut String) {
    let long = key.len() > LONGEST_KEY;
    if long {
        out.push_str("? ");
    }
    match level.is_some() && !long && is_plain(key) {
        true => out.push_str(key),
        false => quoted(key, out),
    }
    match (long, level) {
        (false, _) => {}
        (true, Some(level)) => line(level, out),
        (true, None) => out.push(' '),
    }
    out.push(':');
}

/// Writes a text: plain if it is unambiguous, as a block if it has several lines, else in quotes.
/// `level` is the level of its lines, or `None` within a single line.
pub(crate) fn text(text: &str, level: Option<usize>, out: &mut String) {
    out.push(' ');
    match level {
        Some(_) if is_plain(text) => out.push_str(text),
        Some(level) if is_lines(text) => {
            out.push_str("|-");
            for of_text in text.split('\n') {
                line(if of_text.is_empty() { 0 } else { level }, out);
                out.push_str(of_text);
            }
        }
        _ => quoted(text, out),
    }
}

/// Writes a number. NaN and infinities have names in YAML.
pub(crate) fn number(number: Number, out: &mut String) {
    let text = number.to_string();
    out.push(' ');
    out.push_str(match text.as_str() {
        "NaN" => ".nan",
        "Infinity" => ".inf",
        "-Infinity" => "-.inf",
        text => text,
    });
}

/// Whether a text consists of words and simple punctuation and begins with a letter. This is
/// stricter than YAML and excludes booleans.
fn is_plain(text: &str) -> bool {
    const OTHER: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    text.starts_with(char::is_alphabetic)
        && text.chars().all(|c| c.is_alphanumeric() || " .,'()/_-!?%+".contains(c))
        && !text.ends_with(' ')
        && !OTHER.iter().any(|other| text.eq_ignore_ascii_case(other))
}

/// Whether a text has several lines that fit a block scalar: the block neither begins nor ends with
/// white space, and no character needs an escape.
fn is_lines(text: &str) -> bool {
    let is_line =
        |line: &str| line.is_empty() || (!line.trim().is_empty() && !line.chars().any(is_escaped));
    text.contains('\n')
        && !text.starts_with([' ', '\n'])
        && !text.ends_with('\n')
        && text.split('\n').all(is_line)
}

/// Writes any text in double quotes.
fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            // Writing to a string never fails.
            c if is_escaped(c) => drop(write!(out, "\\U{:08X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Whether a character is not printable in YAML, or some parsers take it for a line break or ignore
/// it.
fn is_escaped(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}
