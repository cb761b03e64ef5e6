//! JSON values that keep their original text.
//!
//! Tool inputs, provider blocks and metadata are sent back byte for byte: key order is part of a
//! prompt-cache prefix, and a long number must not become a float. So they are kept as text and
//! parsed on demand, never as a tree. For data to be rendered there is
//! [`FragmentData`](crate::FragmentData).

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::json_string::JsonString;

/// A JSON value as its original text. Cheap to clone. Two values are equal if their texts are.
///
/// ```
/// use context_core::Json;
///
/// let json = Json::from_text(r#"{"price": 1.10, "id": 12345678901234567890}"#)?;
/// assert_eq!(json.as_str(), r#"{"price": 1.10, "id": 12345678901234567890}"#); // digits and spaces stay
/// assert_eq!(json.parse::<serde_json::Value>()?["price"], 1.1);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone)]
pub struct Json(
    // In a box, so that a body of megabytes is not copied once more when it is shared.
    Arc<Box<RawValue>>,
);

/// An ordered map of JSON values, for metadata.
pub type JsonMap = indexmap::IndexMap<String, Json>;

impl Json {
    /// Parses JSON text, which must be one complete value.
    pub fn from_text(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.into()).map(Self::from)
    }

    /// Serializes a value to JSON.
    pub fn from_serialize(value: &(impl Serialize + ?Sized)) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self::from)
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Returns the value as a reference.
    pub fn as_raw(&self) -> &RawValue {
        &self.0
    }

    /// Deserializes the value as `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }

    /// Returns the value without white space between tokens, so that it fits on one line.
    #[must_use]
    pub fn compact(&self) -> Self {
        const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];
        let text = self.as_str();
        if is_compact(text) {
            return self.clone();
        }
        let (mut out, mut in_string, mut escaped) =
            (String::with_capacity(text.len()), false, false);
        for c in text.chars() {
            if in_string || !SPACE.contains(&c) {
                out.push(c);
            }
            in_string ^= c == '"' && !escaped;
            escaped = in_string && c == '\\' && !escaped;
        }
        Self::from_text(out).expect("white space between tokens says nothing")
    }

    /// Returns the text of a JSON string. `None` for any other value.
    pub fn to_text(&self) -> Option<String> {
        self.parse().ok()
    }
}

/// Returns whether a value has no white space between tokens. Skips from quote to quote, because
/// most of a value is strings.
fn is_compact(mut text: &str) -> bool {
    loop {
        let (outside, inside) = text.split_once('"').unwrap_or((text, ""));
        if outside.bytes().any(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
            return false;
        }
        let mut rest = inside;
        loop {
            let Some((before, behind)) = rest.split_once('"') else { return true };
            rest = behind;
            // An even number of backslashes does not escape the quote.
            if before.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 0 {
                break;
            }
        }
        text = rest;
    }
}

/// Additional facts: never rendered, in order, without an allocation if empty.
///
/// ```
/// use context_core::Metadata;
///
/// let metadata = Metadata::default().with("source", "import").with("turn", 3);
/// assert_eq!(metadata.get("turn").map(|json| json.as_str()), Some("3"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata(Option<Arc<JsonMap>>);

impl Metadata {
    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns a value.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.as_ref()?.get(key)
    }

    /// Returns the entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().flat_map(|map| map.iter()).map(|(key, value)| (key.as_str(), value))
    }

    /// Sets a value. An existing key keeps its position.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Json>) {
        Arc::make_mut(self.0.get_or_insert_default()).insert(key.into(), value.into());
    }

    /// Removes and returns a value.
    pub fn remove(&mut self, key: &str) -> Option<Json> {
        let map = Arc::make_mut(self.0.as_mut()?);
        let value = map.shift_remove(key);
        if map.is_empty() {
            self.0 = None;
        }
        value
    }

    /// Adds a value.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Json>) -> Self {
        self.insert(key, value);
        self
    }
}

impl From<JsonMap> for Metadata {
    fn from(map: JsonMap) -> Self {
        Self((!map.is_empty()).then(|| Arc::new(map)))
    }
}

impl FromIterator<(String, Json)> for Metadata {
    fn from_iter<I: IntoIterator<Item = (String, Json)>>(entries: I) -> Self {
        Self::from(entries.into_iter().collect::<JsonMap>())
    }
}

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        JsonMap::deserialize(deserializer).map(Self::from)
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        Self(raw.into())
    }
}

impl From<&str> for Json {
    /// Creates a JSON string from a text.
    fn from(text: &str) -> Self {
        Self::from_serialize(text).expect("a text prints as JSON")
    }
}

impl From<&JsonString> for Json {
    /// Takes over the JSON string of a text.
    fn from(text: &JsonString) -> Self {
        Self::from(text.as_raw().to_owned())
    }
}

impl From<&serde_json::Value> for Json {
    fn from(value: &serde_json::Value) -> Self {
        Self::from_serialize(value).expect("a value prints as JSON")
    }
}

impl From<i64> for Json {
    fn from(number: i64) -> Self {
        Self::from_serialize(&number).expect("a number prints as JSON")
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        Self::from(&value)
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compacting_touches_nothing_inside_strings() {
        let text = "{ \"a b\" :\n [ 1.50 , \"\\\" \\\\\" , \"x y\" ]\t}";
        let expected = r#"{"a b":[1.50,"\" \\","x y"]}"#;
        assert_eq!(Json::from_text(text).unwrap().compact().as_str(), expected);
        let compact = Json::from_text(expected).unwrap();
        assert_eq!(compact.compact(), compact);
    }

    #[test]
    fn keeps_order_and_digits() {
        let text = r#"{"z":1,"a":12345678901234567890123,"m":1.50}"#;
        let json: Json = serde_json::from_str(text).unwrap();
        assert_eq!(json.as_str(), text);
        assert_eq!(serde_json::to_string(&vec![json]).unwrap(), format!("[{text}]"));
        assert!(Json::from_text("{} {}").is_err());
        assert_eq!(Json::from("a\"b").as_str(), r#""a\"b""#);
    }
}
