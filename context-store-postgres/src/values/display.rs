//! Readable approximations of texts and JSON that PostgreSQL does not accept.
//!
//! PostgreSQL's text type cannot hold a NUL. Its JSON type can hold an escaped NUL, but accessing
//! such a value fails, and so does accessing half a surrogate pair. Its recursive JSON parser
//! rejects very deep values. If the shown form differs from the value, the row stores the exact
//! value elsewhere.

use std::borrow::Cow;

/// The maximum depth of JSON that is shown.
const MAX_DEPTH: usize = 256;

/// Returns the shown form of a text.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', "\u{2400}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns the shown form of JSON.
pub(crate) fn json(json: &str) -> Cow<'_, str> {
    if is_deep(json) {
        return Cow::Borrowed("\"(too deep to be shown)\"");
    }
    let mut shown = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = json[at..].find('\\') {
        at += found;
        let (length, instead) = match unit(json, at) {
            Some(0) => (6, "\\u2400"),
            Some(0xd800..0xdc00) if matches!(unit(json, at + 6), Some(0xdc00..0xe000)) => (12, ""),
            Some(0xd800..0xe000) => (6, "\\ufffd"),
            Some(_) => (6, ""),
            None => (2, ""),
        };
        if !instead.is_empty() {
            shown.push_str(&json[copied..at]);
            shown.push_str(instead);
            copied = at + length;
        }
        at += length;
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    shown.push_str(&json[copied..]);
    Cow::Owned(shown)
}

/// Returns the UTF-16 code unit of the escape that begins here, if there is one.
fn unit(json: &str, at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

fn is_deep(json: &str) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in json.bytes() {
        match byte {
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            b'"' if !escaped => in_string = !in_string,
            _ => {}
        }
        escaped = in_string && byte == b'\\' && !escaped;
        if depth > MAX_DEPTH {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_shown_is_shown_as_it_is() {
        for fine in
            [r#"{"a":[1.50,"\u00e9\\u0000\ud83d\ude00"]}"#, "\"[[\\\"[[\"", "null", "\"\\\\\""]
        {
            assert!(matches!(json(fine), Cow::Borrowed(shown) if shown == fine), "{fine}");
        }
        assert_eq!(
            json(r#"["\u0000","\ud800","\ude00\ud800\u0061"]"#),
            r#"["\u2400","\ufffd","\ufffd\ufffd\u0061"]"#
        );
        let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
        assert_eq!(json(&deep), "\"(too deep to be shown)\"");
        assert_eq!((&*text("a\0b"), &*text("ab")), ("a␀b", "ab"));
    }
}
