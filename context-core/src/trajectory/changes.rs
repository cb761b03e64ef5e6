//! New values of a node's fields, and earlier versions.

use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::de::{DeserializeSeed, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::body::DEFAULTS;
use super::{FieldForm, FieldValue, Measures, TrajectoryError, TrajectoryNodeKind};
use crate::base::JsonMap;
use crate::{Json, Timestamp};

/// The field name of a node's description.
pub(super) const DESCRIPTION: &str = "description";

/// New values of fields, by name: the fields of the kind, `description`, and
/// [`measures`](Measures::FIELD).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes(Vec<(Arc<str>, FieldValue)>);

impl Changes {
    /// Creates an empty set of changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a field.
    #[must_use]
    pub fn set(mut self, name: impl Into<Arc<str>>, value: impl Into<FieldValue>) -> Self {
        let (name, value) = (name.into(), value.into());
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn describe(self, text: impl Into<Arc<str>>) -> Self {
        self.set(DESCRIPTION, FieldValue::Text(text.into()))
    }

    /// Sets the measures.
    #[must_use]
    pub fn measure(self, measures: &Measures) -> Self {
        let json = Json::from_serialize(measures).expect("times, numbers and texts print as JSON");
        self.set(Measures::FIELD, json)
    }

    /// Returns names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &FieldValue)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    /// Returns the value of a field.
    pub fn get(&self, name: &str) -> Option<&FieldValue> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Returns whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<N: Into<Arc<str>>, V: Into<FieldValue>> FromIterator<(N, V)> for Changes {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(entries: I) -> Self {
        entries.into_iter().fold(Self::new(), |changes, (name, value)| changes.set(name, value))
    }
}

impl Serialize for Changes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Changes {
    /// Every value is JSON until [`check`](super::TrajectoryNode::check) converts it to the form of
    /// its field.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = JsonMap::deserialize(deserializer)?;
        Ok(Self(
            map.into_iter().map(|(name, json)| (name.into(), FieldValue::Json(json))).collect(),
        ))
    }
}

impl Changes {
    /// Parses the JSON of changes to a node of this kind, each value in the form of its field. The
    /// result is that of parsing and [settling](super::TrajectoryNode::settle), at less cost: names
    /// and defaults are shared.
    pub fn from_json(kind: TrajectoryNodeKind, json: &str) -> Result<Self, serde_json::Error> {
        let mut parser = serde_json::Deserializer::from_str(json);
        let changes = parser.deserialize_map(ChangesOf(kind))?;
        parser.end().map(|()| changes)
    }
}

/// The names of the fields, by kind in table order. All changes share them.
static NAMES: LazyLock<[Box<[Arc<str>]>; TrajectoryNodeKind::ALL.len()]> = LazyLock::new(|| {
    TrajectoryNodeKind::ALL
        .map(|kind| kind.fields().iter().map(|field| field.name.into()).collect())
});

/// Parses changes to a node of a kind.
struct ChangesOf(TrajectoryNodeKind);

impl<'de> Visitor<'de> for ChangesOf {
    type Value = Changes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("values of fields by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Changes, A::Error> {
        let mut changes = Changes::new();
        while let Some(Name(name, field)) = map.next_key_seed(NameOf(self.0))? {
            let value = match field {
                Some(field) => map.next_value_seed(field)?,
                None if *name == *DESCRIPTION => {
                    let text = map.next_value::<Json>()?.to_text();
                    FieldValue::from(text.unwrap_or_default())
                }
                None => FieldValue::Json(map.next_value()?),
            };
            changes = changes.set(name, value);
        }
        Ok(changes)
    }
}

/// The name of a value, and the field of the kind that it is the value of.
struct Name(Arc<str>, Option<FieldOf>);

struct NameOf(TrajectoryNodeKind);

impl<'de> DeserializeSeed<'de> for NameOf {
    type Value = Name;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Name, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for NameOf {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the name of a field of a {}", self.0)
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Name, E> {
        let kind = self.0;
        match kind.field(name) {
            Some(at) => {
                let shared = &NAMES[kind as usize][at];
                let name = if **shared == *name { shared.clone() } else { name.into() };
                Ok(Name(name, Some(FieldOf { kind, at })))
            }
            None if name == DESCRIPTION || name == Measures::FIELD => Ok(Name(name.into(), None)),
            None => Err(E::custom(TrajectoryError::UnknownField { kind, field: name.into() })),
        }
    }
}

/// A field of a kind, by its index.
struct FieldOf {
    kind: TrajectoryNodeKind,
    at: usize,
}

impl<'de> DeserializeSeed<'de> for FieldOf {
    type Value = FieldValue;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<FieldValue, D::Error> {
        let field = &self.kind.fields()[self.at];
        Ok(match field.form {
            FieldForm::Text => FieldValue::from(String::deserialize(deserializer)?),
            FieldForm::Flag => FieldValue::from(bool::deserialize(deserializer)?),
            FieldForm::Json => {
                let json = <&RawValue>::deserialize(deserializer)?;
                let default = DEFAULTS[self.kind as usize][self.at].as_ref();
                match default.filter(|_| field.default == Some(json.get())) {
                    Some(default) => default.clone(),
                    None => FieldValue::from(Json::from(json.to_owned())),
                }
            }
        })
    }
}

/// An earlier version of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// The number of the version, from 0.
    pub number: u32,
    /// The time when the version ended, that is, when the change was made.
    pub at: Timestamp,
    /// The author of the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Arc<str>>,
    /// The previous values of the changed fields.
    #[serde(rename = "was")]
    pub previous: Changes,
}
