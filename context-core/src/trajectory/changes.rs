//! What changes of a node, and what it was.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{FieldValue, Measures};
use crate::base::JsonMap;
use crate::{Json, Timestamp};

/// The name of a node's description among its fields.
pub(super) const DESCRIPTION: &str = "description";

/// New values of fields, by name: those of the kind, `description`, and
/// [`measures`](Measures::FIELD).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes(Vec<(Arc<str>, FieldValue)>);

impl Changes {
    /// Changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// And one more field.
    #[must_use]
    pub fn set(mut self, name: impl Into<Arc<str>>, value: impl Into<FieldValue>) -> Self {
        let (name, value) = (name.into(), value.into());
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
        self
    }

    /// And the description.
    #[must_use]
    pub fn describe(self, text: impl Into<Arc<str>>) -> Self {
        self.set(DESCRIPTION, FieldValue::Text(text.into()))
    }

    /// And what it took.
    #[must_use]
    pub fn measure(self, measures: &Measures) -> Self {
        let json = Json::from_serialize(measures).expect("times, numbers and texts print as JSON");
        self.set(Measures::FIELD, json)
    }

    /// Names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &FieldValue)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    /// One value.
    pub fn get(&self, name: &str) -> Option<&FieldValue> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Whether nothing changes.
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
    /// Every value is JSON until [`Node::check`](super::Node::check) says of which form its field
    /// is.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = JsonMap::deserialize(deserializer)?;
        Ok(Self(
            map.into_iter().map(|(name, json)| (name.into(), FieldValue::Json(json))).collect(),
        ))
    }
}

/// What a node was before a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Its number, from 0.
    pub number: u32,
    /// When it ended: when the change was made.
    pub at: Timestamp,
    /// Who made the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Arc<str>>,
    /// The fields that were changed, as they were.
    pub was: Changes,
}
