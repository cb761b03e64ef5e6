//! The kinds of values, and the form in which two of them are compared.

use std::borrow::Cow;

use serde::Serialize;

/// The kind of a value that links an answer to its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ValueKind {
    /// Letters with digits, such as `EHGLP3` or a UUID.
    Id,
    /// An e-mail address. The only kind that is compared without case.
    Email,
    /// A number or amount. `1,339.00` and `1339` are equal.
    Number,
    /// A date or a time, in digits.
    Date,
    /// A URL.
    Url,
    /// A file path or a file name.
    Path,
    /// An identifier of code, such as `set_tool_results`.
    Identifier,
    /// Several words: a quoted text, or a whole string of JSON.
    Phrase,
    /// One word. In texts, words count only if a tool result holds them as a whole JSON string.
    Word,
}

/// Words that say nothing about a source, in lower case.
const COMMON: [&str; 100] = [
    "about",
    "after",
    "all",
    "also",
    "and",
    "any",
    "are",
    "because",
    "been",
    "before",
    "but",
    "can",
    "content",
    "could",
    "data",
    "default",
    "did",
    "does",
    "done",
    "each",
    "error",
    "every",
    "false",
    "file",
    "first",
    "for",
    "from",
    "get",
    "has",
    "have",
    "her",
    "here",
    "him",
    "his",
    "how",
    "into",
    "its",
    "just",
    "last",
    "like",
    "list",
    "main",
    "many",
    "may",
    "message",
    "more",
    "most",
    "name",
    "need",
    "new",
    "next",
    "nil",
    "none",
    "not",
    "now",
    "null",
    "object",
    "one",
    "only",
    "other",
    "our",
    "out",
    "over",
    "please",
    "result",
    "same",
    "set",
    "she",
    "should",
    "some",
    "string",
    "text",
    "than",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "they",
    "this",
    "true",
    "two",
    "type",
    "undefined",
    "use",
    "value",
    "was",
    "what",
    "when",
    "where",
    "which",
    "who",
    "why",
    "will",
    "with",
    "would",
    "yes",
    "you",
    "your",
];

/// Returns whether a character belongs to a word. Scripts without spaces between words do not:
/// an id in the middle of them would be part of one long word.
pub(super) fn is_word(c: char) -> bool {
    match c {
        '_' => true,
        _ if c.is_ascii() => c.is_ascii_alphanumeric(),
        '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' => false,
        '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}' => false,
        _ => c.is_alphanumeric(),
    }
}

/// Returns the kind of a token, which starts and ends with a word character. `None` if it is too
/// short or too common.
pub(super) fn kind_of(token: &str) -> Option<ValueKind> {
    let bytes = token.as_bytes();
    let (mut digits, mut letters, mut joined) = (0, 0, false);
    for byte in bytes {
        match byte {
            b'0'..=b'9' => digits += 1,
            b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => letters += 1,
            b'_' => {}
            _ => joined = true,
        }
    }
    if joined {
        return joined_kind(token, digits, letters);
    }
    if letters == 0 {
        return (digits >= 3).then_some(ValueKind::Number);
    }
    if bytes.len() < 3 {
        return None;
    }
    if digits > 0 {
        let ordinal = letters <= 2 && bytes[0].is_ascii_digit() && bytes.len() <= 4;
        return (!ordinal).then_some(ValueKind::Id);
    }
    let camel =
        bytes.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    if camel || token.trim_matches('_').contains('_') {
        return Some(ValueKind::Identifier);
    }
    (!is_common(token)).then_some(ValueKind::Word)
}

fn joined_kind(token: &str, digits: usize, letters: usize) -> Option<ValueKind> {
    if token.contains("://") {
        return Some(ValueKind::Url);
    }
    if let Some((name, host)) = token.split_once('@') {
        let mail = !name.is_empty() && host.contains('.') && !host.contains(['@', '/', ':']);
        return Some(if mail { ValueKind::Email } else { ValueKind::Id });
    }
    if is_stamp(token) {
        return Some(ValueKind::Date);
    }
    if letters == 0 {
        if digits < 2 {
            return None;
        }
        let date = token.contains(['-', ':', '/']);
        return match (date, digits >= 3 || token.contains('.')) {
            (true, true) => Some(ValueKind::Date),
            (false, true) => Some(ValueKind::Number),
            (_, false) => None,
        };
    }
    if is_path(token) {
        return Some(ValueKind::Path);
    }
    let plain = |c: char| c.is_ascii_alphabetic() || c == '-' || !c.is_ascii();
    match token {
        _ if token.contains(['/', '&', '\\', '+', '%', '~']) => None,
        _ if digits > 0 => Some(ValueKind::Id),
        _ if token.chars().all(plain) => Some(ValueKind::Word),
        _ => (token.len() > 4).then_some(ValueKind::Identifier),
    }
}

/// Returns whether a token is a path: two slashes, or a last part with an extension.
pub(super) fn is_path(token: &str) -> bool {
    if token.contains(':') {
        return false;
    }
    let slashes = token.bytes().filter(|byte| matches!(byte, b'/' | b'\\')).count();
    let name = token.rsplit(['/', '\\']).next().unwrap_or(token);
    let extension = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        stem.len() >= 2
            && (1..=5).contains(&extension.len())
            && extension.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            && extension.bytes().any(|byte| byte.is_ascii_lowercase())
    });
    slashes >= 2 || (extension && !name.contains("..") && name.matches('.').count() <= 2)
}

/// Returns whether a token starts like `2024-05-03T05:35`.
pub(super) fn is_stamp(token: &str) -> bool {
    let pattern = b"dddd-dd-ddTdd:dd";
    token.len() >= pattern.len()
        && token.bytes().zip(pattern).all(|(byte, place)| match place {
            b'd' => byte.is_ascii_digit(),
            _ => byte == *place,
        })
}

fn is_common(word: &str) -> bool {
    if word.len() > 9 {
        return false;
    }
    COMMON.binary_search(&word).is_ok()
        || (word.as_bytes()[0].is_ascii_uppercase()
            && COMMON.binary_search(&word.to_ascii_lowercase().as_str()).is_ok())
}

/// Returns the form of a value that is compared.
pub(super) fn canonical(value: &str, kind: ValueKind) -> Cow<'_, str> {
    match kind {
        ValueKind::Email if value.bytes().any(|byte| byte.is_ascii_uppercase()) => {
            value.to_ascii_lowercase().into()
        }
        ValueKind::Number if value.contains([',', '.']) => number(value).into(),
        _ => value.into(),
    }
}

/// Returns a number without separators of thousands and without zeros behind the point.
fn number(value: &str) -> String {
    let mut groups = value.split('.').next().unwrap_or(value).split(',');
    let first = groups.next().unwrap_or_default();
    let thousands = (1..=3).contains(&first.len()) && groups.all(|group| group.len() == 3);
    let mut out = if thousands { value.replace(',', "") } else { value.to_owned() };
    if out.matches('.').count() == 1 {
        out.truncate(out.trim_end_matches('0').trim_end_matches('.').len());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_words_are_sorted() {
        assert!(COMMON.is_sorted());
    }

    #[test]
    fn kinds_of_tokens() {
        let kinds = [
            ("EHGLP3", Some(ValueKind::Id)),
            ("gift_card_1642017", Some(ValueKind::Id)),
            ("2nd", None),
            ("25", None),
            ("561", Some(ValueKind::Number)),
            ("1,339.00", Some(ValueKind::Number)),
            ("1.5", Some(ValueKind::Number)),
            ("2024-05-19", Some(ValueKind::Date)),
            ("05:35", Some(ValueKind::Date)),
            ("2024-05-03T05:35:00", Some(ValueKind::Date)),
            ("ada@example.org", Some(ValueKind::Email)),
            ("src/main.rs", Some(ValueKind::Path)),
            ("lib.rs", Some(ValueKind::Path)),
            ("and/or", None),
            ("round_trip", Some(ValueKind::Identifier)),
            ("ToolResult", Some(ValueKind::Identifier)),
            ("business", Some(ValueKind::Word)),
            ("The", None),
            ("https://example.org/a", Some(ValueKind::Url)),
        ];
        for (token, kind) in kinds {
            assert_eq!(kind_of(token), kind, "{token}");
        }
        assert_eq!(canonical("1,339.00", ValueKind::Number), "1339");
        assert_eq!(canonical("12,50", ValueKind::Number), "12,50");
        assert_eq!(canonical("1.10", ValueKind::Number), "1.1");
    }
}
