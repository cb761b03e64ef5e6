//! Texts that are kept as JSON strings.

use std::borrow::{Borrow, Cow};
use std::fmt::{self, Write as _};
use std::iter;
use std::ops::Deref;
use std::sync::OnceLock;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// The bytes that are searched at once.
const STEP: usize = 32;
/// The bytes in which an escape is near the one before.
const NEAR: usize = 16;

/// A text, kept as the JSON string that stands for it in a body.
///
/// Most texts of a conversation come from a store and go to a provider, and nobody looks at them in
/// between. Both bodies are JSON, so the string is copied from one to the other. Its escapes are
/// resolved when the text is used as a `str`, and the result is kept; [`to_cow`](Self::to_cow) does
/// not keep it. Equal texts have equal JSON strings: the ones that `serde_json` writes.
///
/// Like [`Json`](crate::Json), it can only be serialized to JSON.
///
/// ```
/// use context_core::JsonString;
///
/// let text = JsonString::from("One line.\nAnother one.");
/// assert_eq!(text.as_raw().get(), r#""One line.\nAnother one.""#);
/// assert_eq!(text.lines().count(), 2); // a `str` wherever one is expected
/// assert_eq!(text, "One line.\nAnother one.");
/// ```
#[derive(Clone)]
pub struct JsonString {
    json: Box<RawValue>,
    /// The text, once it was needed. `None` if the JSON string has no escapes, which is then the
    /// text itself.
    escaped: Option<Box<OnceLock<Box<str>>>>,
}

impl JsonString {
    /// Returns the text. Escapes are resolved once, and the result is kept.
    pub fn as_str(&self) -> &str {
        match &self.escaped {
            None => self.inner(),
            Some(text) => text.get_or_init(|| self.unescaped().into()),
        }
    }

    /// Returns the text without keeping it. For code that looks at every text of a conversation.
    pub fn to_cow(&self) -> Cow<'_, str> {
        match self.escaped.as_ref().map(|text| text.get()) {
            None => Cow::Borrowed(self.inner()),
            Some(Some(text)) => Cow::Borrowed(text),
            Some(None) => Cow::Owned(self.unescaped()),
        }
    }

    /// Returns whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.inner().is_empty()
    }

    /// Returns whether the text [is blank](crate::message::is_blank).
    pub fn is_blank(&self) -> bool {
        // Nearly every text begins with something else, so its escapes are not looked for.
        let may_be = self.inner().starts_with(|c| c == '\\' || is_blank_char(c));
        self.is_empty() || (may_be && is_blank(&self.to_cow()))
    }

    /// Returns the JSON string, with its quotes.
    pub fn as_raw(&self) -> &RawValue {
        &self.json
    }

    /// Takes over the text of a JSON string, which is copied if it is the one that is written for
    /// that text. `None` for any other value, and for half a surrogate pair.
    pub fn from_raw(json: &RawValue) -> Option<Self> {
        if !json.get().starts_with('"') {
            return None;
        }
        match is_plain(json.get()) {
            Some(is_plain) => Some(Self::of(json.to_owned(), is_plain)),
            None => serde_json::from_str::<String>(json.get()).ok().map(Self::from),
        }
    }

    /// Returns the texts as one, without looking at them.
    pub fn concat<'a>(texts: impl IntoIterator<Item = &'a Self>) -> Self {
        let (mut json, mut is_plain) = (String::from("\""), true);
        for text in texts {
            json.push_str(text.inner());
            is_plain &= text.escaped.is_none();
        }
        json.push('"');
        Self::of(RawValue::from_string(json).expect("a JSON string"), is_plain)
    }

    /// Returns the texts as one, with another text between them. Borrowed if there is only one, and
    /// `None` if there are none.
    pub fn join<'a>(
        texts: impl IntoIterator<Item = &'a Self>,
        between: &str,
    ) -> Option<Cow<'a, Self>> {
        let mut texts = texts.into_iter();
        let first = texts.next()?;
        let Some(second) = texts.next() else { return Some(Cow::Borrowed(first)) };
        let between = Self::from(between);
        let more = iter::once(second).chain(texts).flat_map(|text| [&between, text]);
        Some(Cow::Owned(Self::concat(iter::once(first).chain(more))))
    }

    /// Adds to the end. The whole text is copied, so pieces are better collected in a `String`.
    pub fn push_str(&mut self, more: &str) {
        *self = Self::concat([&*self, &more.into()]);
    }

    /// Reads the JSON string at the beginning of `bytes`, and returns it with the bytes behind it.
    /// `None` if it is malformed, or is not the one that is written for its text: it has other
    /// escapes than those of one character.
    pub(crate) fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        if bytes.first() != Some(&b'"') {
            return None;
        }
        let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<&RawValue>();
        let json = values.next()?.ok()?;
        let is_plain = is_plain(json.get())?;
        Some((Self::of(json.to_owned(), is_plain), &bytes[values.byte_offset()..]))
    }

    fn of(json: Box<RawValue>, is_plain: bool) -> Self {
        Self { json, escaped: (!is_plain).then(Box::default) }
    }

    /// Returns what stands between the quotes.
    fn inner(&self) -> &str {
        let json = self.json.get();
        &json[1..json.len() - 1]
    }

    /// Resolves the escapes, which are those that `quoted` writes.
    fn unescaped(&self) -> String {
        let mut rest = self.inner();
        let mut text = String::with_capacity(rest.len());
        while let Some(at) = find_escape(rest.as_bytes()) {
            text.push_str(&rest[..at]);
            let mut length = 2;
            text.push(match rest.as_bytes()[at + 1] {
                b'n' => '\n',
                b't' => '\t',
                b'r' => '\r',
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'u' => {
                    length = 6;
                    let code = u8::from_str_radix(&rest[at + 4..at + 6], 16);
                    char::from(code.expect("two digits"))
                }
                itself => char::from(itself),
            });
            rest = &rest[at + length..];
        }
        text.push_str(rest);
        text
    }
}

/// Returns whether a text is blank for the strictest provider: white space, and the four separators
/// that some languages treat as white space.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(is_blank_char)
}

fn is_blank_char(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// Returns whether a JSON string has no escapes. `None` if it has others than those of one
/// character that are written.
fn is_plain(json: &str) -> Option<bool> {
    let (mut rest, mut is_plain) = (json.as_bytes(), true);
    while let Some(at) = find_escape(rest) {
        let [_, b'n' | b'"' | b'\\' | b't' | b'r' | b'b' | b'f', behind @ ..] = &rest[at..] else {
            return None;
        };
        (rest, is_plain) = (behind, false);
    }
    Some(is_plain)
}

/// Returns the position of the next escape. A JSON document within a string has one every five to
/// ten bytes, where a call of `memchr` takes longer than a look at the next word.
fn find_escape(json: &[u8]) -> Option<usize> {
    let near = json.first_chunk().map_or(0, before_escape);
    match near {
        0 | NEAR => memchr::memchr(b'\\', &json[near..]).map(|at| near + at),
        found => Some(found),
    }
}

/// Returns the number of bytes before the first backslash.
fn before_escape(word: &[u8; NEAR]) -> usize {
    const ONES: u128 = u128::from_le_bytes([1; NEAR]);
    // Only a byte that is zero borrows for its highest bit, up to the first one.
    let zero_at_escape = u128::from_le_bytes(*word) ^ (ONES * b'\\' as u128);
    let found = zero_at_escape.wrapping_sub(ONES) & !zero_at_escape & (ONES << 7);
    found.trailing_zeros() as usize / 8
}

/// Returns the JSON string for a text: the one that `serde_json` writes, which looks at one byte at
/// a time.
fn quoted(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    json.push('"');
    let mut rest = text;
    loop {
        let (plain, behind) = rest.split_at(plain_length(rest.as_bytes()));
        json.push_str(plain);
        let Some(special) = behind.chars().next() else { break };
        rest = &behind[special.len_utf8()..];
        json.push_str(match special {
            '\n' => "\\n",
            '"' => "\\\"",
            '\\' => "\\\\",
            '\t' => "\\t",
            '\r' => "\\r",
            '\u{8}' => "\\b",
            '\u{c}' => "\\f",
            control => {
                _ = write!(json, "\\u{:04x}", u32::from(control));
                continue;
            }
        });
    }
    json.push('"');
    json
}

/// Returns the number of bytes before the first one that ends a JSON string or is escaped in it.
pub(crate) fn plain_length(bytes: &[u8]) -> usize {
    let is_special = |byte: u8| (byte == b'"') | (byte == b'\\') | (byte < 0x20);
    // Without an early end within a step, so that all of its bytes are compared at once.
    let is_plain = |step: &[u8; STEP]| {
        step.iter().fold(0, |found, byte| found | u8::from(is_special(*byte))) == 0
    };
    let (steps, _) = bytes.as_chunks::<STEP>();
    let plain = steps.iter().take_while(|step| is_plain(step)).count() * STEP;
    let rest = &bytes[plain..];
    plain + rest.iter().position(|byte| is_special(*byte)).unwrap_or(rest.len())
}

impl Deref for JsonString {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for JsonString {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Borrow<str> for JsonString {
    fn borrow(&self) -> &str {
        self
    }
}

impl AsRef<[u8]> for JsonString {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl From<&str> for JsonString {
    fn from(text: &str) -> Self {
        let json = quoted(text);
        // Every escape adds a byte, at least.
        let is_plain = json.len() == text.len() + 2;
        Self::of(RawValue::from_string(json).expect("a JSON string"), is_plain)
    }
}

impl From<String> for JsonString {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&String> for JsonString {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<Cow<'_, str>> for JsonString {
    fn from(text: Cow<'_, str>) -> Self {
        Self::from(&*text)
    }
}

impl From<JsonString> for String {
    fn from(text: JsonString) -> Self {
        text.to_cow().into_owned()
    }
}

impl<'a> From<&'a JsonString> for Cow<'a, JsonString> {
    fn from(text: &'a JsonString) -> Self {
        Self::Borrowed(text)
    }
}

impl From<JsonString> for Cow<'_, JsonString> {
    fn from(text: JsonString) -> Self {
        Self::Owned(text)
    }
}

impl Default for JsonString {
    fn default() -> Self {
        Self::from("")
    }
}

impl PartialEq for JsonString {
    fn eq(&self, other: &Self) -> bool {
        self.json.get() == other.json.get()
    }
}

impl Eq for JsonString {}

impl PartialEq<str> for JsonString {
    fn eq(&self, other: &str) -> bool {
        self.to_cow() == other
    }
}

impl PartialEq<&str> for JsonString {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}

impl PartialEq<String> for JsonString {
    fn eq(&self, other: &String) -> bool {
        self == other.as_str()
    }
}

impl fmt::Debug for JsonString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_cow(), f)
    }
}

impl fmt::Display for JsonString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_cow(), f)
    }
}

impl Serialize for JsonString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for JsonString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = r"(?s)([a-z]{0,40}|[\x00-\x7f]|.){0,12}";
    const LINES: &str = r#"(?s)[a\n"\\é]{0,4}"#;

    proptest! {
        #[test]
        fn a_text_is_the_json_string_that_serde_writes(text in TEXT) {
            let json = serde_json::to_string(&text).unwrap();
            let made = JsonString::from(text.as_str());
            prop_assert_eq!(made.as_raw().get(), &json);
            prop_assert_eq!(made.to_cow(), text.as_str());
            prop_assert_eq!(made.is_blank(), is_blank(&text));
            prop_assert_eq!(made.is_empty(), text.is_empty());
            prop_assert_eq!(serde_json::to_string(&made).unwrap(), json.as_str());
            let read: JsonString = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(&read, &made);
            let raw: &RawValue = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(JsonString::from_raw(raw), Some(made.clone()));
            // Behind it may stand anything.
            let body = format!("{json},\u{1}");
            if let Some((read, behind)) = JsonString::read(body.as_bytes()) {
                prop_assert_eq!(&read, &made);
                prop_assert_eq!(behind, b",\x01");
            }
            prop_assert_eq!(made.as_str(), text.as_str());
        }

        #[test]
        fn texts_are_joined_as_texts(texts in prop::collection::vec(LINES, 0..4)) {
            let parts: Vec<JsonString> = texts.iter().map(JsonString::from).collect();
            prop_assert_eq!(JsonString::concat(&parts), JsonString::from(texts.concat()));
            let joined = JsonString::join(&parts, "\n").map(Cow::into_owned);
            let expected = (!texts.is_empty()).then(|| JsonString::from(texts.join("\n")));
            prop_assert_eq!(joined, expected);
        }
    }

    #[test]
    fn only_a_text_is_taken_over() {
        let taken = |json: &str| JsonString::from_raw(serde_json::from_str(json).unwrap());
        assert_eq!(taken(r#""caf\u00e9 \/""#).unwrap(), "café /");
        assert_eq!([taken("1"), taken("null"), taken(r#""\ud800""#)], [None, None, None]);
    }

    #[test]
    fn json_strings_that_are_written_otherwise_are_not_taken_over() {
        for json in [r#""\u00e9""#, r#""\/""#, r#""\u000a""#, r#""\ud800""#, "\"\n\"", "\"a", "1"] {
            assert!(JsonString::read(json.as_bytes()).is_none(), "{json}");
        }
        let (read, behind) = JsonString::read(br#""a\nb"]"#).unwrap();
        assert_eq!((read.as_str(), behind), ("a\nb", &b"]"[..]));
    }
}
