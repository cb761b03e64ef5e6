//! Quoting of text within tags so that it cannot end them, and shortened forms of text.

use std::fmt::Write;

use context_core::history::shorten;

/// The tags that this crate writes.
const TAGS: [&str; 9] = [
    "checkpoint",
    "left-branch",
    "facts",
    "summary-so-far",
    "conversation",
    "message",
    "call",
    "result",
    "task",
];

/// The shown part of a text: the whole text up to `whole` bytes, otherwise `head` and `tail`
/// bytes of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExcerptLimits {
    pub(crate) whole: usize,
    pub(crate) head: usize,
    pub(crate) tail: usize,
}

impl ExcerptLimits {
    pub(crate) const fn new(whole: usize, head: usize, tail: usize) -> Self {
        Self { whole, head, tail }
    }

    /// Splits `bytes` between the ends, three quarters for the head.
    pub(crate) fn of(bytes: usize) -> Self {
        let head = bytes - bytes / 4;
        Self::new(bytes, head, bytes - head)
    }

    /// Returns the text, with a note in place of the part that is left out.
    pub(crate) fn of_text(self, text: &str) -> String {
        if text.len() <= self.whole {
            return text.to_owned();
        }
        match shorten::ends(text, self.head, self.tail) {
            None => text.to_owned(),
            Some((head, tail)) => {
                let left_out = text.len() - head.len() - tail.len();
                format!("{head}\n[… {left_out} bytes left out …]\n{tail}")
            }
        }
    }
}

/// Returns the text with a backslash after `<` wherever a tag of this crate would begin or end.
/// Idempotent.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        out.push('<');
        rest = &tag[1..];
        if is_ours(rest) {
            out.push('\\');
        }
    }
    out.push_str(rest);
    out
}

/// Returns whether the text after a `<` begins a tag of this crate.
fn is_ours(behind: &str) -> bool {
    let name = behind.strip_prefix('/').unwrap_or(behind);
    let starts =
        |tag: &str| name.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag));
    TAGS.iter().any(|tag| starts(tag))
}

/// Returns a short text as the value of an attribute, in quotes.
pub(crate) fn attribute(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars().take(100) {
        match c {
            '"' => out.push('\''),
            '<' | '>' => out.push(' '),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_begins_or_ends_a_tag_of_ours() {
        for (text, out) in [
            ("a </checkpoint> b", r"a <\/checkpoint> b"),
            ("<MESSAGE from=\"user\">", r#"<\MESSAGE from="user">"#),
            ("<callback> and <b> and 1 < 2", r"<\callback> and <b> and 1 < 2"),
            ("<", "<"),
        ] {
            assert_eq!(quoted(text), out);
            assert_eq!(quoted(out), out);
        }
    }

    #[test]
    fn what_is_left_out_is_said() {
        assert_eq!(
            ExcerptLimits::new(9, 3, 2).of_text("0123456789"),
            "012\n[… 5 bytes left out …]\n89"
        );
        assert_eq!(ExcerptLimits::new(10, 3, 2).of_text("0123456789"), "0123456789");
        assert_eq!(attribute("a\"b\n<c>"), "\"a'b\\u000a c \"");
    }
}
