//! The attributes of entities, activities and agents.

use context_core::Timestamp;
use context_core::trajectory::{FieldValue, Measures, TrajectoryNode, Version};
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Value, json};

use crate::text::{iso_time, started};

/// Attributes by name. Numbers carry their type.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Attributes(IndexMap<String, Value>);

impl Attributes {
    fn new() -> Self {
        Self(IndexMap::new())
    }

    /// Returns attributes with a type of this crate's namespace.
    pub(super) fn of_type(name: &str) -> Self {
        let mut known = Self::new();
        known.put("prov:type", qualified(&format!("context:{name}")));
        known
    }

    /// Returns attributes of an agent with a type of the standard.
    pub(super) fn agent(kind: &str, label: &str) -> Self {
        let mut known = Self::new();
        known.put("prov:type", qualified(&format!("prov:{kind}")));
        known.text("prov:label", label);
        known
    }

    fn put(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    fn text(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.put(name, text.into());
        }
    }

    fn time(&mut self, name: &str, at: Option<Timestamp>) {
        if let Some(text) = at.and_then(iso_time) {
            self.put(name, literal(&text, "xsd:dateTime"));
        }
    }

    fn count(&mut self, name: &str, number: Option<u64>) {
        if let Some(number) = number {
            self.put(name, literal(&number.to_string(), "xsd:unsignedLong"));
        }
    }

    fn field(&mut self, name: &str, value: &FieldValue) {
        let name = format!("context:{name}");
        match value {
            FieldValue::Text(text) => self.text(&name, text),
            FieldValue::Flag(flag) => self.put(&name, literal(&flag.to_string(), "xsd:boolean")),
            other => self.text(&name, other.to_json().as_str()),
        }
    }

    fn measures(&mut self, measures: &Measures) {
        self.text("context:provider", measures.provider.as_deref().unwrap_or_default());
        self.text("context:model", measures.model.as_deref().unwrap_or_default());
        self.count("context:input_tokens", measures.input_tokens);
        self.count("context:output_tokens", measures.output_tokens);
        self.count("context:cache_read_tokens", measures.cache_read_tokens);
        self.count("context:cache_write_tokens", measures.cache_write_tokens);
        self.count("context:reasoning_tokens", measures.reasoning_tokens);
        if let Some(cost) = measures.cost_usd.filter(|cost| cost.is_finite()) {
            self.put("context:cost_usd", literal(&cost.to_string(), "xsd:double"));
        }
        self.text("context:error", measures.error.as_deref().unwrap_or_default());
    }
}

/// Returns the attributes of a node.
pub(super) fn node_attributes(node: &TrajectoryNode, active: bool) -> Attributes {
    let mut known = Attributes::of_type(node.kind().as_str());
    known.text("prov:label", &node.title().to_string());
    known.text("context:description", &node.description);
    known.text("context:author", node.author.as_deref().unwrap_or_default());
    known.put("context:active", literal(&active.to_string(), "xsd:boolean"));
    let measures = node.measures.as_deref();
    if node.kind().is_computation() {
        // These two are plain strings in the format.
        for (name, at) in [
            ("prov:startTime", Some(started(node))),
            ("prov:endTime", measures.and_then(|measures| measures.ended_at)),
        ] {
            known.text(name, &at.and_then(iso_time).unwrap_or_default());
        }
    } else {
        known.time("context:created_at", Some(node.created_at));
    }
    for (field, value) in node.body.iter() {
        known.field(field.name, value);
    }
    if let Some(measures) = measures {
        known.measures(measures);
    }
    known
}

/// Returns the attributes of a version: the earlier values of the changed fields.
pub(super) fn version_attributes(version: &Version) -> Attributes {
    let mut known = Attributes::of_type("Version");
    known.count("context:number", Some(version.number.into()));
    known.time("context:ended_at", Some(version.at));
    known.text("context:changed_by", version.author.as_deref().unwrap_or_default());
    for (name, value) in version.previous.iter() {
        known.field(name, value);
    }
    known
}

fn qualified(name: &str) -> Value {
    literal(name, "prov:QUALIFIED_NAME")
}

fn literal(text: &str, kind: &str) -> Value {
    json!({ "$": text, "type": kind })
}
