//! The objects of the form: entries that borrow from the text, in order, with keys of any name.

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

/// The entries of an object. Of a key that is there twice, the last one counts, as with every JSON
/// reader.
#[derive(Debug, Default)]
pub(super) struct Entries<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Entries<'a> {
    /// Reads the object that stands at `path`.
    pub(super) fn read(raw: &'a RawValue, path: &At<'_>) -> Result<Self, WireError> {
        if !is_object(raw) {
            return Err(wrong_type(raw, path, "an object"));
        }
        read(raw, path)
    }

    /// The entries of an object; nothing of anything else.
    pub(super) fn maybe(raw: &'a RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok()
    }

    /// The entries of an object; none of anything else.
    pub(super) fn of(json: Option<&'a Json>) -> Self {
        json.and_then(|json| Self::maybe(json.as_raw())).unwrap_or_default()
    }

    /// A value, also null.
    pub(super) fn value(&self, key: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// A value that is there and not null.
    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.value(key).filter(|value| value.get() != "null")
    }

    /// A text, if there is one.
    pub(super) fn text(&self, key: &str, path: &At<'_>) -> Result<Option<Cow<'a, str>>, WireError> {
        let read = |raw| text(raw).ok_or_else(|| wrong_type(raw, &path.key(key), "a string"));
        self.get(key).map(read).transpose()
    }

    /// A text that must be there.
    pub(super) fn need_text(&self, key: &str, path: &At<'_>) -> Result<Cow<'a, str>, WireError> {
        self.text(key, path)?.ok_or_else(|| WireError::Missing { path: path.key(key).to_string() })
    }

    /// A text; nothing if it is anything else.
    pub(super) fn maybe_text(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key).and_then(text)
    }

    /// The entries in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), *value))
    }

    /// Whether all that it says under other keys than these is that it is done.
    pub(super) fn has_only_done(&self, known: &[&str]) -> bool {
        let mut others = self.iter().filter(|(key, _)| !known.contains(key));
        let only = others.next().filter(|_| others.next().is_none());
        only.is_some_and(|(key, value)| key == "state" && value.get() == r#""done""#)
    }

    /// The entries under other keys than these; nothing if there are none.
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
        while let Some(key) = map.next_key_seed(Text)? {
            entries.push((key, map.next_value()?));
        }
        Ok(Entries(entries))
    }
}

/// A text that borrows where it can.
struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Text {
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

/// Where a value stands. It is written out only if something is to be said of it.
#[derive(Clone, Copy, Debug)]
pub(super) enum At<'a> {
    /// The body.
    Top,
    Key(&'a At<'a>, &'a str),
    Item(&'a At<'a>, usize),
}

impl<'a> At<'a> {
    /// A key of the object that stands here.
    pub(super) fn key(&'a self, key: &'a str) -> At<'a> {
        At::Key(self, key)
    }

    /// An item of the list that stands here.
    pub(super) fn item(&'a self, index: usize) -> At<'a> {
        At::Item(self, index)
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Top => Ok(()),
            At::Key(At::Top, key) => f.write_str(key),
            At::Key(outer, key) => write!(f, "{outer}.{key}"),
            At::Item(outer, index) => write!(f, "{outer}[{index}]"),
        }
    }
}

/// A UIMessage, its parts already in entries: one pass over the text.
#[derive(Debug, Default)]
pub(super) struct MessageForm<'a> {
    /// The other keys.
    pub(super) entries: Entries<'a>,
    /// Whether there is a key for parts, even if it is null.
    pub(super) has_parts: bool,
    pub(super) parts: Option<Vec<Entries<'a>>>,
}

impl<'a> MessageForm<'a> {
    /// Reads the UIMessage that stands at `path`.
    pub(super) fn read(raw: &'a RawValue, path: &At<'_>) -> Result<Self, WireError> {
        match serde_json::from_str(raw.get()) {
            Ok(form) => Ok(form),
            // Step by step, to say where.
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

/// The parts of a UIMessage as they were written.
pub(super) fn raw_parts<'a>(
    raw: &'a RawValue,
    path: &At<'_>,
) -> Result<Vec<&'a RawValue>, WireError> {
    Ok(parts_of(&Entries::read(raw, path)?, path)?.map(|(parts, _)| parts).unwrap_or_default())
}

/// The parts that these entries of a UIMessage have, and where they stand.
#[allow(clippy::type_complexity, reason = "a pair")]
fn parts_of<'a, 'p>(
    entries: &Entries<'a>,
    path: &'p At<'p>,
) -> Result<Option<(Vec<&'a RawValue>, At<'p>)>, WireError> {
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
        while let Some(key) = map.next_key_seed(Text)? {
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

/// The text of a string.
pub(super) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    wire::raw_text(raw)
}

/// Returns the items of the list at `path`.
pub(super) fn list<'a>(raw: &'a RawValue, path: &At<'_>) -> Result<Vec<&'a RawValue>, WireError> {
    if !raw.get().starts_with('[') {
        return Err(wrong_type(raw, path, "a list"));
    }
    read(raw, path)
}

/// Reads a value; its path is written out only for an error.
fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue, path: &At<'_>) -> Result<T, WireError> {
    serde_json::from_str(raw.get()).or_else(|_| wire::read(raw.get(), &path.to_string()))
}

pub(super) fn is_object(raw: &RawValue) -> bool {
    raw.get().starts_with('{')
}

/// The value as it was written, without white space between its tokens: a body gives the same
/// messages however it is indented.
pub(super) fn json(raw: &RawValue) -> Json {
    Json::from(raw.to_owned()).compact()
}

pub(super) fn wrong_type(raw: &RawValue, path: &At<'_>, expected: &'static str) -> WireError {
    wire::wrong_type_of(raw, &path.to_string(), expected)
}
