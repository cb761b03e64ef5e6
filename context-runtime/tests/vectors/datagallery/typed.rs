//! Converting recorded messages to ours.

use context_runtime::trajectory::messages::MessageRecord;
use context_runtime::{Json, Message, Metadata, Part, Role, ToolCall, ToolInput, ToolResult};
use serde_json::Value;

/// Something that our messages cannot express.
pub(super) struct Inexpressible(pub(super) String);

/// Reads messages that are written by role.
pub(super) fn messages(input: &Value) -> Result<Vec<Message>, Inexpressible> {
    let items = input.as_array().ok_or_else(|| Inexpressible("what is no list".to_owned()))?;
    items.iter().map(message).collect()
}

/// Reads messages in their stored form.
pub(super) fn records(input: &Value) -> Result<Vec<MessageRecord>, Inexpressible> {
    let items = input.as_array().ok_or_else(|| Inexpressible("what is no list".to_owned()))?;
    let record = |item| {
        MessageRecord::from_json(&Json::from(item))
            .map_err(|error| Inexpressible(error.to_string()))
    };
    items.iter().map(record).collect()
}

fn message(input: &Value) -> Result<Message, Inexpressible> {
    let text = |key: &str| input[key].as_str().unwrap_or_default().to_owned();
    let said = parts(&input["content"]);
    let mut message = match text("role").as_str() {
        "user" => Message::new(Role::User, said),
        "system" => Message::new(Role::System, said),
        "tool" => {
            let result = ToolResult {
                call_id: text("tool_call_id"),
                name: input["name"].as_str().map(str::to_owned),
                output: said,
                is_error: input["status"] == "error",
                metadata: Metadata::default(),
            };
            Message::new(Role::Tool, [Part::ToolResult(result)])
        }
        "assistant" => {
            let calls = list(&input["tool_calls"]).map(|call| {
                let args = if call["args"].is_null() {
                    Value::Object(Default::default())
                } else {
                    call["args"].clone()
                };
                called(call, ToolInput::Json(Json::from(&args)))
            });
            let invalid = list(&input["invalid_tool_calls"]).map(|call| {
                called(
                    call,
                    ToolInput::Invalid(call["args"].as_str().unwrap_or_default().to_owned()),
                )
            });
            let calls: Vec<_> = calls.chain(invalid).collect();
            // A message with calls alone has no text, which is written as an empty one.
            let silent = !calls.is_empty() && said == [Part::text("")];
            let said = if silent { Vec::new() } else { said };
            Message::new(Role::Assistant, said.into_iter().chain(calls))
        }
        role => return Err(Inexpressible(format!("a role {role:?}"))),
    };
    let beside = ["additional_kwargs", "response_metadata", "usage_metadata", "id"];
    let name = (message.role != Role::Tool).then_some("name");
    for key in beside.into_iter().chain(name) {
        if !input[key].is_null() {
            message.metadata.insert(key, &input[key]);
        }
    }
    if let Some(usage) = message
        .metadata
        .get("usage_metadata")
        .and_then(context_runtime::trajectory::messages::TokenUsage::read)
    {
        message.metadata.insert(
            "usage_metadata",
            Json::from_serialize(&usage).unwrap_or_else(|_| Json::from("")),
        );
    }
    Ok(message)
}

fn called(call: &Value, input: ToolInput) -> Part {
    let text = |key: &str| call[key].as_str().unwrap_or_default().to_owned();
    let error = call["error"].as_str().map(|error| Metadata::default().with("error", error));
    Part::ToolCall(ToolCall {
        id: text("id"),
        name: text("name"),
        input,
        metadata: error.unwrap_or_default(),
    })
}

fn parts(content: &Value) -> Vec<Part> {
    let part = |item: &Value| match (item.as_str(), item["text"].as_str()) {
        (Some(text), _) => Part::text(text),
        (None, Some(text)) => Part::text(text),
        _ => Part::Unknown(Json::from(item)),
    };
    match content {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().map(part).collect(),
        content => vec![part(content)],
    }
}

pub(super) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
