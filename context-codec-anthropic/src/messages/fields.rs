//! Reads JSON one level at a time, borrowed from the text: no tree, and copies only of kept values.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use context_codec_kit::wire::{Key, raw_text, read_object, read_text};
use context_core::model::WireError;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The path of a value, formatted only for errors and diagnostics.
#[derive(Clone, Copy, Debug)]
pub(super) enum JsonPath<'p> {
    /// The root value.
    Root,
    /// A key of an object.
    Key(&'p JsonPath<'p>, &'p str),
    /// An item of a list.
    Item(&'p JsonPath<'p>, usize),
}

impl fmt::Display for JsonPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(JsonPath::Root, key) => f.write_str(key),
            Self::Key(parent, key) => write!(f, "{parent}.{key}"),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// The entries of one object, and which of them were understood.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    entries: Vec<Entry<'a>>,
    exact: Cell<bool>,
}

#[derive(Debug)]
struct Entry<'a> {
    key: Cow<'a, str>,
    value: &'a RawValue,
    used: Cell<bool>,
}

impl<'a> Fields<'a> {
    /// Reads the object at `path`.
    pub(super) fn read(raw: &'a RawValue, path: &JsonPath<'_>) -> Result<Self, WireError> {
        read_object(raw, path)
    }

    /// Reads an object, or returns `None`. For inspection only: nothing counts as understood.
    pub(super) fn inspect(raw: &'a RawValue) -> Option<Self> {
        Self::read(raw, &JsonPath::Root).ok()
    }

    fn entry(&self, key: &str) -> Option<&Entry<'a>> {
        // Of a repeated key the last value counts, as with every JSON reader.
        let entry = self.entries.iter().rev().find(|entry| entry.key == key)?;
        entry.used.set(true);
        Some(entry)
    }

    /// Returns a value that is present and not null. Null counts as not understood.
    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        let entry = self.entry(key)?;
        if entry.value.get() == "null" {
            entry.used.set(false);
            return None;
        }
        Some(entry.value)
    }

    /// Returns a value, null or not.
    pub(super) fn any(&self, key: &str) -> Option<&'a RawValue> {
        self.entry(key).map(|entry| entry.value)
    }

    /// Returns a text, if there is one.
    pub(super) fn text(
        &self,
        key: &str,
        path: &JsonPath<'_>,
    ) -> Result<Option<Cow<'a, str>>, WireError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let text = read_text(value, &JsonPath::Key(path, key))?;
        if !is_exact(&text, value) {
            self.exact.set(false);
        }
        Ok(Some(text))
    }

    /// Returns a required text.
    pub(super) fn need_text(
        &self,
        key: &str,
        path: &JsonPath<'_>,
    ) -> Result<Cow<'a, str>, WireError> {
        self.text(key, path)?
            .ok_or_else(|| WireError::Missing { path: JsonPath::Key(path, key).to_string() })
    }

    /// Returns a text, or `None` for anything else. For inspection only: the key does not count as
    /// understood.
    pub(super) fn peek(&self, key: &str) -> Option<Cow<'a, str>> {
        let entry = self.entries.iter().rev().find(|entry| entry.key == key)?;
        raw_text(entry.value)
    }

    /// Returns whether all entries were understood, so that nothing has to be kept separately.
    pub(super) fn is_plain(&self) -> bool {
        self.exact.get() && self.entries.iter().all(|entry| entry.used.get())
    }

    /// Returns the entries that were not asked for, in order, including nulls.
    pub(super) fn rest(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        let unused = self.entries.iter().filter(|entry| !entry.used.get());
        unused.map(|entry| (&*entry.key, entry.value))
    }

    /// Returns all entries, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.entries.iter().map(|entry| (&*entry.key, entry.value))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::with_capacity(4);
                while let Some((Key(key), value)) = map.next_entry()? {
                    entries.push(Entry { key, value, used: Cell::new(false) });
                }
                Ok(Fields { entries, exact: Cell::new(true) })
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

/// Returns whether a text holds all that was written. It does not if the source has half a
/// surrogate pair, which JSON can write and text cannot hold.
pub(super) fn is_exact(text: &str, raw: &RawValue) -> bool {
    !text.contains('\u{fffd}') || serde_json::from_str::<Cow<'_, str>>(raw.get()).is_ok()
}
