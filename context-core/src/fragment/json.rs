//! The JSON form of fragments, version 1.
//!
//! A fragment is `{"name": …, "data": …}` with optional `id`, `persist`, `untrusted`, `codec` and
//! `metadata`. Inside data it is wrapped, `{"$fragment": {…}}`, because a plain object may have the
//! same keys. Null, booleans, numbers, strings, arrays and objects are written as such, in order.
//! Numbers without a JSON form are written `{"$number": "NaN" | "Infinity" | "-Infinity"}`. An
//! object with a key that begins with `$` is wrapped, `{"$map": {…}}`. So every tree can be read
//! back unchanged.
//!
//! Message fragments have no form here, because messages are stored as messages.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{AttachedCodec, Fragment, FragmentData, Number};
use crate::Metadata;
use crate::base::FragmentId;

/// Maximum nesting depth of containers in the JSON form. A fragment counts as two. JSON parsers
/// stop at 128 levels, so deeper trees can be rendered but not serialized.
pub const MAX_JSON_DEPTH: usize = 120;

/// The JSON Schema (draft 2020-12) of a file with one fragment or a list of fragments.
pub const FRAGMENTS_SCHEMA: &str = include_str!("fragments.schema.json");

const FRAGMENT: &str = "$fragment";
const NUMBER: &str = "$number";
const MAP: &str = "$map";

/// A value and its nesting depth, for serialization within [`MAX_JSON_DEPTH`].
struct DepthTracked<'a, T>(&'a T, usize);

impl Serialize for FragmentData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        DepthTracked(self, 0).serialize(serializer)
    }
}

impl Serialize for Fragment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        DepthTracked(self, 0).serialize(serializer)
    }
}

impl Serialize for DepthTracked<'_, FragmentData> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(data, depth) = *self;
        if depth > MAX_JSON_DEPTH {
            return Err(S::Error::custom(format_args!(
                "data nested more than {MAX_JSON_DEPTH} levels"
            )));
        }
        match data {
            FragmentData::Null => serializer.serialize_unit(),
            FragmentData::Bool(value) => serializer.serialize_bool(*value),
            FragmentData::Number(Number::Int(n)) => serializer.serialize_i64(*n),
            FragmentData::Number(Number::UInt(n)) => serializer.serialize_u64(*n),
            FragmentData::Number(Number::Float(n)) if n.is_finite() => serializer.serialize_f64(*n),
            FragmentData::Number(number) => single(serializer, NUMBER, &number.to_string()),
            FragmentData::Text(text) => serializer.serialize_str(text),
            FragmentData::Fragment(fragment) => {
                single(serializer, FRAGMENT, &DepthTracked(&**fragment, depth + 1))
            }
            FragmentData::List(items) => {
                let mut out = serializer.serialize_seq(Some(items.as_slice().len()))?;
                items
                    .iter()
                    .try_for_each(|item| out.serialize_element(&DepthTracked(item, depth + 1)))?;
                out.end()
            }
            FragmentData::Map(map) if map.iter().any(|(key, _)| key.starts_with('$')) => {
                single(serializer, MAP, &Entries(map, depth + 1))
            }
            FragmentData::Map(map) => Entries(map, depth).serialize(serializer),
            FragmentData::Lazy(_) => {
                Err(S::Error::custom("data that is still to be loaded has no JSON form"))
            }
        }
    }
}

/// The entries of a map at a nesting depth.
struct Entries<'a>(&'a super::FragmentMap, usize);

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_map(self.0.iter().map(|(key, value)| (key, DepthTracked(value, self.1 + 1))))
    }
}

impl Serialize for DepthTracked<'_, Fragment> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(fragment, depth) = *self;
        let Some(data) = fragment.data().filter(|_| !fragment.is_message()) else {
            return Err(S::Error::custom(format_args!(
                "fragment {:?} is a message or of an unknown kind, which have no JSON form as fragments",
                fragment.name()
            )));
        };
        let mut out = serializer.serialize_map(None)?;
        if let Some(id) = fragment.id() {
            out.serialize_entry("id", id)?;
        }
        out.serialize_entry("name", fragment.name())?;
        out.serialize_entry("data", &DepthTracked(data, depth + 1))?;
        if fragment.is_persisted() {
            out.serialize_entry("persist", &true)?;
        }
        if fragment.is_untrusted() {
            out.serialize_entry("untrusted", &true)?;
        }
        if let Some(codec) = fragment.codec() {
            out.serialize_entry("codec", codec)?;
        }
        if !fragment.metadata().is_empty() {
            out.serialize_entry("metadata", fragment.metadata())?;
        }
        out.end()
    }
}

fn single<S: Serializer, T: Serialize>(
    serializer: S,
    key: &str,
    value: &T,
) -> Result<S::Ok, S::Error> {
    let mut out = serializer.serialize_map(Some(1))?;
    out.serialize_entry(key, value)?;
    out.end()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a fragment, an object with `name` and `data`")]
struct FragmentForm {
    id: Option<FragmentId>,
    name: Arc<str>,
    #[serde(default)]
    data: FragmentData,
    #[serde(default)]
    persist: bool,
    #[serde(default)]
    untrusted: bool,
    codec: Option<Arc<str>>,
    #[serde(default)]
    metadata: Metadata,
}

impl<'de> Deserialize<'de> for Fragment {
    /// Accepts the wrapped form, `{"$fragment": {…}}`, too.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = crate::Json::deserialize(deserializer)?;
        let form = match raw.parse::<Wrapper>() {
            Ok(Wrapper { fragment }) => fragment,
            Err(_) => raw.parse::<FragmentForm>().map_err(D::Error::custom)?,
        };
        Ok(form.into())
    }
}

#[derive(Deserialize)]
struct Wrapper {
    #[serde(rename = "$fragment")]
    fragment: FragmentForm,
}

impl From<FragmentForm> for Fragment {
    fn from(form: FragmentForm) -> Self {
        let mut fragment = Fragment::new(form.name, form.data).with_metadata(form.metadata);
        fragment.id = form.id;
        fragment.persist = form.persist;
        fragment.untrusted = form.untrusted;
        fragment.codec = form.codec.map(AttachedCodec::Named);
        fragment
    }
}

impl<'de> Deserialize<'de> for FragmentData {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DataVisitor)
    }
}

struct DataVisitor;

impl<'de> Visitor<'de> for DataVisitor {
    type Value = FragmentData;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fragment data")
    }

    fn visit_unit<E>(self) -> Result<FragmentData, E> {
        Ok(FragmentData::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<FragmentData, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<FragmentData, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<FragmentData, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<FragmentData, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<FragmentData, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<FragmentData, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element::<FragmentData>()? {
            items.push(item);
        }
        Ok(FragmentData::list(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FragmentData, A::Error> {
        let mut entries = IndexMap::<String, FragmentData>::new();
        while let Some(key) = map.next_key::<String>()? {
            let special = match key.as_str() {
                FRAGMENT => Fragment::from(map.next_value::<FragmentForm>()?).into(),
                NUMBER => number(&map.next_value::<String>()?)?,
                MAP => FragmentData::map(map.next_value::<IndexMap<String, FragmentData>>()?),
                _ => {
                    entries.insert(key, map.next_value()?);
                    continue;
                }
            };
            if !entries.is_empty() || map.next_key::<String>()?.is_some() {
                return Err(A::Error::custom(format_args!(
                    "{key:?} must be the only key of its object"
                )));
            }
            return Ok(special);
        }
        Ok(FragmentData::map(entries))
    }
}

fn number<E: serde::de::Error>(name: &str) -> Result<FragmentData, E> {
    match name {
        "NaN" => Ok(f64::NAN.into()),
        "Infinity" => Ok(f64::INFINITY.into()),
        "-Infinity" => Ok(f64::NEG_INFINITY.into()),
        _ => Err(E::custom(format_args!("{name:?} is not the name of a number"))),
    }
}
