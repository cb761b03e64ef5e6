//! Single contents.

use context_codec_gemini::generate::{self, NO_ID, RESPONSE_KEY, SIGNATURE_KEY, SOURCE_KEY};
use context_core::message::{MediaSource, OpaqueBlock, ToolInput};
use context_core::model::WireError;
use context_core::{Json, Message, Part, Role};
use serde_json::{Value, json};

use crate::shared::{json, value};

fn lift(content: &Value) -> Message {
    let message = generate::lift(&json(content)).unwrap().message;
    let source = generate::lower_source(&message);
    assert_eq!(value(&source.messages[0]), *content);
    assert_eq!(source.diagnostics, []);
    message
}

fn sent(message: &Message) -> Value {
    value(&generate::lower(message).messages[0])
}

#[test]
fn texts_thoughts_and_signatures() {
    let content = json!({"role": "model", "parts": [
        {"text": "Hm.", "thought": true, "thoughtSignature": "czE="},
        {"text": "Yes.", "thoughtSignature": "czI="},
        {"text": "", "thoughtSignature": "czM="},
    ]});
    let message = lift(&content);
    assert_eq!(message.role, Role::Assistant);
    assert_eq!(message.plain_text(), "Yes.");
    let [Part::Reasoning(thought), Part::Text(text), Part::Reasoning(bare)] =
        message.parts.as_slice()
    else {
        panic!("{message:?}")
    };
    assert_eq!((thought.text.as_str(), thought.signature.as_deref()), ("Hm.", Some("czE=")));
    assert_eq!(thought.provider.as_deref(), Some("gemini"));
    assert_eq!(text.metadata.get(SIGNATURE_KEY), Some(&"czI=".into()));
    assert_eq!((bare.text.as_str(), bare.signature.as_deref()), ("", Some("czM=")));
    assert!(message.metadata.is_empty());
    assert_eq!(sent(&message), content);
}

#[test]
fn calls_keep_their_signature_and_their_exact_arguments() {
    let content = Json::from_text(
        r#"{"role":"model","parts":[{"functionCall":{"id":"c1","name":"pay","args":{"z":1.50,"a":12345678901234567890123}},"thoughtSignature":"cw=="}]}"#,
    )
    .unwrap();
    let lifted = generate::lift(&content).unwrap().message;
    let [Part::ToolCall(call)] = lifted.parts.as_slice() else { panic!("{lifted:?}") };
    assert_eq!(call.input.as_written(), r#"{"z":1.50,"a":12345678901234567890123}"#);
    assert_eq!(call.metadata.get(SIGNATURE_KEY), Some(&"cw==".into()));
    assert_eq!(generate::lower(&lifted).messages, [content]);
}

#[test]
fn a_call_without_id_is_sent_without_id() {
    let content = json!({"role": "model", "parts": [
        {"functionCall": {"name": "a.b", "args": {}}},
        {"functionCall": {"name": "a.b", "args": {"n": 2}}},
    ]});
    let message = lift(&content);
    let ids = message.parts.iter().map(|part| match part {
        Part::ToolCall(call) => {
            assert!(call.metadata.get(NO_ID).is_some());
            call.id.as_str()
        }
        _ => panic!("{part:?}"),
    });
    assert_eq!(ids.collect::<Vec<_>>(), ["call_a_b_1", "call_a_b_2"]);
    assert_eq!(sent(&message), content);
}

#[test]
fn results_say_what_they_said() {
    let response = |response: Value| json!({"role": "user", "parts": [{"functionResponse": {"id": "c", "name": "f", "response": response}}]});
    let cases = [
        (json!({"output": "Paris"}), "Paris", false, false),
        (json!({"error": "no such city"}), "no such city", true, false),
        (json!({"return_value": "Paris"}), "Paris", false, true),
        (json!({"output": ["a", 1]}), r#"["a",1]"#, false, true),
        (json!({"error": {"code": 7}}), r#"{"code":7}"#, true, true),
        (json!({"city": "Paris", "n": 1.50}), r#"{"city":"Paris","n":1.5}"#, false, true),
        (json!({}), "", false, false),
    ];
    for (object, text, is_error, is_marked) in cases {
        let content = response(object);
        let message = lift(&content);
        assert_eq!(message.role, Role::Tool);
        let [Part::ToolResult(result)] = message.parts.as_slice() else { panic!("{message:?}") };
        assert_eq!((result.call_id.as_str(), result.name.as_deref()), ("c", Some("f")));
        assert_eq!(message.readable_text(), text);
        assert_eq!(result.is_error, is_error);
        assert_eq!(result.metadata.get(RESPONSE_KEY).is_some(), is_marked, "{content}");
        assert_eq!(sent(&message), content);
    }
    // The current text counts, not its original form.
    let mut message = lift(&response(json!({"city": "Paris", "n": 1})));
    if let Part::ToolResult(result) = &mut message.parts[0] {
        result.output = vec![Part::text("[cut]")];
    }
    assert_eq!(sent(&message), response(json!({"output": "[cut]"})));
}

#[test]
fn media_are_told_apart_by_their_type_and_place() {
    let content = json!({"role": "user", "parts": [
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB"}},
        {"inlineData": {"mimeType": "audio/wav", "data": "UklGRgQAAABXQVZF"}},
        {"fileData": {"mimeType": "application/pdf", "fileUri": "https://example.com/a.pdf"}},
        {"fileData": {"mimeType": "image/png", "fileUri": "gs://bucket/a.png"}},
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB"}, "mediaResolution": {"level": "LOW"}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "https://youtu.be/x"}, "videoMetadata": {"fps": 1}},
    ]});
    let message = lift(&content);
    let places = message.parts.iter().map(|part| match part {
        Part::Image(media) | Part::Document(media) | Part::Audio(media) => match &media.source {
            MediaSource::Base64(_) => "here",
            MediaSource::Url(_) => "there",
            _ => "with the provider",
        },
        Part::Opaque(_) => "opaque",
        _ => "other",
    });
    assert_eq!(
        places.collect::<Vec<_>>(),
        ["here", "here", "there", "with the provider", "here", "opaque"]
    );
    assert!(
        matches!(message.parts[1], Part::Audio(_)) && matches!(message.parts[2], Part::Document(_))
    );
    assert_eq!(sent(&message), content);
}

#[test]
fn what_only_the_provider_understands_comes_back_byte_by_byte() {
    let part = r#"{"executableCode":{"language":"PYTHON","code":"1 + 1","n":1.0},"thoughtSignature":"cw=="}"#;
    let content =
        Json::from_text(format!(r#"{{"role":"model","parts":[{part},{{"text":"x"}}]}}"#)).unwrap();
    let lifted = generate::lift(&content).unwrap();
    assert_eq!(lifted.diagnostics, []);
    let value = Json::from_text(part).unwrap();
    assert_eq!(
        lifted.message.parts[0],
        Part::Opaque(OpaqueBlock { provider: "gemini".into(), value })
    );
    assert_eq!(generate::lower(&lifted.message).messages, [content]);

    let unknown = json!({"role": "model", "parts": [{"hologram": {"x": 1}}]});
    let lifted = generate::lift(&json(&unknown)).unwrap();
    assert_eq!(lifted.diagnostics[0].path, "parts[0]");
    assert_eq!(sent(&lifted.message), unknown);
}

#[test]
fn what_a_message_does_not_hold_is_kept_as_a_difference() {
    let content = json!({"parts": [
        {"text": "x", "thought": false},
        {"inline_data": {"mime_type": "image/png", "data": "aGk=", "display_name": "a"}},
        {"functionCall": {"id": "c", "name": "f", "willContinue": false}},
        {"function_response": {"name": "f", "response": {}, "scheduling": "SILENT"}},
    ], "extra": [1, null]});
    let message = lift(&content);
    assert_eq!(message.role, Role::User);
    assert!(message.metadata.get(SOURCE_KEY).is_some());

    let mut edited = message.clone();
    edited.parts[0] = Part::text("y");
    let source = generate::lower_source(&edited);
    assert_eq!(source.diagnostics, []);
    assert_eq!(value(&source.messages[0])["parts"][0], json!({"text": "y", "thought": false}));
    edited.parts.remove(0);
    let source = generate::lower_source(&edited);
    assert_eq!(source.diagnostics[0].path, SOURCE_KEY);
    assert_eq!(value(&source.messages[0])["parts"].as_array().unwrap().len(), 3);
    lift(&json!({"role": "model"}));
    lift(&json!({"role": "model", "parts": []}));
    lift(
        &json!({"role": "function", "parts": [{"functionResponse": {"name": "f", "response": {"output": ""}}}]}),
    );
}

#[test]
fn half_a_surrogate_pair_is_no_error() {
    let content = Json::from_text(r#"{"role":"user","parts":[{"text":"a\ud800b"}]}"#).unwrap();
    let message = generate::lift(&content).unwrap().message;
    assert!(message.plain_text().starts_with("a\u{fffd}"));
    assert_eq!(generate::lower_source(&message).messages, [content]);
}

#[test]
fn errors_name_the_place() {
    let cases = [
        (json!([]), ""),
        (json!({"role": 1}), "role"),
        (json!({"role": "king", "parts": []}), "role"),
        (json!({"parts": {}}), "parts"),
        (json!({"parts": [{"text": 1}]}), "parts[0].text"),
        (json!({"parts": [{"text": "a"}, 7]}), "parts[1]"),
        (json!({"parts": [{"functionCall": {}}]}), "parts[0].functionCall.name"),
        (json!({"parts": [{"functionCall": {"name": []}}]}), "parts[0].functionCall.name"),
        (json!({"parts": [{"text": "", "thoughtSignature": 1}]}), "parts[0].thoughtSignature"),
        (
            json!({"parts": [{"functionResponse": {"name": "f", "response": 1}}]}),
            "parts[0].functionResponse.response",
        ),
        (
            json!({"parts": [{"functionResponse": {"name": "f", "response": {}, "parts": [1]}}]}),
            "parts[0].functionResponse.parts[0]",
        ),
    ];
    for (content, path) in cases {
        let error = generate::lift(&json(&content)).unwrap_err();
        assert_eq!(error.path(), path, "{content}: {error}");
    }
    let deep = |n: usize| format!(r#"{{"parts":[{{"x":{}{}}}]}}"#, "[".repeat(n), "]".repeat(n));
    assert!(matches!(
        generate::lift(&Json::from_text(deep(100)).unwrap())
            .map(|lifted| lifted.message.parts.len()),
        Ok(1)
    ));
    let deep = Json::from_serialize(&serde_json::value::RawValue::from_string(deep(100)).unwrap())
        .unwrap();
    assert!(!matches!(generate::lift(&deep), Err(WireError::NothingToSend)));
}

#[test]
fn what_has_no_place_is_left_out_and_told() {
    let foreign = Part::Opaque(OpaqueBlock {
        provider: "anthropic".into(),
        value: json(&json!({"type": "x"})),
    });
    let lowered = generate::lower(&Message::new(Role::User, [foreign, Part::text("hi")]));
    assert_eq!(value(&lowered.messages[0])["parts"], json!([{"text": "hi"}]));
    assert_eq!(lowered.diagnostics[0].path, "parts[0]");
    assert_eq!(generate::lower(&Message::text(Role::System, "be kind")).messages, []);

    let mut call = Part::tool_call("c", "f", json(&json!([1])));
    if let Part::ToolCall(call) = &mut call {
        call.input = ToolInput::Invalid("{oops".into());
    }
    let calls = Message::new(Role::Assistant, [call, Part::tool_call("d", "f", json(&json!([1])))]);
    let lowered = generate::lower(&calls);
    assert_eq!(lowered.diagnostics.len(), 2);
    let parts = &value(&lowered.messages[0])["parts"];
    assert_eq!(parts[0]["functionCall"]["args"], json!({"value": "{oops"}));
    assert_eq!(parts[1]["functionCall"]["args"], json!({"value": [1]}));
}
