//! Conversion of the flat formats of recorded chats to messages: texts, calls and results.

use context_core::message::{Media, MediaSource, Text, ToolInput};
use context_core::{Json, Message, Metadata, Part, Role, ToolCall, ToolResult};
use serde_json::Value;

/// Returns the messages of a list. Messages without content are left out.
pub(super) fn messages(list: &[Value]) -> Vec<Message> {
    let mut reader = Reader::default();
    list.iter().for_each(|message| reader.add(message));
    reader.messages
}

#[derive(Default)]
struct Reader {
    messages: Vec<Message>,
    /// The number of calls without an id.
    unnamed: usize,
}

impl Reader {
    fn add(&mut self, message: &Value) {
        let role = match text(message, "role") {
            Some("system" | "developer") => Role::System,
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("tool" | "function") => return self.add_result(message),
            _ => return,
        };
        let (mut parts, mut results) = (Vec::new(), Vec::new());
        for part in content(message.get("content")) {
            match part {
                Part::ToolResult(_) => results.push(part),
                part => parts.push(part),
            }
        }
        let calls = message.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
        parts.extend(
            calls.filter_map(|call| Some(called(text(call, "id")?, call.get("function")?))),
        );
        if let Some(call) = message.get("function_call").filter(|call| call.is_object()) {
            self.unnamed += 1;
            parts.push(called(&self.newest_id(), call));
        }
        self.push(Role::Tool, results);
        self.push(role, parts);
    }

    fn add_result(&mut self, message: &Value) {
        let several =
            message.get("tool_call_ids").and_then(|ids| ids.get(0)).and_then(Value::as_str);
        let id = text(message, "tool_call_id")
            .or(several)
            .map_or_else(|| self.newest_id(), str::to_owned);
        let output = content(message.get("content"));
        let name = text(message, "name").map(str::to_owned);
        self.push(Role::Tool, vec![result(id, name, output, false)]);
    }

    /// Returns the id of the newest call without one.
    fn newest_id(&self) -> String {
        format!("call_{}", self.unnamed)
    }

    fn push(&mut self, role: Role, parts: Vec<Part>) {
        if !parts.is_empty() {
            self.messages.push(Message::new(role, parts));
        }
    }
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

fn called(id: &str, function: &Value) -> Part {
    let input = match function.get("arguments") {
        Some(Value::String(written)) => ToolInput::from_written(written.as_str()),
        Some(input) => ToolInput::Json(Json::from(input)),
        None => ToolInput::from_written("{}"),
    };
    call(id, text(function, "name").unwrap_or_default(), input)
}

fn call(id: &str, name: &str, input: ToolInput) -> Part {
    let metadata = Metadata::default();
    Part::ToolCall(ToolCall { id: id.to_owned(), name: name.to_owned(), input, metadata })
}

fn result(call_id: String, name: Option<String>, output: Vec<Part>, is_error: bool) -> Part {
    Part::ToolResult(ToolResult { call_id, name, output, is_error, metadata: Metadata::default() })
}

/// Returns the parts of a text or of a list of blocks.
fn content(content: Option<&Value>) -> Vec<Part> {
    match content {
        Some(Value::String(text)) => text_part(text).into_iter().collect(),
        Some(Value::Array(blocks)) => blocks.iter().filter_map(block).collect(),
        _ => Vec::new(),
    }
}

fn text_part(text: &str) -> Option<Part> {
    let text = Text { text: text.into(), metadata: Metadata::default() };
    (!text.text.trim().is_empty()).then_some(Part::Text(text))
}

/// Returns the part of a block of a message. The blocks within a result do not nest further.
fn block(block: &Value) -> Option<Part> {
    match text(block, "type")? {
        "tool_result" => {
            let output = match block.get("content") {
                Some(Value::String(text)) => text_part(text).into_iter().collect(),
                Some(Value::Array(blocks)) => blocks.iter().filter_map(plain_block).collect(),
                _ => Vec::new(),
            };
            let failed = block.get("is_error").and_then(Value::as_bool) == Some(true);
            Some(result(text(block, "tool_use_id")?.to_owned(), None, output, failed))
        }
        "tool_use" => {
            let input = ToolInput::Json(Json::from(block.get("input")?));
            Some(call(text(block, "id")?, text(block, "name")?, input))
        }
        _ => plain_block(block),
    }
}

fn plain_block(block: &Value) -> Option<Part> {
    match text(block, "type")? {
        "text" => text_part(text(block, "text")?),
        "image" => {
            let source = block.get("source")?;
            let media_type = text(source, "media_type").map(str::to_owned);
            let source = MediaSource::Base64(text(source, "data")?.into());
            Some(Part::Image(Media {
                source,
                media_type,
                name: None,
                metadata: Metadata::default(),
            }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn chats_with_tools_are_read_in_every_way_they_are_written() {
        let function = json!({"name": "look", "arguments": "{\"at\":1}"});
        let read = messages(&[
            json!({"role": "system", "content": "Be brief."}),
            json!({"role": "user", "content": "Look."}),
            json!({"role": "assistant", "content": null,
                "tool_calls": [{"id": "a", "function": function}]}),
            json!({"role": "tool", "tool_call_ids": ["a"], "content": "seen"}),
            json!({"role": "assistant", "content": "", "function_call": function}),
            json!({"role": "function", "name": "look", "content": "seen again"}),
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "look", "input": {}}]}),
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "no"}],
                 "is_error": true},
                {"type": "text", "text": "Stop."}]}),
            json!({"role": "assistant", "content": " "}),
        ]);
        let input = Json::from_text(r#"{"at":1}"#).unwrap();
        let named = |id: &str, text: &str| {
            let output = text_part(text).into_iter().collect();
            Message::new(
                Role::Tool,
                [result(id.to_owned(), Some("look".to_owned()), output, false)],
            )
        };
        let failed = result("c".to_owned(), None, text_part("no").into_iter().collect(), true);
        assert_eq!(
            read,
            [
                Message::text(Role::System, "Be brief."),
                Message::from("Look."),
                Message::new(Role::Assistant, [Part::tool_call("a", "look", input.clone())]),
                Message::new(Role::Tool, [Part::tool_result("a", "seen")]),
                Message::new(Role::Assistant, [Part::tool_call("call_1", "look", input)]),
                named("call_1", "seen again"),
                Message::new(Role::Assistant, [Part::tool_call("c", "look", json!({}))]),
                Message::new(Role::Tool, [failed]),
                Message::from("Stop."),
            ]
        );
    }
}
