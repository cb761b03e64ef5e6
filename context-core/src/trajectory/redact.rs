//! What is left of a node whose content must go.

use super::{FieldForm, FieldValue, Node, NodeBody};
use crate::Json;

/// What stands where content was.
const REDACTED: &str = "[redacted]";

impl Node {
    /// The node without its content: number, kind, times, author, links to messages and measures
    /// stay, and a label that was made up. Texts become `[redacted]`, lists and objects are empty,
    /// description and earlier versions go, and a label that somebody chose becomes one that says
    /// nothing.
    #[must_use]
    pub fn redacted(&self) -> Self {
        let values = self.body.iter().map(|(field, value)| {
            let blank = match value {
                FieldValue::Text(text) if text.is_empty() => value.clone(),
                FieldValue::Text(_) => FieldValue::from(REDACTED),
                FieldValue::Json(_) if field.form == FieldForm::Json => blank_json(field.default),
                other => other.clone(),
            };
            Some(blank)
        });
        let body = NodeBody::from_values(self.kind(), values.collect::<Vec<_>>());
        let label = if self.has_made_up_label() {
            self.label.clone()
        } else {
            format!("redacted-{}", self.id.ordinal).into()
        };
        Self {
            label,
            description: "".into(),
            // Every field has a value of its own form.
            body: body.unwrap_or_else(|_| self.body.clone()),
            versions: Vec::new(),
            ..self.clone()
        }
    }

    /// Whether nobody chose the label: it is the kind and a number, or what a redaction left.
    fn has_made_up_label(&self) -> bool {
        let number =
            self.label.strip_prefix(self.kind().lower()).filter(|number| !number.is_empty());
        number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
            || *self.label == *format!("redacted-{}", self.id.ordinal)
    }
}

/// What stands for JSON that is gone: an empty list or object where the field has one by default.
fn blank_json(default: Option<&'static str>) -> FieldValue {
    let value = match default {
        Some("{}") => serde_json::json!({}),
        Some("[]") => serde_json::json!([]),
        Some("null") => serde_json::Value::Null,
        _ => serde_json::json!(REDACTED),
    };
    FieldValue::Json(Json::from(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Timestamp;
    use crate::trajectory::{Changes, MessageLink, NodeId, NodeKind, Version};

    const SECRET: &str = "kumquat";

    fn planted(kind: NodeKind) -> Node {
        let values = kind.fields().iter().map(|field| {
            Some(match field.form {
                FieldForm::Text => FieldValue::from(SECRET),
                FieldForm::Flag => FieldValue::from(true),
                FieldForm::Json => FieldValue::Json(Json::from(json!({"a": SECRET}))),
            })
        });
        let body = NodeBody::from_values(kind, values.collect::<Vec<_>>()).unwrap();
        let mut node = Node::new(NodeId::new(0, 3), SECRET, body, Timestamp::default());
        node.description = SECRET.into();
        node.messages = vec![MessageLink::new("c", "m")];
        let was = Changes::new().describe(SECRET);
        node.versions = vec![Version { number: 0, at: Timestamp::default(), author: None, was }];
        node
    }

    #[test]
    fn a_redacted_node_of_any_kind_holds_nothing_and_keeps_its_place() {
        for kind in NodeKind::ALL {
            let node = planted(kind);
            let redacted = node.redacted();
            assert!(!serde_json::to_string(&redacted).unwrap().contains(SECRET), "{kind}");
            assert_eq!(
                (redacted.id, redacted.kind(), &redacted.messages),
                (node.id, kind, &node.messages)
            );
            assert_eq!(redacted.redacted(), redacted, "{kind}");
        }
    }

    #[test]
    fn a_label_that_was_made_up_stays() {
        let mut node = planted(NodeKind::Action);
        node.label = "action00003".into();
        assert_eq!(&*node.redacted().label, "action00003");
    }
}
