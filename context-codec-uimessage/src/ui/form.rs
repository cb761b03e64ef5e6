//! The objects of the form: entries in order that borrow from the text, with keys of any name.

use std::borrow::Cow;
use std::fmt;

use context_codec_kit::wire;
use context_core::Json;
use context_core::base::JsonMap;
use context_core::model::WireError;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The key of a UIMessage that holds its parts.
const PARTS: &str = "parts";

/// The entries of an object. Of a repeated key the last value counts, as with every JSON reader.
#[derive(Debug, Default)]
pub(super) struct Entries<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Entries<'a> {
    /// Reads the object at `path`.
    pub(super) fn read(raw: &'a RawValue, path: &JsonPath<'_>) -> Result<Self, WireError> {
        if !is_object(raw) {
            return Err(wrong_type(raw, path, "an object"));
        }
        read(raw, path)
    }

    /// Returns the entries of an object, or `None` for anything else.
    pub(super) fn maybe(raw: &'a RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok()
    }

    /// Returns the entries of an object, or no entries for anything else.
    pub(super) fn of(json: Option<&'a Json>) -> Self {
        json.and_then(|json| Self::maybe(json.as_raw())).unwrap_or_default()
    }

    /// Returns a value, including null.
    pub(super) fn value(&self, key: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// Returns a value that is present and not null.
    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.value(key).filter(|value| value.get() != "null")
    }

    /// Returns a text, if there is one.
    pub(super) fn text(
        &self,
        key: &str,
        path: &JsonPath<'_>,
    ) -> Result<Option<Cow<'a, str>>, WireError> {
        let read = |raw| text(raw).ok_or_else(|| wrong_type(raw, &path.key(key), "a string"));
        self.get(key).map(read).transpose()
    }

    /// Returns a required text.
    pub(super) fn need_text(
        &self,
        key: &str,
        path: &JsonPath<'_>,
    ) -> Result<Cow<'a, str>, WireError> {
        self.text(key, path)?.ok_or_else(|| WireError::Missing { path: path.key(key).to_string() })
    }

    /// Returns a text, or `None` for anything else.
    pub(super) fn maybe_text(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key).and_then(text)
    }

    /// Returns the entries in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), *value))
    }

    /// Returns whether the only key besides these is a `state` of `done`.
    pub(super) fn has_only_done(&self, known: &[&str]) -> bool {
        let mut others = self.iter().filter(|(key, _)| !known.contains(key));
        let only = others.next().filter(|_| others.next().is_none());
        only.is_some_and(|(key, value)| key == "state" && value.get() == r#""done""#)
    }

    /// Returns the entries under other keys than these, or `None` if there are none.
    pub(super) fn rest(&self, known: &[&str]) -> Option<Json> {
        if self.0.iter().all(|(key, _)| known.contains(&key.as_ref())) {
            return None;
        }
        let rest = self.iter().filter(|(key, _)| !known.contains(key));
        let rest: JsonMap = rest.map(|(key, value)| (key.to_owned(), json(value))).collect();
        Some(wire::from_map(&rest))
    }
}

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::with_capacity(4);
        while let Some(key) = map.next_key_seed(TextSeed)? {
            entries.push((key, map.next_value()?));
        }
        Ok(Entries(entries))
    }
}

/// Deserialises a text that borrows where it can.
struct TextSeed;

impl<'de> DeserializeSeed<'de> for TextSeed {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for TextSeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// The path of a value, formatted only for errors and diagnostics.
#[derive(Clone, Copy, Debug)]
pub(super) enum JsonPath<'a> {
    /// The body.
    Top,
    Key(&'a JsonPath<'a>, &'a str),
    Item(&'a JsonPath<'a>, usize),
}

impl<'a> JsonPath<'a> {
    /// Returns the place of a key of the object at this place.
    pub(super) fn key(&'a self, key: &'a str) -> JsonPath<'a> {
        JsonPath::Key(self, key)
    }

    /// Returns the place of an item of the list at this place.
    pub(super) fn item(&'a self, index: usize) -> JsonPath<'a> {
        JsonPath::Item(self, index)
    }
}

impl fmt::Display for JsonPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JsonPath::Top => Ok(()),
            JsonPath::Key(JsonPath::Top, key) => f.write_str(key),
            JsonPath::Key(outer, key) => write!(f, "{outer}.{key}"),
            JsonPath::Item(outer, index) => write!(f, "{outer}[{index}]"),
        }
    }
}

/// A UIMessage with its parts already split into entries, read in one pass.
#[derive(Debug, Default)]
pub(super) struct MessageForm<'a> {
    /// The other keys.
    pub(super) entries: Entries<'a>,
    /// Whether there is a key for parts, even if its value is null.
    pub(super) has_parts: bool,
    pub(super) parts: Option<Vec<Entries<'a>>>,
}

impl<'a> MessageForm<'a> {
    /// Reads the UIMessage at `path`.
    pub(super) fn read(raw: &'a RawValue, path: &JsonPath<'_>) -> Result<Self, WireError> {
        match serde_json::from_str(raw.get()) {
            Ok(form) => Ok(form),
            // Reads step by step, to report the place of the error.
            Err(_) => {
                let entries = Entries::read(raw, path)?;
                let parts = parts_of(&entries, path)?;
                let parts = parts.map(|(parts, path)| {
                    let part = |(i, part)| Entries::read(part, &path.item(i));
                    parts.into_iter().enumerate().map(part).collect::<Result<_, _>>()
                });
                let has_parts = entries.value(PARTS).is_some();
                Ok(Self { has_parts, parts: parts.transpose()?, entries })
            }
        }
    }
}

/// Returns the parts of a UIMessage as they were written.
pub(super) fn raw_parts<'a>(
    raw: &'a RawValue,
    path: &JsonPath<'_>,
) -> Result<Vec<&'a RawValue>, WireError> {
    Ok(parts_of(&Entries::read(raw, path)?, path)?.map(|(parts, _)| parts).unwrap_or_default())
}

/// Returns the parts in these entries of a UIMessage, and their place.
#[allow(clippy::type_complexity, reason = "a pair")]
fn parts_of<'a, 'p>(
    entries: &Entries<'a>,
    path: &'p JsonPath<'p>,
) -> Result<Option<(Vec<&'a RawValue>, JsonPath<'p>)>, WireError> {
    let path = path.key(PARTS);
    let parts = entries.get(PARTS).map(|parts| list(parts, &path));
    Ok(parts.transpose()?.map(|parts| (parts, path)))
}

impl<'de> Deserialize<'de> for MessageForm<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MessageVisitor)
    }
}

struct MessageVisitor;

impl<'de> Visitor<'de> for MessageVisitor {
    type Value = MessageForm<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut form = MessageForm::default();
        form.entries.0.reserve(4);
        while let Some(key) = map.next_key_seed(TextSeed)? {
            if key == PARTS {
                form.has_parts = true;
                form.parts = map.next_value()?;
            } else {
                form.entries.0.push((key, map.next_value()?));
            }
        }
        Ok(form)
    }
}

/// Returns the text of a string.
pub(super) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    wire::raw_text(raw)
}

/// Returns the items of the list at `path`.
pub(super) fn list<'a>(
    raw: &'a RawValue,
    path: &JsonPath<'_>,
) -> Result<Vec<&'a RawValue>, WireError> {
    if !raw.get().starts_with('[') {
        return Err(wrong_type(raw, path, "a list"));
    }
    read(raw, path)
}

/// Reads a value. The path is formatted only for an error.
fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue, path: &JsonPath<'_>) -> Result<T, WireError> {
    serde_json::from_str(raw.get()).or_else(|_| wire::read(raw.get(), &path.to_string()))
}

pub(super) fn is_object(raw: &RawValue) -> bool {
    raw.get().starts_with('{')
}

/// Returns the value without white space between its tokens, so that a body gives the same messages
/// however it is indented.
pub(super) fn json(raw: &RawValue) -> Json {
    Json::from(raw.to_owned()).compact()
}

pub(super) fn wrong_type(raw: &RawValue, path: &JsonPath<'_>, expected: &'static str) -> WireError {
    wire::wrong_type_of(raw, &path.to_string(), expected)
}
