//! Redaction of a node's content.

use super::{FieldForm, FieldValue, NodeBody, TrajectoryNode};
use crate::Json;

/// The replacement for removed content.
const REDACTED: &str = "[redacted]";

impl TrajectoryNode {
    /// Returns the node without its content. Number, kind, times, author, message links, measures
    /// and a generated label are kept. Texts become `[redacted]`, lists and objects become empty,
    /// and description and earlier versions are removed. A label that a caller chose is replaced by
    /// a neutral one.
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
        let label = if self.has_generated_label() {
            self.label.clone()
        } else {
            format!("redacted-{}", self.id.ordinal).into()
        };
        Self {
            label,
            description: "".into(),
            // Every replacement has the form of its field.
            body: body.unwrap_or_else(|_| self.body.clone()),
            versions: Vec::new(),
            ..self.clone()
        }
    }

    /// Returns whether the label was generated: the kind and a number, or the label of a redaction.
    fn has_generated_label(&self) -> bool {
        let number =
            self.label.strip_prefix(self.kind().lower()).filter(|number| !number.is_empty());
        number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
            || *self.label == *format!("redacted-{}", self.id.ordinal)
    }
}

/// Returns the replacement for JSON: an empty list, an empty object or null if that is the field's
/// default.
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
    use crate::trajectory::{Changes, MessageLink, NodeId, TrajectoryNodeKind, Version};

    const SECRET: &str = "kumquat";

    fn planted(kind: TrajectoryNodeKind) -> TrajectoryNode {
        let values = kind.fields().iter().map(|field| {
            Some(match field.form {
                FieldForm::Text => FieldValue::from(SECRET),
                FieldForm::Flag => FieldValue::from(true),
                FieldForm::Json => FieldValue::Json(Json::from(json!({"a": SECRET}))),
            })
        });
        let body = NodeBody::from_values(kind, values.collect::<Vec<_>>()).unwrap();
        let mut node = TrajectoryNode::new(NodeId::new(0, 3), SECRET, body, Timestamp::default());
        node.description = SECRET.into();
        node.messages = vec![MessageLink::new("c", "m")];
        let previous = Changes::new().describe(SECRET);
        node.versions =
            vec![Version { number: 0, at: Timestamp::default(), author: None, previous }];
        node
    }

    #[test]
    fn a_redacted_node_of_any_kind_holds_nothing_and_keeps_its_place() {
        for kind in TrajectoryNodeKind::ALL {
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
        let mut node = planted(TrajectoryNodeKind::Action);
        node.label = "action00003".into();
        assert_eq!(&*node.redacted().label, "action00003");
    }
}
