//! Reading of bodies: their list of messages, and all other keys.

use std::fmt;

use context_codec_kit::wire::{Entries, Key};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A body that was read. Most of it is its list.
#[derive(Debug)]
pub(crate) struct BodyIn<'a> {
    pub(crate) entries: Entries<'a>,
    pub(crate) list: Vec<&'a RawValue>,
}

/// Reads an object with a list under `key`, in one pass; returns `None` for anything else.
pub(crate) fn read<'a>(text: &'a str, key: &'static str) -> Option<BodyIn<'a>> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let body = Keys(key).deserialize(&mut reader).ok()??;
    reader.end().ok()?;
    Some(body)
}

/// Returns whether an object with these keys and values has no other key. The object's length
/// decides: it is too short for another key.
pub(crate) fn has_only<const N: usize>(object: &RawValue, entries: [(&str, &RawValue); N]) -> bool {
    const SHORTEST: usize = r#","":0"#.len();
    let of_one = |(key, value): (&str, &RawValue)| r#","":"#.len() + key.len() + value.get().len();
    let known: usize = entries.into_iter().map(of_one).sum();
    object.get().len() < "{}".len() + known - ",".len() + SHORTEST
}

/// The key of the list.
struct Keys(&'static str);

impl<'de> DeserializeSeed<'de> for Keys {
    type Value = Option<BodyIn<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Keys {
    type Value = Option<BodyIn<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with {}", self.0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut entries, mut list) = (Entries::new(), None);
        while let Some(key) = map.next_key::<Key<'de>>()? {
            if key.0 == self.0 {
                list = Some(map.next_value()?);
            } else {
                entries.insert(key, map.next_value()?);
            }
        }
        Ok(list.map(|list| BodyIn { entries, list }))
    }
}
