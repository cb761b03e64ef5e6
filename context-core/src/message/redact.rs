//! Redaction of a message's content.

use super::{Data, Message, OpaqueBlock, Part, ToolInput};
use crate::{Json, Metadata};

/// The replacement for removed content.
const REDACTED: &str = "[redacted]";

impl Message {
    /// Returns the message without its content but with the same structure: role, number and types
    /// of parts, and the links between calls and results. So the messages after it stay valid.
    /// Texts become `[redacted]`, calls lose their arguments, and media become texts. Reasoning,
    /// provider blocks, data, metadata and unknown parts are removed.
    #[must_use]
    pub fn redacted(&self) -> Self {
        let mut parts: Vec<Part> = self.parts.iter().filter_map(redacted).collect();
        if parts.is_empty() && !self.is_placeholder() {
            parts.push(Part::text(REDACTED));
        }
        Self::new(self.role, parts)
    }

    /// Returns the replacement for a deleted message: its role and no parts. It is not shown to a
    /// model.
    #[must_use]
    pub fn deleted(&self) -> Self {
        Self::new(self.role, [])
    }
}

fn redacted(part: &Part) -> Option<Part> {
    Some(match part {
        Part::Text(_) | Part::Image(_) | Part::Document(_) | Part::Audio(_) => Part::text(REDACTED),
        Part::ToolCall(call) => {
            let mut call = call.clone();
            call.input = ToolInput::Json(Json::from(serde_json::json!({})));
            call.metadata = Metadata::default();
            Part::ToolCall(call)
        }
        Part::ToolResult(result) => {
            let mut result = result.clone();
            result.output = vec![Part::text(REDACTED)];
            result.metadata = Metadata::default();
            Part::ToolResult(result)
        }
        Part::Data(Data { .. })
        | Part::Reasoning(_)
        | Part::Opaque(OpaqueBlock { .. })
        | Part::Unknown(_) => {
            return None;
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Role;

    #[test]
    fn the_shape_stays_and_no_content() {
        let parts =
            [Part::text("my card is 4242"), Part::tool_call("c1", "pay", json!({"card": 4242}))];
        let message = Message::new(Role::Assistant, parts)
            .with_metadata(Metadata::default().with("k", "4242"));
        let redacted = message.redacted();
        assert!(!format!("{redacted:?}").contains("4242"));
        let expected = [Part::text(REDACTED), Part::tool_call("c1", "pay", json!({}))];
        assert_eq!(redacted, Message::new(Role::Assistant, expected));
        assert_eq!(redacted.redacted(), redacted);
        assert!(message.deleted().is_placeholder());
        let thought =
            Message::new(Role::Assistant, [Part::Reasoning(crate::message::Reasoning::default())]);
        assert_eq!(thought.redacted(), Message::text(Role::Assistant, REDACTED));
    }
}
