//! Text of several lines inside list items, and fenced text.

use crate::layout::{indentation, new_line};

const LINE_ENDS: [char; 2] = ['\n', '\r'];

/// Appends a text that its author trusts to be Markdown at the beginning of a list item. `indent`
/// is the column at which the text stands.
pub(super) fn push_item(out: &mut String, text: &str, indent: usize) {
    if is_blank(text) {
        // An empty item would be read as an underline of a heading, or end the list.
        out.push('"');
        push_lines(out, text, indent);
        if text.ends_with(LINE_ENDS) {
            out.push_str(indentation(indent));
        }
        out.push('"');
        return;
    }
    let first = text.split(LINE_ENDS).next().unwrap_or_default();
    if is_blank(first) {
        // An item that begins with an empty line has the same problem.
        out.push_str("&#32;");
        push_lines(out, text, indent);
        return;
    }
    let spaces = first.len() - first.trim_start_matches(is_space).len();
    let (space, rest) = text.split_at(spaces);
    out.push_str(space);
    if first.bytes().all(|byte| matches!(byte, b'-' | b' ' | b'\t')) {
        // Together with the hyphen of the item, these would be a thematic break, or empty items.
        out.push('\\');
    }
    // Up to three spaces belong to the item's marker, so no line may begin left of them. More
    // spaces begin a code block.
    let column =
        |column: usize, c: char| if c == '\t' { column - column % 4 + 4 } else { column + 1 };
    let width = space.chars().fold(indent, column) - indent;
    push_hanging(out, rest, indent, if width < 4 { width } else { 0 });
}

/// Appends a text whose lines after the first are indented so that they stay inside the list item.
/// Line ends are not changed.
pub(super) fn push_lines(out: &mut String, text: &str, indent: usize) {
    push_hanging(out, text, indent, 0);
}

/// Appends a text like [`push_lines`], but no line begins left of `hang` columns after the
/// indentation.
fn push_hanging(out: &mut String, text: &str, indent: usize, hang: usize) {
    let mut lines = text.split_inclusive(LINE_ENDS);
    out.push_str(lines.next().unwrap_or_default());
    for line in lines {
        if !line.starts_with(LINE_ENDS) {
            let own = line.bytes().take(hang).take_while(|byte| *byte == b' ').count();
            out.push_str(indentation(indent + hang - own));
        }
        out.push_str(line);
    }
}

/// Appends a text in a fence that the text cannot end, without a line end after the fence. Line
/// ends become line feeds.
pub(super) fn push_fenced(out: &mut String, text: &str, indent: usize) {
    let fence = (longest_run(text, b'`') + 1).max(3);
    out.extend(std::iter::repeat_n('`', fence));
    out.push_str("text");
    let mut rest = Some(text);
    while let Some(text) = rest {
        let end = text.find(LINE_ENDS);
        let line = &text[..end.unwrap_or(text.len())];
        out.push_str(new_line(if line.is_empty() { 0 } else { indent }));
        push_visible(out, line);
        rest = end.map(|end| {
            let length = if text[end..].starts_with("\r\n") { 2 } else { 1 };
            &text[end + length..]
        });
    }
    out.push_str(new_line(indent));
    out.extend(std::iter::repeat_n('`', fence));
}

/// Appends a line with U+FFFD for U+0000, as CommonMark reads the null character.
fn push_visible(out: &mut String, line: &str) {
    let mut parts = line.split('\0');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        out.push(char::REPLACEMENT_CHARACTER);
        out.push_str(part);
    }
}

fn longest_run(text: &str, byte: u8) -> usize {
    let (mut longest, mut run) = (0, 0);
    for other in text.bytes() {
        run = if other == byte { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

fn is_blank(text: &str) -> bool {
    text.chars().all(|c| is_space(c) || LINE_ENDS.contains(&c))
}
