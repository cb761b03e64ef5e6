//! New values of a node's fields, and earlier versions.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{FieldValue, Measures};
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
