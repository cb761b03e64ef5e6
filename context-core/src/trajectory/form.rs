//! The JSON form of a node.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Measures, MessageLink, NodeBody, NodeId, TrajectoryNode, TrajectoryNodeKind, Version};
use crate::Timestamp;
use crate::base::JsonMap;

#[derive(Serialize, Deserialize)]
struct Form<'a> {
    id: NodeId,
    #[serde(rename = "type")]
    kind: TrajectoryNodeKind,
    label: Arc<str>,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    description: Arc<str>,
    created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    author: Option<Arc<str>>,
    fields: Fields<'a>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    messages: Vec<MessageLink>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    measures: Option<Box<Measures>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    versions: Vec<Version>,
}

#[derive(Deserialize)]
#[serde(from = "JsonMap")]
enum Fields<'a> {
    Body(&'a NodeBody),
    Read(JsonMap),
}

impl From<JsonMap> for Fields<'_> {
    fn from(map: JsonMap) -> Self {
        Self::Read(map)
    }
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Body(body) => body.serialize(serializer),
            Self::Read(map) => map.serialize(serializer),
        }
    }
}

impl Serialize for TrajectoryNode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = Form {
            id: self.id,
            kind: self.kind(),
            label: self.label.clone(),
            description: self.description.clone(),
            created_at: self.created_at,
            author: self.author.clone(),
            fields: Fields::Body(&self.body),
            messages: self.messages.clone(),
            measures: self.measures.clone(),
            versions: self.versions.clone(),
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TrajectoryNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = Form::deserialize(deserializer)?;
        let Fields::Read(fields) = form.fields else { unreachable!("what is read is a map") };
        let body = NodeBody::new(form.kind, &fields).map_err(serde::de::Error::custom)?;
        let mut node = Self {
            id: form.id,
            label: form.label,
            description: form.description,
            created_at: form.created_at,
            author: form.author,
            body,
            messages: form.messages,
            measures: form.measures,
            versions: Vec::with_capacity(form.versions.len()),
        };
        for mut version in form.versions {
            version.previous = node.settle(&version.previous).map_err(serde::de::Error::custom)?;
            node.versions.push(version);
        }
        Ok(node)
    }
}
