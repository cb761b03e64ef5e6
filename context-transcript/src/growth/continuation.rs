//! Whether a message is a stored one that has grown.
//!
//! Agents write some messages piece by piece: the Codex CLI item by item, the Gemini CLI and
//! opencode the record again with each result. So the last messages of a file may still change. A
//! message has grown if it has all that the stored one has: each part, with text that begins with
//! the stored text. Anything else is another message, or an edit of the stored one. In particular,
//! the content of a redacted message never continues its placeholder.

use context_core::message::ToolInput;
use context_core::{Message, Node, Part};

/// The relation between a stored message and the message of a file with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Continuation {
    /// The content is the same.
    Same,
    /// The message of the file continues the stored one.
    Grown,
    /// The stored message was changed in the chat.
    Edited,
    /// The messages are different.
    Other,
}

impl Continuation {
    pub(super) fn between(stored: &Node, new: &Node) -> Self {
        if stored.same_content(new) {
            return Self::Same;
        }
        let has_grown = match (stored.message(), new.message()) {
            (Ok(stored), Ok(new)) => has_grown(stored, new),
            _ => false,
        };
        match has_grown {
            true => Self::Grown,
            false if stored.revision > 0 => Self::Edited,
            false => Self::Other,
        }
    }
}

fn has_grown(stored: &Message, new: &Message) -> bool {
    // Records of a log have metadata, which a redaction removes.
    let is_of_log = new.metadata.iter().any(|(key, _)| stored.metadata.get(key).is_some());
    stored.role == new.role
        && !stored.parts.is_empty()
        && stored.parts.len() <= new.parts.len()
        && stored.parts.iter().zip(&new.parts).all(|(old, new)| part_has_grown(old, new, is_of_log))
}

/// Returns whether a part is the stored one or continues it. A record of a log may be written
/// before it is complete.
fn part_has_grown(stored: &Part, new: &Part, is_of_log: bool) -> bool {
    match (stored, new) {
        (Part::Text(stored), Part::Text(new)) => {
            new.text.starts_with(&*stored.text) && (is_of_log || !stored.text.is_empty())
        }
        (Part::Reasoning(stored), Part::Reasoning(new)) => new.text.starts_with(&*stored.text),
        (Part::ToolCall(stored), Part::ToolCall(new)) => {
            let is_begun = match &stored.input {
                ToolInput::Json(json) => is_of_log && json.as_str() == "{}",
                ToolInput::Invalid(_) => is_of_log,
            };
            stored.id == new.id
                && stored.name == new.name
                && (stored.input == new.input || is_begun)
        }
        (Part::ToolResult(stored), Part::ToolResult(new)) => {
            let outputs = stored.output.iter().zip(&new.output);
            stored.call_id == new.call_id
                && stored.output.len() <= new.output.len()
                && outputs.into_iter().all(|(old, new)| match (old, new) {
                    (Part::Text(old), Part::Text(new)) => new.text.starts_with(&*old.text),
                    (old, new) => old == new,
                })
        }
        (Part::Data(stored), Part::Data(new)) => is_of_log && stored.name == new.name,
        (stored, new) => stored == new,
    }
}
