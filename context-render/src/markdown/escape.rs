//! Escaping of text so that nothing in it is Markdown.
//!
//! A backslash is written before every character that CommonMark, GFM or one of the usual
//! extensions could read as structure, so that the text reads back unchanged. Escaping works for
//! text of one line only; [`is_plain_line`] decides whether it is enough for a text.

use super::title::title_case;

/// The replacement for a name without visible characters.
const UNNAMED: &str = "(unnamed)";

/// Returns whether an untrusted text can stand in a line once it is escaped. A text cannot if it
/// has line breaks (including those that only some readers know), white space around it that would
/// be lost, or an address in it, which GFM makes a link whatever stands before its characters.
pub(super) fn is_plain_line(text: &str) -> bool {
    if text.starts_with(char::is_whitespace) || text.ends_with(char::is_whitespace) {
        return false;
    }
    let bytes = text.as_bytes();
    let breaks = |(at, byte): (usize, &u8)| match byte {
        b'\n' | b'\r' | 0x0B | 0x0C => true,
        // U+0085, U+2028 and U+2029.
        0xC2 => bytes.get(at + 1) == Some(&0x85),
        0xE2 => matches!(bytes.get(at + 1..at + 3), Some([0x80, 0xA8 | 0xA9])),
        b':' => is_scheme(bytes, at),
        b'.' => is_www(bytes, at),
        b'@' => {
            let before = at.checked_sub(1).and_then(|before| bytes.get(before));
            let is_name = |byte: &u8| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'+')
            };
            before.is_some_and(is_name) && bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric)
        }
        _ => false,
    };
    !bytes.iter().enumerate().any(breaks)
}

/// Returns whether this colon could be that of `https://`.
fn is_scheme(bytes: &[u8], at: usize) -> bool {
    bytes[at + 1..].starts_with(b"//")
}

/// Returns whether this full stop could be the first of `www.`.
fn is_www(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(3).is_some_and(|start| bytes[start..at].eq_ignore_ascii_case(b"www"))
}

/// Appends a text of one line at a place where a block could begin.
pub(super) fn push_line(out: &mut String, text: &str) {
    let bytes = text.as_bytes();
    let digits = bytes.iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
    let ends = |at: usize| bytes.get(at).is_none_or(|byte| matches!(byte, b' ' | b'\t'));
    let special = match bytes.get(digits) {
        // An ordered list.
        Some(b'.' | b')') => digits > 0 && ends(digits + 1),
        // A heading, an underline of a heading, a definition.
        Some(b'#' | b'=' | b':') => digits == 0,
        // A list, an underline of a heading, the edge of front matter.
        Some(byte @ (b'-' | b'+')) => digits == 0 && (ends(1) || bytes.get(1) == Some(byte)),
        _ => false,
    };
    let text = if special {
        out.push_str(&text[..digits]);
        out.push('\\');
        out.push_str(&text[digits..=digits]);
        &text[digits + 1..]
    } else {
        text
    };
    push_inline(out, text);
}

/// Appends a text of one line inside a line.
pub(super) fn push_inline(out: &mut String, text: &str) {
    let bytes = text.as_bytes();
    let mut written = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let is_special = match byte {
            b'\\' | b'`' | b'*' | b'[' | b']' | b'<' | b'>' | b'|' | b'~' | b'^' | b'$' => true,
            b'&' => is_entity(&bytes[at + 1..]),
            b'_' => !is_inside_word(text, at),
            b':' => is_scheme(bytes, at),
            b'.' => is_www(bytes, at),
            b'\0' => {
                out.push_str(&text[written..at]);
                out.push(char::REPLACEMENT_CHARACTER);
                written = at + 1;
                false
            }
            _ => false,
        };
        if is_special {
            out.push_str(&text[written..at]);
            out.push('\\');
            written = at;
        }
    }
    out.push_str(&text[written..]);
}

/// Returns whether the bytes after an ampersand could be the name or the number of a character. The
/// longest name has 31 letters.
fn is_entity(bytes: &[u8]) -> bool {
    let mut name =
        bytes.iter().take(40).skip_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'#');
    name.next() == Some(&b';')
}

/// Returns whether this underscore stands between letters or digits, where it is not emphasis.
fn is_inside_word(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    let after = text[at + 1..].chars().next();
    before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric)
}

/// Appends a name as the bold label of a list item.
pub(super) fn push_label(out: &mut String, name: &str) {
    out.push_str("**");
    push_name(out, name);
    out.push_str("**");
}

/// Appends a name in title case, as the text of a heading. `is_last`: nothing follows the name in
/// its line.
pub(super) fn push_heading(out: &mut String, name: &str, is_last: bool) {
    push_name(out, &title_case(name));
    // A run of `#` would close the heading; `}` ends what some readers take for attributes.
    if is_last && out.ends_with(['#', '}']) {
        let last = out.len() - 1;
        out.insert(last, '\\');
    }
}

/// Appends a name without invisible characters: no line breaks inside it, no white space around it.
fn push_name(out: &mut String, name: &str) {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let name = name.trim_matches(|c: char| c.is_whitespace() || c.is_control());
    if name.is_empty() {
        out.push_str(UNNAMED);
    } else if name.contains(breaks) {
        push_inline(out, &name.replace(breaks, " "));
    } else {
        push_inline(out, name);
    }
}
