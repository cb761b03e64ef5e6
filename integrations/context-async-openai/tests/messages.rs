//! Messages of both forms, there and back.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use async_openai::types::chat::ChatCompletionRequestMessage;
use async_openai::types::responses::InputItem;
use context_async_openai::{chat, responses};
use context_runtime::{Data, Json, Media, MediaSource, Message, Metadata, Part, Role};
use serde_json::json;

fn conversation() -> Vec<Message> {
    let image = Media {
        source: MediaSource::Base64("QUJD".into()),
        media_type: Some("image/png".into()),
        name: None,
        metadata: Metadata::default(),
    };
    let calls = ["a", "b"].map(|id| Part::tool_call(id, "trains", json!({"to": "Lisbon"})));
    vec![
        Message::text(Role::System, "You book trips."),
        Message::new(Role::User, [Part::text("Where is this?"), Part::Image(image)]),
        Message::new(Role::Assistant, [Part::text("I look.")].into_iter().chain(calls)),
        Message::new(
            Role::Tool,
            [("a", "10:05"), ("b", "none")].map(|(id, text)| Part::tool_result(id, text)),
        ),
        Message::text(Role::Assistant, "At five past ten."),
    ]
}

#[test]
fn a_conversation_survives_chat_completions() {
    let ours = conversation();
    let theirs = chat::to_messages(&ours).unwrap();
    assert!(theirs.diagnostics.is_empty(), "{:?}", theirs.diagnostics);
    let mut back = chat::from_messages(&theirs.items).unwrap().items;
    // Each result is a message of its own there.
    let second = back.remove(4);
    back[3].parts.extend(second.parts);
    assert_eq!(contents(&back), contents(&ours));
}

#[test]
fn a_conversation_survives_the_responses_api() {
    let ours = conversation();
    let theirs = responses::to_items(&ours).unwrap();
    assert!(theirs.diagnostics.is_empty(), "{:?}", theirs.diagnostics);
    let back = responses::from_items(&theirs.items).unwrap().items;
    assert_eq!(contents(&back), contents(&ours));
}

/// Roles and contents, without what the metadata keep of the form.
fn contents(messages: &[Message]) -> Vec<(Role, Vec<String>)> {
    let part = |part: &Part| match part {
        Part::Text(text) => text.text.to_string(),
        Part::ToolCall(call) => format!("{} {} {}", call.id, call.name, call.input.as_written()),
        Part::ToolResult(result) => format!("{} {:?}", result.call_id, result.output),
        Part::Image(media) => format!("{:?} {:?}", media.source, media.media_type),
        other => format!("{other:?}"),
    };
    messages
        .iter()
        .map(|message| (message.role, message.parts.iter().map(part).collect()))
        .collect()
}

#[test]
fn messages_of_async_openai_come_back_equal() {
    let written = json!([
        {"role": "developer", "content": "You book trips."},
        {"role": "system", "content": [{"type": "text", "text": "Ask first."}], "name": "house"},
        {"role": "user", "content": [
            {"type": "text", "text": "Where is this?"},
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}},
            {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}},
            {"type": "file", "file": {"file_id": "file_1"}},
        ], "name": "ada"},
        {"role": "assistant", "content": "I look.", "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "trains", "arguments": "{\"to\": \"Lis"}},
        ]},
        {"role": "tool", "content": "10:05", "tool_call_id": "a"},
        {"role": "assistant", "refusal": "I cannot."},
    ]);
    let theirs: Vec<ChatCompletionRequestMessage> = serde_json::from_value(written).unwrap();
    let ours = chat::from_messages(&theirs).unwrap();
    assert_eq!(chat::to_messages(&ours.items).unwrap().items, theirs);
}

#[test]
fn input_items_of_async_openai_come_back_equal() {
    let written = json!([
        {"type": "message", "role": "developer", "content": "You book trips."},
        {"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "Where is this?"},
            {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "low"},
        ]},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "West."}],
            "encrypted_content": "c2VjcmV0"},
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "trains",
            "arguments": "{\"to\": \"Lisbon\"}"},
        {"type": "function_call_output", "call_id": "a", "output": "10:05"},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
            {"type": "output_text", "text": "At five past ten.", "annotations": []},
        ]},
        {"type": "item_reference", "id": "msg_0"},
    ]);
    let theirs: Vec<InputItem> = serde_json::from_value(written).unwrap();
    let ours = responses::from_items(&theirs).unwrap();
    assert_eq!(responses::to_items(&ours.items).unwrap().items, theirs);
    let thought = ours.items.iter().flat_map(|message| &message.parts);
    let thought = thought.filter(|part| matches!(part, Part::Reasoning(_)));
    assert_eq!(thought.count(), 1);
}

#[test]
fn content_without_a_place_is_named() {
    let data = Data { name: "progress".into(), value: Json::from("half") };
    let ours = [Message::from("Hello."), Message::from(vec![Part::text("Hm."), Part::Data(data)])];
    let named = chat::to_messages(&ours).unwrap().diagnostics;
    assert_eq!(named.len(), 1);
    assert!(named[0].path.starts_with("messages[1]"), "{}", named[0].path);
    assert_eq!(responses::to_items(&ours).unwrap().diagnostics.len(), 1);
}

#[test]
fn what_is_no_request_is_refused() {
    assert!(chat::to_request(&Json::from("no request")).is_err());
    assert!(responses::to_request(&Json::from("no request")).is_err());
}
