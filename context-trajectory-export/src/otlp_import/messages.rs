//! Messages of a span, in each of the forms in which they are written.

use serde_json::{Map, Value};

use super::attributes::{items, json, text};
use super::document::RawSpan;

/// A message of a model call.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SpanMessage {
    pub(super) role: String,
    pub(super) text: String,
    pub(super) reasoning: String,
    pub(super) calls: Vec<SpanCall>,
    /// Results of tools, by call id.
    pub(super) results: Vec<(String, Value)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct SpanCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Value,
}

/// The input and the output of a span.
#[derive(Clone, Debug, Default)]
pub(super) struct Conversation {
    pub(super) system: Vec<String>,
    pub(super) input: Vec<SpanMessage>,
    pub(super) output: Vec<SpanMessage>,
}

const DETAILS: &str = "gen_ai.client.inference.operation.details";

impl Conversation {
    /// Reads the messages of a span, in the first form that it has.
    pub(super) fn of(span: &RawSpan) -> Self {
        let mut found = Self::default();
        let own = std::iter::once(&span.attributes);
        let details = span.events.iter().filter(|(name, _)| name == DETAILS);
        for attributes in own.chain(details.map(|(_, attributes)| attributes)) {
            found.read_current(attributes);
            found.read_flat(attributes);
        }
        found.read_events(span);
        if found.input.is_empty() {
            found.input.extend(value_of(&span.attributes, "input.value", "user"));
        }
        if found.output.is_empty() {
            found.output.extend(value_of(&span.attributes, "output.value", "assistant"));
        }
        let (system, input) = std::mem::take(&mut found.input)
            .into_iter()
            .partition(|message| matches!(&*message.role, "system" | "developer"));
        found.input = input;
        let system: Vec<SpanMessage> = system;
        found.system.extend(system.into_iter().map(|message| message.text));
        found.system.retain(|text| !text.trim().is_empty());
        found
    }

    /// `gen_ai.input.messages` and its companions: JSON, as text or as a structure.
    fn read_current(&mut self, attributes: &Map<String, Value>) {
        let list = |name: &str| attributes.get(name).map(json);
        if let Some(Value::Array(messages)) = list("gen_ai.input.messages") {
            self.input = messages.iter().map(with_parts).collect();
        }
        if let Some(Value::Array(messages)) = list("gen_ai.output.messages") {
            self.output = messages.iter().map(with_parts).collect();
        }
        match list("gen_ai.system_instructions") {
            Some(Value::Array(parts)) => {
                let parts = serde_json::json!({ "parts": parts });
                self.system.push(with_parts(&parts).text);
            }
            Some(Value::String(text)) => self.system.push(text),
            _ => {}
        }
    }

    /// Lists in names with numbers: OpenInference, and an early form of the same idea.
    fn read_flat(&mut self, attributes: &Map<String, Value>) {
        let lists = [
            ("llm.input_messages", "message.", false),
            ("gen_ai.prompt", "", false),
            ("llm.output_messages", "message.", true),
            ("gen_ai.completion", "", true),
        ];
        for (prefix, inner, is_output) in lists {
            let to = if is_output { &mut self.output } else { &mut self.input };
            if to.is_empty() {
                *to = items(attributes, prefix).iter().map(|item| flat(item, inner)).collect();
            }
        }
    }

    /// One event per message, as the conventions had it before.
    fn read_events(&mut self, span: &RawSpan) {
        let (had_input, had_output) = (!self.input.is_empty(), !self.output.is_empty());
        for (name, attributes) in &span.events {
            let role = match name.as_str() {
                "gen_ai.system.message" => "system",
                "gen_ai.user.message" => "user",
                "gen_ai.assistant.message" => "assistant",
                "gen_ai.tool.message" => "tool",
                "gen_ai.choice" => {
                    if !had_output {
                        let body = attributes.get("message").map(json);
                        let body = body.unwrap_or_else(|| Value::Object(attributes.clone()));
                        self.output.push(chat_message(&body, "assistant"));
                    }
                    continue;
                }
                "gen_ai.content.prompt" if !had_input => {
                    self.input.extend(content_event(attributes, "gen_ai.prompt", "user"));
                    continue;
                }
                "gen_ai.content.completion" if !had_output => {
                    let read = content_event(attributes, "gen_ai.completion", "assistant");
                    self.output.extend(read);
                    continue;
                }
                _ => continue,
            };
            if !had_input {
                self.input.push(chat_message(&Value::Object(attributes.clone()), role));
            }
        }
    }
}

fn content_event(attributes: &Map<String, Value>, name: &str, role: &str) -> Vec<SpanMessage> {
    match attributes.get(name).map(json) {
        Some(Value::Array(messages)) => {
            messages.iter().map(|message| chat_message(message, role)).collect()
        }
        Some(other) => vec![said(role, &shown(&other))],
        None => Vec::new(),
    }
}

fn value_of(attributes: &Map<String, Value>, name: &str, role: &str) -> Option<SpanMessage> {
    text(attributes, &[name]).map(|text| said(role, text))
}

fn said(role: &str, text: &str) -> SpanMessage {
    SpanMessage { role: role.to_owned(), text: text.to_owned(), ..SpanMessage::default() }
}

/// Returns a value as text: a text as it is, anything else as JSON.
pub(super) fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn field(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn add(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}

/// A message with typed parts.
fn with_parts(message: &Value) -> SpanMessage {
    let Some(parts) = message.get("parts").and_then(Value::as_array) else {
        return chat_message(message, "user");
    };
    let mut read = SpanMessage { role: field(message, "role"), ..SpanMessage::default() };
    for part in parts {
        let content = || part.get("content").map(shown).unwrap_or_default();
        match part.get("type").and_then(Value::as_str).unwrap_or_default() {
            "text" => add(&mut read.text, &content()),
            "reasoning" => add(&mut read.reasoning, &content()),
            "tool_call" => read.calls.push(SpanCall {
                id: field(part, "id"),
                name: field(part, "name"),
                arguments: part.get("arguments").map_or(Value::Null, json),
            }),
            "tool_call_response" => {
                let result = ["response", "result", "content"];
                let result = result.iter().find_map(|name| part.get(*name));
                read.results.push((field(part, "id"), result.cloned().unwrap_or_default()));
            }
            other => add(&mut read.text, &format!("[{other}]")),
        }
    }
    read
}

/// A message in the form of chat APIs.
fn chat_message(message: &Value, role: &str) -> SpanMessage {
    let own = field(message, "role");
    let role = if own.is_empty() { role.to_owned() } else { own };
    let content = message.get("content").map(json).unwrap_or_default();
    let text = match &content {
        Value::Null => String::new(),
        Value::Array(parts) => {
            let text = |part: &Value| {
                let text = ["text", "content"].iter().find_map(|name| part.get(*name)?.as_str());
                text.map_or_else(|| format!("[{}]", field(part, "type")), str::to_owned)
            };
            parts.iter().map(text).collect::<Vec<_>>().join("\n")
        }
        _ => message.get("content").map(shown).unwrap_or_default(),
    };
    let calls = message.get("tool_calls").map(json).unwrap_or_default();
    let call = |call: &Value| {
        let function = call.get("function").unwrap_or(call);
        SpanCall {
            id: field(call, "id"),
            name: field(function, "name"),
            arguments: function.get("arguments").map_or(Value::Null, json),
        }
    };
    let calls = calls.as_array().map(|calls| calls.iter().map(call).collect());
    let mut read = SpanMessage { calls: calls.unwrap_or_default(), ..said(&role, &text) };
    if role == "tool" {
        let id = ["tool_call_id", "id"].map(|name| field(message, name));
        let id = id.into_iter().find(|id| !id.is_empty()).unwrap_or_default();
        read.results.push((id, Value::String(std::mem::take(&mut read.text))));
    }
    read
}

/// A message in flat names, such as `message.tool_calls.0.tool_call.function.name`.
fn flat(item: &Map<String, Value>, inner: &str) -> SpanMessage {
    let value = |name: &str| item.get(&format!("{inner}{name}"));
    let own = |name: &str| value(name).map(shown).unwrap_or_default();
    let mut read = said(&own("role"), &own("content"));
    for part in items(item, &format!("{inner}contents")) {
        match text(&part, &["message_content.type"]) {
            Some("reasoning") => {
                let thought = text(&part, &["message_content.reasoning", "message_content.text"]);
                add(&mut read.reasoning, thought.unwrap_or_default());
            }
            kind => match text(&part, &["message_content.text"]) {
                Some(text) => add(&mut read.text, text),
                None => add(&mut read.text, &format!("[{}]", kind.unwrap_or("part"))),
            },
        }
    }
    for call in items(item, &format!("{inner}tool_calls")) {
        let first = |names: &[&str]| text(&call, names).unwrap_or_default().to_owned();
        let arguments = ["tool_call.function.arguments", "arguments"];
        let arguments = arguments.iter().find_map(|name| call.get(*name));
        read.calls.push(SpanCall {
            id: first(&["tool_call.id", "id"]),
            name: first(&["tool_call.function.name", "name"]),
            arguments: arguments.map_or(Value::Null, json),
        });
    }
    if read.role == "tool" {
        let result = Value::String(std::mem::take(&mut read.text));
        read.results.push((own("tool_call_id"), result));
    }
    read
}
