//! Tools for authors of codecs: parsing and building JSON objects whose values keep their original
//! text, and checking whether a message still matches its source.
//!
//! Values are parsed one level at a time and never as a tree. So numbers keep their digits, and
//! deeply nested input costs nothing. The meaning of keys is up to each codec.

mod media;
mod raw;

use std::fmt;
use std::sync::LazyLock;

pub use media::{
    ANTHROPIC_MEDIA, GEMINI_MEDIA, MediaFault, MediaRule, MediaRules, OPENAI_MEDIA, SentMedia,
    counted_media, is_base64, is_file_id, is_web_url, lost_media, media_kind,
};
pub use raw::{
    Entries, Key, json_string, kept, raw_kind, raw_text, read_list, read_object, read_text,
    wrong_type_of,
};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, Unexpected, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use context_core::base::{DiagnosticCode, JsonMap, Severity};
use context_core::model::WireError;
use context_core::{Diagnostic, Json, JsonString, Message, ModelRequest};

/// A message that was lifted from its wire form.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct Lifted {
    /// The message.
    pub message: Message,
    /// Content that could not be parsed. It was kept.
    pub diagnostics: Vec<Diagnostic>,
}

impl Lifted {
    /// Creates a lifted message from a message and diagnostics.
    pub fn new(message: Message, diagnostics: Vec<Diagnostic>) -> Self {
        Self { message, diagnostics }
    }
}

/// A message in its wire form.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct Lowered {
    /// The objects that represent the message: several if the form has one for each result or item,
    /// none if the form can represent no part of the message.
    pub messages: Vec<Json>,
    /// Content that the form cannot represent. It was left out.
    pub diagnostics: Vec<Diagnostic>,
}

impl Lowered {
    /// Creates a lowered message from objects and diagnostics.
    pub fn new(messages: Vec<Json>, diagnostics: Vec<Diagnostic>) -> Self {
        Self { messages, diagnostics }
    }
}

/// Deserializes a type that borrows from the text. `path` is the position of the text. Only a text
/// that does not match is parsed a second time, to locate the error.
pub fn read<'a, T: Deserialize<'a>>(text: &'a str, path: &str) -> Result<T, WireError> {
    serde_json::from_str(text).map_err(|source| {
        let mut reader = serde_json::Deserializer::from_str(text);
        let Err(error) = serde_path_to_error::deserialize::<_, T>(&mut reader) else {
            // The value is valid, but followed by other text.
            return unreadable(path, source);
        };
        let inner = error.path().to_string();
        let path = match inner.as_str() {
            "." => path.to_owned(),
            _ if path.is_empty() || inner.starts_with('[') => format!("{path}{inner}"),
            _ => format!("{path}.{inner}"),
        };
        WireError::Unreadable { path, source: error.into_inner() }
    })
}

/// Returns the items of the list at `path`.
pub fn list(json: &Json, path: &str) -> Result<Vec<Json>, WireError> {
    if kind(json) != "a list" {
        return Err(wrong_type(json, path, "a list"));
    }
    json.parse().map_err(|source| unreadable(path, source))
}

/// Creates the error for a value whose type the form does not allow.
pub fn wrong_type(json: &Json, path: &str, expected: &'static str) -> WireError {
    WireError::WrongType { path: path.to_owned(), expected, found: kind(json) }
}

fn unreadable(path: &str, source: serde_json::Error) -> WireError {
    WireError::Unreadable { path: path.to_owned(), source }
}

/// Returns a human-readable name of a value's type.
pub fn kind(json: &Json) -> &'static str {
    kind_of(json.as_str())
}

/// Returns the type of a value from its text.
fn kind_of(json: &str) -> &'static str {
    match json.trim_start().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

/// Returns the text of a string. A lone surrogate, which JSON can represent and UTF-8 cannot,
/// becomes U+FFFD.
pub fn text(json: &Json) -> Option<String> {
    text_of_str(json.as_str())
}

fn text_of_str(json: &str) -> Option<String> {
    if kind_of(json) != "a string" {
        return None;
    }
    serde_json::from_str(json).ok().or_else(|| {
        let bytes = serde_json::Deserializer::from_str(json).deserialize_bytes(Lossy).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    })
}

/// A string in which lone surrogates are replaced by U+FFFD. For fields of deserialized types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossyText(pub String);

impl<'de> Deserialize<'de> for LossyText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = deserializer.deserialize_bytes(Lossy)?;
        let lossy = |error: std::string::FromUtf8Error| {
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        };
        Ok(Self(String::from_utf8(bytes).unwrap_or_else(lossy)))
    }
}

/// A string that is taken over as a [`JsonString`]; see [`json_string`]. For fields of types that
/// are deserialized from JSON text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenText(pub JsonString);

impl<'de> Deserialize<'de> for TakenText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        let wrong = || D::Error::invalid_type(Unexpected::Other(raw_kind(raw)), &"a string");
        json_string(raw).map(Self).ok_or_else(wrong)
    }
}

/// Returns whether `original` equals `compact` except for white space between tokens.
pub fn same_but_for_space(compact: &str, original: &str) -> bool {
    if compact.len() >= original.len() {
        return compact == original;
    }
    let (mut left, mut in_string, mut escaped) = (compact.bytes(), false, false);
    for byte in original.bytes() {
        if !in_string && matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            continue;
        }
        if left.next() != Some(byte) {
            return false;
        }
        in_string ^= byte == b'"' && !escaped;
        escaped = in_string && byte == b'\\' && !escaped;
    }
    left.next().is_none()
}

/// Returns whether `json` is a single string with only the short escapes. Used to skip comparisons,
/// because such a text is written as it was read.
pub fn is_plain_string(json: &str) -> bool {
    let Some(mut inner) = json.strip_prefix('"').and_then(|json| json.strip_suffix('"')) else {
        return false;
    };
    while let Some((before, escape)) = inner.split_once('\\') {
        let is_short = matches!(
            escape.as_bytes().first(),
            Some(b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't')
        );
        if before.contains('"') || !is_short {
            return false;
        }
        inner = &escape[1..];
    }
    !inner.contains('"')
}

struct Lossy;

impl Visitor<'_> for Lossy {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(bytes.to_vec())
    }
}

/// Creates an object from entries, in order.
pub fn object<'a>(entries: impl IntoIterator<Item = (&'a str, Json)>) -> Json {
    let map: JsonMap = entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    from_map(&map)
}

/// Creates an object from a map.
pub fn from_map(map: &JsonMap) -> Json {
    Json::from_serialize(map).expect("text keys and JSON values")
}

/// Creates a list.
pub fn array(items: &[Json]) -> Json {
    Json::from_serialize(items).expect("JSON values")
}

/// Returns null.
pub fn null() -> Json {
    static NULL: LazyLock<Json> = LazyLock::new(|| Value::Null.into());
    NULL.clone()
}

/// Returns true.
pub fn truth() -> Json {
    static TRUE: LazyLock<Json> = LazyLock::new(|| Value::Bool(true).into());
    TRUE.clone()
}

/// Returns whether two messages have the same role and parts, so that data kept about the source of
/// one still applies to the other.
pub fn says_the_same(a: &Message, b: &Message) -> bool {
    a.role == b.role && a.parts == b.parts
}

/// Returns whether two requests have the same settings: tools, tool choice, output schema, output
/// limit, temperature, settings of the prompt cache except its marks, and the metadata under these
/// keys.
pub fn same_settings(a: &ModelRequest, b: &ModelRequest, keys: &[&str]) -> bool {
    a.tools == b.tools
        && a.tool_choice == b.tool_choice
        && a.output == b.output
        && a.max_output_tokens == b.max_output_tokens
        && a.temperature == b.temperature
        && a.cache_key == b.cache_key
        && a.cache_lifetime == b.cache_lifetime
        && a.cached_content == b.cached_content
        && keys.iter().all(|key| a.metadata.get(key) == b.metadata.get(key))
}

/// Returns the diagnostic for a message that no longer matches the source data under `key` and was
/// written without it.
pub fn outdated(key: &str) -> Diagnostic {
    let text = "changed since it was read: written without the fields that only its source had";
    Diagnostic::new(DiagnosticCode::Unrepresentable, Severity::Info, key, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_surrogate_pair_is_read_as_a_replacement_character() {
        let read = |json: &str| serde_json::from_str::<LossyText>(json).map(|text| text.0);
        assert_eq!(read(r#""a\n\u00e9""#).unwrap(), "a\né");
        assert_eq!(read(r#""\ud83d\ude00""#).unwrap(), "😀");
        let half = read(r#""a\ud83db""#).unwrap();
        assert!(
            half.starts_with('a') && half.contains('\u{fffd}') && half.ends_with('b'),
            "{half:?}"
        );
        assert!(read("1").is_err());
        assert!(read("null").is_err());
    }

    #[test]
    fn white_space_between_tokens_makes_no_difference() {
        let compact = r#"{"a b":[1,"x \" y\\"]}"#;
        for same in [compact, "{ \"a b\" :\n\t[1, \"x \\\" y\\\\\"]\r}", &format!(" {compact} ")] {
            assert!(same_but_for_space(compact, same), "{same}");
        }
        for other in [
            r#"{"ab":[1,"x \" y\\"]}"#,
            r#"{"a b":[1,"x  \" y\\"]}"#,
            r#"{"a b":[1,"x \" y\\"]} 1"#,
            r#"{"a b":[1,"x \" y\\"]"#,
            r#"{ "a b":[2,"x \" y\\"]}"#,
        ] {
            assert!(!same_but_for_space(compact, other), "{other}");
        }
    }

    #[test]
    fn plain_strings_are_those_that_are_written_as_they_stand() {
        for json in [
            r#""""#,
            r#""a""#,
            r#""a\"b\\""#,
            r#""\n\u00e9""#,
            r#""\/""#,
            r#""a","b""#,
            r#""a\\","b""#,
            "1",
            r#"""#,
            r#"["a"]"#,
            r#""\b\f\r\t""#,
        ] {
            let read = serde_json::from_str::<String>(json);
            let expected = read.is_ok_and(|text| serde_json::to_string(&text).unwrap() == json);
            assert_eq!(is_plain_string(json), expected, "{json}");
        }
    }
}
