//! Reading a vertex as a node.

use std::sync::Arc;

use context_core::Json;
use context_core::base::{JsonMap, limits};
use context_core::trajectory::{
    Field, FieldForm, FieldValue, NodeBody, NodeTitle, TrajectoryNodeKind,
};

use super::finding::Problem;

/// Attributes that every vertex may have and that are not fields.
const COMMON: [&str; 4] = ["id", "node_type", "description", "run_id"];

/// A vertex that was read.
pub(super) struct Vertex {
    /// The name in the file.
    pub(super) name: String,
    pub(super) label: Arc<str>,
    pub(super) description: Arc<str>,
    pub(super) body: NodeBody,
}

/// Reads a vertex. Returns `None` if it has to be left out.
pub(super) fn read_vertex(
    index: usize,
    json: &Json,
    round: u32,
    report: &mut impl FnMut(Problem),
) -> Option<Vertex> {
    let Some((map, name)) = json.parse::<JsonMap>().ok().and_then(|map| {
        let name = map.get("id")?.to_text()?;
        Some((map, name))
    }) else {
        report(Problem::Unnamed { index });
        return None;
    };
    let stated = map.get("node_type").and_then(Json::to_text);
    let Some((kind, label)) = kind_and_label(&name, stated.as_deref(), report) else {
        report(Problem::UnknownType { node: name });
        return None;
    };
    if label.is_empty() || label.len() > limits::MAX_ID_BYTES {
        report(Problem::TooLarge { node: name });
        return None;
    }
    if let Some(stated) = map.get("run_id").filter(|stated| stated.as_str() != round.to_string()) {
        report(Problem::OtherRound { node: name.clone(), stated: stated.as_str().to_owned() });
    }
    let description = match map.get("description") {
        Some(json) if json.as_str() != "null" => as_text(json, &name, "description", report),
        _ => String::new(),
    };
    let body = read_body(kind, &name, &map, report)?;
    if body.bytes() > limits::MAX_BODY_BYTES || description.len() > limits::MAX_BODY_BYTES {
        report(Problem::TooLarge { node: name });
        return None;
    }
    Some(Vertex { label, description: description.into(), body, name })
}

/// Returns the kind and the label from the name of a vertex, or the kind from its type if the name
/// has none.
fn kind_and_label(
    name: &str,
    stated: Option<&str>,
    report: &mut impl FnMut(Problem),
) -> Option<(TrajectoryNodeKind, Arc<str>)> {
    if let Ok(NodeTitle { kind, label }) = name.parse() {
        if let Some(stated) = stated.filter(|stated| *stated != kind.as_str()) {
            report(Problem::OtherType { node: name.to_owned(), stated: stated.to_owned() });
        }
        return Some((kind, label));
    }
    let kind = TrajectoryNodeKind::from_name(stated?).ok()?;
    Some((kind, name.into()))
}

fn read_body(
    kind: TrajectoryNodeKind,
    node: &str,
    map: &JsonMap,
    report: &mut impl FnMut(Problem),
) -> Option<NodeBody> {
    let fields = kind.fields();
    let mut values: Vec<Option<FieldValue>> = vec![None; fields.len()];
    for (name, json) in map {
        if COMMON.contains(&name.as_str()) {
            continue;
        }
        match kind.field(name) {
            // If an old attribute name occurs together with the new one, the new one is used.
            Some(at) if values[at].is_none() || fields[at].name == name => {
                let value = read_value(&fields[at], node, json, report);
                if let Some(old) = values[at].take().filter(|old| Some(old) != value.as_ref()) {
                    let name = fields[at].aliases.first().copied().unwrap_or(name).to_owned();
                    report(Problem::UnknownAttribute {
                        node: node.to_owned(),
                        name,
                        value: old.to_json(),
                    });
                }
                values[at] = value;
            }
            _ => report(Problem::UnknownAttribute {
                node: node.to_owned(),
                name: name.clone(),
                value: json.clone(),
            }),
        }
    }
    for (field, value) in fields.iter().zip(&mut values) {
        if value.is_none() && field.default.is_none() {
            report(Problem::MissingField { node: node.to_owned(), kind, field: field.name });
            *value = Some(FieldValue::from(""));
        }
    }
    let body = NodeBody::from_values(kind, values);
    if body.is_err() {
        report(Problem::UnknownType { node: node.to_owned() });
    }
    body.ok()
}

/// Reads an attribute as the value of its field, or `None` for a null value.
fn read_value(
    field: &Field,
    node: &str,
    json: &Json,
    report: &mut impl FnMut(Problem),
) -> Option<FieldValue> {
    match field.form {
        FieldForm::Json => Some(FieldValue::from(json.clone())),
        // In the node, a missing text is an empty one, also for a required field.
        FieldForm::Text if json.as_str() == "null" => Some(FieldValue::from("")),
        FieldForm::Text => Some(FieldValue::from(as_text(json, node, field.name, report))),
        _ if json.as_str() == "null" => None,
        _ => {
            let flag = json.parse::<bool>().ok();
            if flag.is_none() {
                report(other_form(json, node, field.name));
            }
            flag.map(FieldValue::Flag)
        }
    }
}

fn as_text(json: &Json, node: &str, name: &str, report: &mut impl FnMut(Problem)) -> String {
    json.to_text().unwrap_or_else(|| {
        report(other_form(json, node, name));
        json.compact().as_str().to_owned()
    })
}

fn other_form(json: &Json, node: &str, name: &str) -> Problem {
    Problem::OtherForm { node: node.to_owned(), name: name.to_owned(), value: json.clone() }
}
