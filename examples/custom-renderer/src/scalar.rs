//! Texts, keys and numbers, so that a parser of YAML 1.2 reads back what was written, and nothing
//! else.

use std::fmt::Write;

use context_core::fragment::Number;

/// Parsers look for the colon behind a key no further than this many characters.
const LONGEST_KEY: usize = 1_000;

/// A new line of a level.
pub(crate) fn line(level: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", level));
}

/// A key and its colon. `level` says where it begins; on a line of many there is none.
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

/// A text as it is if nothing in it can be mistaken, its lines below each other if there are
/// several, else in quotes. `level` says where lines begin; on a line of many there is none.
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

/// A number, by the names that YAML has for those that are none.
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

/// Words and simple punctuation that begin with a letter: less than YAML allows, and never a truth
/// value.
fn is_plain(text: &str) -> bool {
    const OTHER: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    text.starts_with(char::is_alphabetic)
        && text.chars().all(|c| c.is_alphanumeric() || " .,'()/_-!?%+".contains(c))
        && !text.ends_with(' ')
        && !OTHER.iter().any(|other| text.eq_ignore_ascii_case(other))
}

/// Several lines that a block of lines can hold: none begins or ends the block with white space,
/// none has to be escaped.
fn is_lines(text: &str) -> bool {
    let is_line =
        |line: &str| line.is_empty() || (!line.trim().is_empty() && !line.chars().any(is_escaped));
    text.contains('\n')
        && !text.starts_with([' ', '\n'])
        && !text.ends_with('\n')
        && text.split('\n').all(is_line)
}

/// Any text, in double quotes.
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

/// What YAML does not print, and what some parsers take for the end of a line or for nothing.
fn is_escaped(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}
