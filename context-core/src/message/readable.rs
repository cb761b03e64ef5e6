//! The human-readable text of a message.

use serde_json::Value;

use super::{Message, Part};

impl Message {
    /// Returns the human-readable text: texts, the texts of tool results (of JSON the strings,
    /// without keys) and names of media, joined by line feeds. Tool inputs, reasoning, ids and
    /// provider blocks are left out.
    pub fn readable_text(&self) -> String {
        let mut out = String::new();
        // Parts still to be read, the next one last. Results do not nest in practice, but nothing
        // relies on that.
        let mut left: Vec<&Part> = self.parts.iter().rev().collect();
        while let Some(part) = left.pop() {
            match part {
                Part::Text(text) => add(&mut out, &text.text.to_cow()),
                Part::ToolResult(result) => left.extend(result.output.iter().rev()),
                Part::Image(media) | Part::Document(media) | Part::Audio(media) => {
                    add(&mut out, media.name.as_deref().unwrap_or_default());
                }
                Part::Data(data) => {
                    if let Ok(value) = data.value.parse() {
                        strings(&value, &mut out);
                    }
                }
                Part::Reasoning(_) | Part::ToolCall(_) | Part::Opaque(_) | Part::Unknown(_) => {}
            }
        }
        out
    }
}

fn add(out: &mut String, text: &str) {
    if !text.is_empty() {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(text);
    }
}

fn strings(value: &Value, out: &mut String) {
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        match value {
            Value::String(text) => add(out, text),
            Value::Array(items) => left.extend(items.iter().rev()),
            Value::Object(map) => left.extend(map.values().rev()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{Message, Part, Role};

    #[test]
    fn what_is_read_is_text_and_nothing_around_it() {
        let call = Part::tool_call("call_1", "book", json!({"seat": "window"}));
        assert_eq!(
            Message::new(Role::Assistant, [Part::text("Booked."), call]).readable_text(),
            "Booked."
        );
        let data = Part::Data(crate::message::Data {
            name: "receipt".into(),
            value: json!({"total": 9, "lines": [{"item": "ticket"}, "fee"]}).into(),
        });
        let mut result = Part::tool_result("call_1", "ok");
        if let Part::ToolResult(result) = &mut result {
            result.output.push(data);
        }
        assert_eq!(Message::new(Role::Tool, [result]).readable_text(), "ok\nticket\nfee");
    }
}
