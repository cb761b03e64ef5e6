//! Safe display of untrusted text: names and messages cannot forge a line, control a terminal, or
//! hide.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

/// Returns whether a terminal would interpret a character, or a reader would not see it: control
/// characters, line and paragraph separators, bidirectional controls, zero-width characters, tags
/// and fillers.
pub fn is_hidden(c: char) -> bool {
    match c {
        ' '..='~' => false,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' => {
            true
        }
        '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' => true,
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        c => c.is_control(),
    }
}

// Escaped as in JSON, so that terminals show it and JSON stays valid.
fn escape(c: char, to: &mut String) {
    match c {
        '\n' => to.push_str("\\n"),
        '\r' => to.push_str("\\r"),
        '\t' => to.push_str("\\t"),
        c => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string never fails.
                let _ = write!(to, "\\u{unit:04x}");
            }
        }
    }
}

fn escaped(text: &str, is_bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_bad) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_bad(c) { escape(c, &mut shown) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// Escapes every [hidden](is_hidden) character, for names and other text on one line.
pub fn clean(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden)
}

/// Escapes every [hidden](is_hidden) character except line feeds and tabs, for text of several
/// lines.
pub fn clean_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\n' && c != '\t' && is_hidden(c))
}

/// Returns the start of a text on one line, [cleaned](clean): at most `length` characters, and `…`
/// if there are more.
pub fn preview(text: &str, length: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        if count > 0 && count < length {
            line.push(' ');
            count += 1;
        }
        for c in clean(word).chars() {
            if count >= length {
                line.push('…');
                return line;
            }
            line.push(c);
            count += 1;
        }
    }
    line
}

/// Formats a name or another value on one line, [cleaned](clean).
pub fn shown(name: impl fmt::Display) -> String {
    clean(&name.to_string()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{DiagnosticCode, Severity};
    use crate::memory::MemoryScope;
    use crate::store::Finding;
    use crate::trajectory::{AgentRef, TrajectoryError};
    use crate::{ChatRef, Diagnostic, Error, ErrorKind};

    /// Contains a line feed, a terminal sequence, bidirectional controls and invisible characters.
    const HOSTILE: &str = "a\nFORGED \u{1b}[31m\u{9b}2J\u{202e}x\u{2066}y\u{2028}z\u{e0041}";

    #[test]
    fn what_is_hidden_is_escaped_as_in_json() {
        assert!(matches!(clean("äö 🦀"), Cow::Borrowed("äö 🦀")));
        assert_eq!(clean("a\n\t\u{1b}\u{e0041}"), "a\\n\\t\\u001b\\udb40\\udc41");
        assert_eq!(clean_lines("a\n\tb\u{202e}"), "a\n\tb\\u202e");
    }

    #[test]
    fn previews_are_one_line_and_harmless() {
        assert_eq!(preview("  a\n\tb  \u{1b}[31mred ", 20), r"a b \u001b[31mred");
        assert_eq!(preview("abcdef", 3), "abc…");
        assert_eq!(preview("abc", 3), "abc");
        assert_eq!(preview("abc def ghi", 3), "abc…");
        assert_eq!(preview("ab cd", 3), "ab …");
    }

    #[test]
    fn nothing_that_is_displayed_for_people_shows_a_raw_name() {
        let chat = ChatRef::new(HOSTILE, HOSTILE);
        let error =
            Error::new(ErrorKind::Invalid, "test", format!("no {HOSTILE}")).with("chat", HOSTILE);
        let diagnostic = Diagnostic::new(
            DiagnosticCode::BrokenInput,
            Severity::Error,
            HOSTILE,
            format!("no {HOSTILE}"),
        );
        let mut scope = MemoryScope::new(HOSTILE);
        scope.project = Some(HOSTILE.into());
        let round = AgentRef::main(HOSTILE, HOSTILE).round(0);
        for shown in [
            error.to_string(),
            format!("{error:?}").lines().next().unwrap_or_default().to_owned(),
            diagnostic.to_string(),
            Finding::new(Some(&chat), HOSTILE, HOSTILE).to_string(),
            scope.to_string(),
            round.to_string(),
            TrajectoryError::UnknownNode { node: HOSTILE.to_owned() }.to_string(),
        ] {
            assert!(!shown.contains(is_hidden), "{shown:?}");
            assert!(shown.contains("FORGED"), "{shown:?}");
        }
    }
}
