//! Content of strangers in a Markdown document: it stays readable, but is never markup that the
//! document did not write.

use std::fmt::{self, Write};

use context_core::base::display::{clean, clean_lines};

/// Writes a text of Markdown as it is written, with what would break the document escaped:
/// headings, HTML, images, definitions of links, and fences that end somewhere else. Fenced code is
/// written with fences of its own.
pub(super) fn markdown(out: &mut impl Write, text: &str) -> fmt::Result {
    let text = text.replace("\r\n", "\n");
    let text = clean_lines(&text);
    let mut lines = text.trim_matches('\n').lines().peekable();
    let mut is_blank = true;
    while let Some(line) = lines.next() {
        let Some(opened) = Fence::opened(line) else {
            escaped_line(out, line)?;
            is_blank = line.trim().is_empty();
            continue;
        };
        let mut code = String::new();
        for line in lines.by_ref().take_while(|line| !opened.is_closed_by(line)) {
            let indent = line.len() - line.trim_start_matches(' ').len();
            code.push_str(&line[indent.min(opened.indent)..]);
            code.push('\n');
        }
        if !is_blank {
            out.write_char('\n')?;
        }
        fenced(out, opened.language, &code)?;
        is_blank = lines.peek().is_some_and(|line| !line.trim().is_empty());
        if is_blank {
            out.write_char('\n')?;
        }
    }
    Ok(())
}

/// Writes a text as fenced code. The fence is longer than any in the text.
pub(super) fn fenced(out: &mut impl Write, language: &str, text: &str) -> fmt::Result {
    let text = text.replace("\r\n", "\n");
    let text = clean_lines(&text);
    let fence = "`".repeat((longest_run(&text) + 1).max(3));
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    writeln!(out, "{fence}{language}\n{text}{end}{fence}")
}

/// Returns a text of one line in which no character is markup.
pub(super) fn inline(text: &str) -> String {
    let text = clean(text);
    let mut out = String::with_capacity(text.len());
    for c in text.trim().chars() {
        if c.is_ascii_punctuation() && !matches!(c, '.' | ',' | ';' | '?' | '%' | '/' | '\'') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Returns a text of one line as code.
pub(super) fn code(text: &str) -> String {
    let text = clean(text);
    let fence = "`".repeat(longest_run(&text) + 1);
    match text.is_empty() || text.contains('`') || text.starts_with(' ') || text.ends_with(' ') {
        true => format!("{fence} {text} {fence}"),
        false => format!("{fence}{text}{fence}"),
    }
}

/// Returns the length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// The start of fenced code in a text.
struct Fence<'t> {
    indent: usize,
    mark: char,
    length: usize,
    language: &'t str,
}

impl<'t> Fence<'t> {
    /// Reads the line that opens fenced code, with any indent: as a part of a list, too.
    fn opened(line: &'t str) -> Option<Self> {
        let rest = line.trim_start_matches(' ');
        let mark = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = rest.trim_start_matches(mark);
        let length = rest.len() - info.len();
        if length < 3 || (mark == '`' && info.contains('`')) {
            return None;
        }
        let language = info.split_whitespace().next().unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '#' | '-' | '.');
        let is_name = language.len() <= 20 && language.chars().all(plain);
        let language = if is_name { language } else { "" };
        Some(Self { indent: line.len() - rest.len(), mark, length, language })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let rest = line.trim_matches([' ', '\t']);
        rest.len() >= self.length && rest.chars().all(|c| c == self.mark)
    }
}

/// Writes a line outside of fenced code.
fn escaped_line(out: &mut impl Write, line: &str) -> fmt::Result {
    let start = line.len() - structure(line).len();
    out.write_str(&line[..start])?;
    if needs_escape(&line[start..]) {
        out.write_char('\\')?;
    }
    let (mut backslashes, mut chars) = (0_usize, line[start..].chars().peekable());
    while let Some(c) = chars.next() {
        let markup = c == '<' || (c == '!' && chars.peek() == Some(&'['));
        if markup && backslashes.is_multiple_of(2) {
            out.write_char('\\')?;
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        out.write_char(c)?;
    }
    out.write_char('\n')
}

/// Returns a line without the marks of quotes and lists before its content. Underlines of headings
/// are content.
fn structure(line: &str) -> &str {
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        if is_underline(rest) {
            return rest;
        }
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let mark = match rest[digits..].chars().next() {
            // Some viewers know lists of definitions.
            Some('>' | ':') if digits == 0 => {
                rest = &rest[1..];
                continue;
            }
            Some('-' | '*' | '+') if digits == 0 => 1,
            Some('.' | ')') if (1..=9).contains(&digits) => digits + 1,
            _ => return rest,
        };
        if !rest[mark..].starts_with([' ', '\t']) {
            return rest;
        }
        rest = &rest[mark..];
    }
}

fn is_underline(rest: &str) -> bool {
    let marks = rest.trim_end();
    !marks.is_empty() && (marks.chars().all(|c| c == '-') || marks.chars().all(|c| c == '='))
}

/// Returns whether the content of a line would begin a heading, a definition or a fence.
fn needs_escape(rest: &str) -> bool {
    rest.starts_with(['#', '~'])
        || rest.starts_with("```")
        // Some viewers take lines between these for facts about the document.
        || rest.starts_with("+++")
        || is_underline(rest)
        || (rest.starts_with('[') && (rest.contains("]:") || !rest.contains(']')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        let mut out = String::new();
        markdown(&mut out, text).unwrap();
        out
    }

    #[test]
    fn what_breaks_a_document_is_escaped_and_the_rest_stays() {
        for (text, expected) in [
            ("**a** `b` [c](https://d)", "**a** `b` [c](https://d)\n"),
            ("# a", "\\# a\n"),
            ("> - ## a", "> - \\## a\n"),
            ("a\n===\nb\n- ", "a\n\\===\nb\n\\- \n"),
            ("a < b <b> \\<i> \\\\<i>", "a \\< b \\<b> \\<i> \\\\\\<i>\n"),
            ("![a](https://b)", "\\![a](https://b)\n"),
            ("[a]: https://b", "\\[a]: https://b\n"),
            ("- [ ] task", "- [ ] task\n"),
            ("a\r\nb\u{202e}c", "a\nb\\u202ec\n"),
            ("> ```\n<b>", "> \\```\n\\<b>\n"),
            ("~~~\n```\n# a", "````\n```\n# a\n````\n"),
            ("1. a\n   ```sh\n   ls\n   ```\n2. b", "1. a\n\n```sh\nls\n```\n\n2. b\n"),
        ] {
            assert_eq!(written(text), expected, "{text}");
        }
        assert_eq!(inline("a`<b>\n#"), "a\\`\\<b\\>\\\\n\\#");
        assert_eq!(code("a``b"), "``` a``b ```");
    }
}
