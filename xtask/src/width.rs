//! The width of lines: 100 columns, for code and for prose.
//!
//! rustfmt keeps code to that width where it can, so this rule finds what it leaves alone:
//! comments, pages, and the bodies of macros. A line may be longer where breaking it would change
//! what it is: a row of a table, an example between fences, a literal, a single word.

use std::collections::{HashMap, HashSet};

use crate::source::{SourceFile, literals};

/// The maximum number of columns of a line.
pub(crate) const MAX_COLUMNS: usize = 100;

/// The number of characters in literals from which a line of code may be too long.
const LONG_LITERALS: usize = 24;

/// Returns the numbers of the lines that are too long, from 1.
pub(crate) fn wide_lines(file: &SourceFile) -> Vec<usize> {
    if !file.text.lines().any(is_wide) {
        return Vec::new();
    }
    match file.path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("md") => wide_prose(file.text.lines().enumerate()),
        Some("rs") => wide_rust(&file.text),
        _ => Vec::new(),
    }
}

fn is_wide(line: &str) -> bool {
    line.len() > MAX_COLUMNS && line.chars().count() > MAX_COLUMNS
}

fn wide_rust(text: &str) -> Vec<usize> {
    let in_literal = long_literals(text);
    let (mut comments, mut code) = (Vec::new(), Vec::new());
    for (n, line) in text.lines().enumerate().filter(|(n, _)| !in_literal.contains(n)) {
        match comment(line) {
            Some(comment) => comments.push((n, line, comment)),
            None if is_wide(line) => code.push(n + 1),
            None => {}
        }
    }
    let mut is_fenced = false;
    let mut previous = None;
    for (n, line, comment) in comments {
        if previous.is_none_or(|previous| previous + 1 != n) {
            is_fenced = false;
        }
        previous = Some(n);
        is_fenced ^= comment.trim_start().starts_with("```");
        if is_wide(line) && !is_fenced && !may_be_wide(comment) {
            code.push(n + 1);
        }
    }
    code.sort_unstable();
    code
}

fn wide_prose<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<usize> {
    let mut is_fenced = false;
    let wide = lines.filter(|(_, line)| {
        is_fenced ^= line.trim_start().starts_with("```");
        is_wide(line) && !is_fenced && !may_be_wide(line)
    });
    wide.map(|(n, _)| n + 1).collect()
}

/// Returns the text of a line that is a comment, without its comment marker.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    Some(text.strip_prefix(['/', '!']).unwrap_or(text))
}

/// Whether a line of prose is a row of a table or a single word, such as an address.
fn may_be_wide(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('|') || text.split_whitespace().count() < 3 || text.starts_with('[')
}

/// Returns the lines, from 0, that literals fill: those of a literal of several lines, and those
/// with at least [`LONG_LITERALS`] characters in literals.
fn long_literals(text: &str) -> HashSet<usize> {
    let (mut lines, mut lengths) = (HashSet::new(), HashMap::<usize, usize>::new());
    for literal in literals(text) {
        let (first, last) = literal.lines.into_inner();
        if first == last {
            *lengths.entry(first).or_default() += literal.length;
        } else {
            lines.extend(first..=last);
        }
    }
    lines.extend(lengths.into_iter().filter(|(_, n)| *n >= LONG_LITERALS).map(|(line, _)| line));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expect: &[usize]) {
        assert_eq!(wide_lines(&SourceFile::new(path, text)), expect);
    }

    #[test]
    fn prose_and_code_are_held_to_the_width() {
        let long = "word ".repeat(21);
        check("a.md", &format!("{}\n{long}\n", &long[..100]), &[2]);
        check("a.md", &format!("| {long} |\n```sh\n{long}\n```\n{long}\n"), &[5]);
        check("a.md", &format!("https://example.com/{}\n", "a".repeat(90)), &[]);
        check("a.rs", &format!("//! A.\n/// {long}\nfn f() {{ {} }}\n", "x; ".repeat(40)), &[2, 3]);
        check("a.rs", &format!("/// ```\n/// {long}\n/// ```\n/// | {long} |\n/// {long}\n"), &[5]);
        check("a.rs", &format!("const A: &str = \"{long}\";\nf(r#\"\n{long}\n\"#);\n"), &[]);
        check("a.sql", &format!("-- {long}\n"), &[]);
    }
}
