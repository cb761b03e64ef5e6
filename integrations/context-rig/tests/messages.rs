//! Messages of rig, there and back.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use context_rig::{from_rig, to_rig};
use context_runtime::{Media, MediaSource, Message, Metadata, Part, Role};
use rig_core::message::Message as RigMessage;
use serde_json::{Value, json};

/// Converts there and back, and returns the converted message.
#[track_caller]
fn there_and_back(written: Value) -> Message {
    let message: RigMessage = serde_json::from_value(written).unwrap();
    let converted = from_rig(&message).unwrap();
    assert_eq!(to_rig(&converted).unwrap(), message);
    // The stored form loses nothing either.
    let stored = Message::decode(&converted.encode()).unwrap();
    assert_eq!(to_rig(&stored).unwrap(), message);
    converted
}

#[test]
fn a_call_and_its_result_keep_their_id_and_their_arguments() {
    let called = there_and_back(json!({
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I look."},
            {
                "type": "toolcall",
                "id": {"provider": "call_1"},
                "function": {"name": "alerts", "arguments": {"open": true, "limit": 1.5}},
            },
        ],
        "origin": {"api": "openai.chat", "provider": "openai", "model": "gpt-4o"},
        "stop": "tool_use",
    }));
    let call = called.tool_calls().next().unwrap();
    assert_eq!((&*call.id, &*call.name), ("call_1", "alerts"));
    assert_eq!(call.input.as_written(), r#"{"limit":1.5,"open":true}"#);

    let answered = there_and_back(json!({
        "role": "user",
        "content": [{
            "type": "toolresult",
            "call": {"provider": "call_1"},
            "name": "alerts",
            "content": [
                {"type": "text", "text": "2 alerts"},
                {"type": "json", "value": {"alerts": [1, 2]}},
                {"type": "image", "data": {"type": "base64", "value": "QUJD"}, "media_type": "png"},
            ],
            "is_error": true,
        }],
    }));
    assert_eq!(answered.role, Role::Tool);
    let result = answered.tool_results().next().unwrap();
    assert!(result.is_error && result.call_id == "call_1" && result.output.len() == 3);
}

#[test]
fn arguments_that_are_no_object_stay_as_the_model_wrote_them() {
    let called = there_and_back(json!({
        "role": "assistant",
        "content": [{
            "type": "toolcall",
            "id": {"provider": "call_1"},
            "function": {"name": "find", "arguments": {"q": "ab"}, "invalid_arguments": "{\"q\": \"ab"},
        }],
    }));
    assert_eq!(called.tool_calls().next().unwrap().input.as_written(), "{\"q\": \"ab");
}

#[test]
fn reasoning_keeps_its_signature() {
    let thought = there_and_back(json!({
        "role": "assistant",
        "content": [
            {
                "type": "reasoning",
                "text": "Lisbon is west.",
                "native": {
                    "item": {"type": "thinking", "thinking": "Lisbon is west.", "signature": "c2ln"},
                    "fingerprint": "00000000000000ff",
                    "blob_slot": "/signature",
                },
            },
            {"type": "reasoning", "text": "", "redacted": true},
            {"type": "opaque", "item": {"type": "web_search_call", "id": "ws_1"}, "replay": true},
        ],
    }));
    assert!(matches!(&thought.parts[0], Part::Reasoning(r) if r.text == "Lisbon is west."));
}

#[test]
fn media_keep_their_source_and_their_type() {
    let shown = there_and_back(json!({
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this?"},
            {
                "type": "image",
                "data": {"type": "url", "value": "https://example.org/a.png"},
                "media_type": "png",
                "detail": "high",
            },
            {"type": "image", "data": {"type": "raw", "value": [1, 2, 3]}},
            {"type": "audio", "data": {"type": "base64", "value": "QUJD"}, "media_type": "wav"},
            {"type": "video", "data": {"type": "fileId", "value": "file_1"}, "media_type": "mp4"},
            {"type": "document", "data": {"type": "text", "value": "A report."}, "media_type": "txt"},
            {"type": "document", "data": {"type": "base64", "value": "QUJD"}, "media_type": "pdf"},
        ],
    }));
    let Part::Image(image) = &shown.parts[1] else { panic!("{shown:?}") };
    assert_eq!(image.media_type.as_deref(), Some("image/png"));
    assert!(matches!(&shown.parts[3], Part::Audio(_)));
    there_and_back(json!({"role": "system", "content": "You book trips."}));
}

#[test]
fn messages_of_the_context_layer_become_messages_of_rig() {
    let image = Media {
        source: MediaSource::Base64("QUJD".into()),
        media_type: Some("image/bmp".into()),
        name: None,
        metadata: Metadata::default(),
    };
    let call = Part::tool_call("call_1", "alerts", json!({"open": true}));
    let messages = [
        Message::from("Hello."),
        Message::new(Role::User, [Part::Image(image)]),
        Message::new(Role::Assistant, [Part::text("I look."), call]),
        Message::new(Role::Tool, [Part::tool_result("call_1", "2 alerts")]),
        Message::text(Role::System, "You book trips."),
    ];
    let roles: Vec<String> = messages
        .iter()
        .map(|message| serde_json::to_value(to_rig(message).unwrap()).unwrap()["role"].to_string())
        .collect();
    assert_eq!(roles.join(" "), r#""user" "user" "assistant" "user" "system""#);
}
