//! Lifting of UIMessages.

use context_codec_uimessage::{UiMessageCodec, ui};
use context_core::message::{MediaSource, ToolInput};
use context_core::{Json, Message, MessageCodec, Part, Role};
use serde_json::{Value, json};

use crate::{read, round_trip, shown, value};

fn assistant(parts: Value) -> Value {
    json!([{"id": "a", "role": "assistant", "parts": parts}])
}

/// Returns the parts of a body's only message.
#[track_caller]
fn parts(parts: Value) -> Vec<Part> {
    let mut messages = read(assistant(parts));
    assert_eq!(messages.len(), 1);
    messages.remove(0).parts
}

#[test]
fn steps_become_messages_and_one_ui_message_again() {
    let body = json!([
        {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "weather?"}]},
        {"id": "a1", "role": "assistant", "metadata": {"n": 1.50}, "parts": [
            {"type": "step-start"},
            {"type": "reasoning", "text": "two cities", "state": "done"},
            {"type": "text", "text": "I look.", "state": "done"},
            {"type": "tool-weather", "toolCallId": "c1", "state": "output-available", "input": {"at": "Lisbon"}, "output": "21"},
            {"type": "dynamic-tool", "toolName": "clock", "toolCallId": "c2", "state": "output-error",
                "input": {}, "errorText": "no clock"},
            {"type": "tool-ask", "toolCallId": "c3", "state": "input-available", "input": {}},
            {"type": "step-start"},
            {"type": "text", "text": "21 degrees.", "state": "done"},
        ]},
    ]);
    let messages = read(body);
    let roles: Vec<_> = messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Assistant]);
    assert_eq!(messages[1].parts.len(), 5);
    let results: Vec<_> = messages[2]
        .parts
        .iter()
        .map(|part| match part {
            Part::ToolResult(result) => {
                (result.call_id.as_str(), result.name.as_deref(), result.is_error, &result.output)
            }
            _ => panic!("{part:?}"),
        })
        .collect();
    assert_eq!(
        results,
        [
            ("c1", Some("weather"), false, &vec![Part::text("21")]),
            ("c2", Some("clock"), true, &vec![Part::text("no clock")]),
        ]
    );
    assert_eq!(messages[3].plain_text(), "21 degrees.");
}

#[test]
fn common_ui_messages_need_no_difference_beside_them() {
    let request = round_trip(&Json::from(
        json!({"id": "chat", "trigger": "submit-message", "messages": [
            {"id": "s", "role": "system", "parts": [{"type": "text", "text": "Be brief."}]},
            {"id": "u", "role": "user", "metadata": {"createdAt": 1}, "parts": [
                {"type": "text", "text": "what is this?"},
                {"type": "file", "mediaType": "image/png", "filename": "a.png", "url": "data:image/png;base64,AAAA"},
                {"type": "file", "mediaType": "application/pdf", "url": "https://example.org/a.pdf"},
                {"type": "data-place", "id": "p1", "data": {"lat": 1.0}},
            ]},
            {"id": "a", "role": "assistant", "parts": [
                {"type": "step-start"},
                {"type": "reasoning", "text": "hm", "state": "done", "providerMetadata": {"anthropic": {"signature": "s"}}},
                {"type": "tool-f", "toolCallId": "c", "state": "output-available",
                    "input": {"a": 1.50}, "output": {"b": [1e3]},
                    "providerExecuted": true, "callProviderMetadata": {"openai": {"itemId": "fc_1"}}},
                {"type": "tool-f", "toolCallId": "d", "state": "output-denied", "input": {},
                    "approval": {"id": "x", "approved": false, "reason": "not now"}},
                {"type": "tool-f", "toolCallId": "e", "state": "approval-requested", "input": {}, "approval": {"id": "y"}},
                {"type": "tool-f", "toolCallId": "g", "state": "input-streaming", "input": {"par": "t"}},
                {"type": "tool-f", "toolCallId": "h", "state": "output-error", "rawInput": "{broken", "errorText": "no JSON"},
                {"type": "tool-f", "toolCallId": "i", "state": "output-available", "input": {}, "output": [
                    {"type": "text", "text": "see"}, {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AA=="}
                ]},
                {"type": "source-url", "sourceId": "1", "url": "https://example.org"},
                {"type": "step-start"},
                {"type": "text", "text": "done", "state": "done"},
            ]},
            {"id": "old", "role": "assistant", "createdAt": "2025-01-01T00:00:00Z", "content": "It rains.",
                "parts": [{"type": "text", "text": "It rains."}]},
            {"id": "older", "role": "user", "content": "And now?"},
        ]}),
    ));
    for message in &request.messages {
        assert_eq!(message.metadata.get(ui::SOURCE_KEY), None, "{message:?}");
    }
    // It is written as it was, except for the content that version 4 repeats.
    let sent = UiMessageCodec.lower(&request).unwrap();
    assert_eq!(sent.diagnostics, []);
    let sent = value(&sent.body);
    assert_eq!(sent["trigger"], "submit-message");
    assert_eq!(sent["messages"][3]["content"], Value::Null);
    assert_eq!(sent["messages"][4]["parts"], json!([{"type": "text", "text": "And now?"}]));
}

#[test]
fn thoughts_keep_the_signature_of_their_provider() {
    for (metadata, provider, signature, encrypted) in [
        (json!({"anthropic": {"signature": "s"}}), Some("anthropic"), Some("s"), None),
        (json!({"anthropic": {"redactedData": "e"}}), Some("anthropic"), None, Some("e")),
        (
            json!({"openai": {"itemId": "rs_1", "reasoningEncryptedContent": "e"}}),
            Some("openai-responses"),
            None,
            Some("e"),
        ),
        (
            json!({"openai": {"itemId": "rs_1", "reasoningEncryptedContent": null}}),
            None,
            None,
            None,
        ),
        (json!({"google": {"thoughtSignature": "s"}}), Some("gemini"), Some("s"), None),
        (
            json!({"x": {"signature": 1}, "google": {"thoughtSignature": "s"}}),
            Some("gemini"),
            Some("s"),
            None,
        ),
        (
            json!({"bedrock": {"signature": "s", "a": 1}, "google": {"thoughtSignature": "t"}}),
            Some("bedrock"),
            Some("s"),
            None,
        ),
        (json!("none"), None, None, None),
    ] {
        let parts =
            parts(json!([{"type": "reasoning", "text": "hm", "providerMetadata": metadata}]));
        let [Part::Reasoning(thought)] = parts.as_slice() else { panic!("{parts:?}") };
        assert_eq!(thought.text, "hm");
        assert_eq!(
            (
                thought.provider.as_deref(),
                thought.signature.as_deref(),
                thought.encrypted.as_deref()
            ),
            (provider, signature, encrypted)
        );
        let (sent, said) = shown([Message::new(Role::Assistant, parts)]);
        assert_eq!(said, [""; 0]);
        assert_eq!(sent[0]["parts"][0]["providerMetadata"], metadata);
    }
}

#[test]
fn what_a_provider_looks_for_is_where_its_codec_looks() {
    let google = json!({"x": {"a": 1}, "google": {"thoughtSignature": "s", "n": 1}});
    let openai = json!({"openai": {"itemId": "fc_1"}});
    let parts = parts(json!([
        {"type": "text", "text": "so", "providerMetadata": google},
        {"type": "tool-f", "toolCallId": "c", "state": "input-available", "input": {}, "callProviderMetadata": openai},
        {"type": "reasoning", "text": "hm", "providerMetadata": openai},
    ]));
    let [Part::Text(text), Part::ToolCall(call), Part::Reasoning(thought)] = parts.as_slice()
    else {
        panic!()
    };
    assert_eq!(text.metadata.get("gemini.thought_signature"), Some(&"s".into()));
    assert_eq!(call.metadata.get("openai.id"), Some(&"fc_1".into()));
    assert_eq!(thought.metadata.get("openai.id"), Some(&"fc_1".into()));
    assert_eq!(thought.provider, None);
    let (sent, _) = shown([Message::new(Role::Assistant, parts)]);
    assert_eq!(sent[0]["parts"][0]["providerMetadata"], google);
    assert_eq!(sent[0]["parts"][1]["callProviderMetadata"], openai);
    assert_eq!(sent[0]["parts"][2]["providerMetadata"], openai);
}

#[test]
fn files_are_media_of_their_type() {
    let of = |part: Value| parts(json!([part])).remove(0);
    let file = |kind: &str, url: &str| json!({"type": "file", "mediaType": kind, "url": url});
    let Part::Image(image) = of(file("image/png", "data:image/png;base64,AAAA")) else { panic!() };
    assert_eq!(image.source, MediaSource::Base64("AAAA".into()));
    let Part::Audio(audio) = of(file("audio/mpeg", "https://example.org/a.mp3")) else { panic!() };
    assert_eq!(audio.source, MediaSource::Url("https://example.org/a.mp3".to_owned()));
    let Part::Document(text) = of(file("text/plain", "data:text/plain,hello")) else { panic!() };
    assert_eq!(text.source, MediaSource::Url("data:text/plain,hello".to_owned()));
    // The address states another type than the part.
    let Part::Document(odd) = of(file("text/csv", "data:text/plain;base64,AA==")) else { panic!() };
    assert_eq!(odd.media_type.as_deref(), Some("text/csv"));
    let Part::Image(old) = of(json!({"type": "file", "mimeType": "image/png", "data": "AAAA"}))
    else {
        panic!()
    };
    assert_eq!(old.source, MediaSource::Base64("AAAA".into()));
}

#[test]
fn outputs_are_what_a_model_gets() {
    let output = |output: Value| {
        let part = json!({"type": "tool-f", "toolCallId": "c", "state": "output-available", "input": {}, "output": output});
        let messages = read(assistant(json!([part])));
        let Part::ToolResult(result) = &messages[1].parts[0] else { panic!() };
        result
            .output
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.text.to_string(),
                part => format!("{part:?}").chars().take_while(char::is_ascii_alphabetic).collect(),
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(output(json!("text")), ["text"]);
    assert_eq!(output(json!(null)), [""; 0]);
    assert_eq!(output(json!({"a": [1, "b c"]})), [r#"{"a":[1,"b c"]}"#]);
    assert_eq!(output(json!([])), ["[]"]);
    let parsed = |value: Value| serde_json::from_str::<Value>(&output(value)[0]).unwrap();
    assert_eq!(
        parsed(json!([{"type": "text", "text": "a"}])),
        json!([{"type": "text", "text": "a"}])
    );
    assert_eq!(
        output(json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b", "n": 1}])),
        ["a", "b"]
    );
    let file = json!({"type": "file", "mediaType": "image/png", "url": "u"});
    assert_eq!(output(json!([file])), ["Image"]);
    assert_eq!(parsed(json!([file, 7])), json!([file, 7]));
}

#[test]
fn inputs_that_are_no_json_are_told_apart() {
    let input = |part: Value| {
        let mut whole =
            json!({"type": "tool-f", "toolCallId": "c", "state": "output-error", "errorText": "e"});
        whole.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
        let messages = read(assistant(json!([whole])));
        let Part::ToolCall(call) = &messages[0].parts[0] else { panic!() };
        call.input.clone()
    };
    assert_eq!(input(json!({"rawInput": "{a"})), ToolInput::Invalid("{a".to_owned()));
    assert_eq!(input(json!({"input": "{a"})), ToolInput::Invalid("{a".to_owned()));
    assert_eq!(
        input(json!({"input": {"b": 1}, "rawInput": "{a"})),
        ToolInput::Json(json!({"b": 1}).into())
    );
    assert_eq!(
        input(json!({"input": null, "rawInput": {"c": 1}})),
        ToolInput::Json(json!({"c": 1}).into())
    );
    assert_eq!(input(json!({})), ToolInput::Json(json!({}).into()));
}

#[test]
fn a_denied_call_is_answered_with_the_reason() {
    let denied = |approval: Value| {
        let part = json!({"type": "tool-f", "toolCallId": "c", "state": "output-denied",
            "input": {}, "approval": approval});
        let messages = read(assistant(json!([part])));
        let Part::ToolResult(result) = &messages[1].parts[0] else { panic!() };
        assert!(result.is_error);
        result.output.clone()
    };
    assert_eq!(
        denied(json!({"id": "a", "approved": false, "reason": "too dear"})),
        [Part::text("too dear")]
    );
    assert_eq!(
        denied(json!({"id": "a", "approved": false})),
        [Part::text("The user denied this call.")]
    );
    assert_eq!(denied(json!(null)), [Part::text("The user denied this call.")]);
}

#[test]
fn what_version_4_wrote_is_read() {
    let call = json!({"state": "result", "toolCallId": "c", "toolName": "f", "args": {"a": 1}, "result": {"b": 2}, "step": 0});
    let messages = read(
        json!([{"id": "a", "role": "assistant", "content": "so", "toolInvocations": [call], "parts": [
            {"type": "reasoning", "reasoning": "hm", "details": [{"type": "text", "text": "hm"}]},
            {"type": "tool-invocation", "toolInvocation": call},
            {"type": "step-start"},
            {"type": "text", "text": "so"},
        ]}]),
    );
    assert_eq!(messages.len(), 3);
    assert_eq!(messages[0].parts[1], Part::tool_call("c", "f", json!({"a": 1})));
    let messages =
        read(json!([{"id": "a", "role": "assistant", "content": "so", "toolInvocations": [call]}]));
    assert_eq!(messages.len(), 2);
    assert_eq!((messages[0].parts.len(), messages[0].plain_text().as_ref()), (2, "so"));
    let half = json!({"state": "partial-call", "toolCallId": "c", "toolName": "f", "args": {}});
    let messages = read(
        json!([{"role": "assistant", "content": "", "parts": [{"type": "tool-invocation", "toolInvocation": half}]}]),
    );
    assert!(matches!(messages[0].parts.as_slice(), [Part::Opaque(_)]));
}

#[test]
fn what_was_edited_is_written_as_it_is_now() {
    let body = json!([{"id": "a", "role": "assistant", "content": "old", "parts": [
        {"type": "text", "text": "old"}, {"type": "step-start"}
    ]}]);
    let mut request = round_trip(&body.into());
    let mut message = (*request.messages[0]).clone();
    message.parts = vec![Part::text("new")];
    request.messages.replace(0, message.into());
    let back = UiMessageCodec.lower_source(&request);
    let said: Vec<_> = back.diagnostics.iter().map(|diagnostic| diagnostic.path.as_str()).collect();
    assert_eq!(said, ["messages[0]"]);
    let expected = json!([{"id": "a", "role": "assistant", "content": "new", "parts": [{"type": "text", "text": "new"}]}]);
    assert_eq!(value(&back.body), expected);
}

#[test]
fn what_was_added_follows_and_answers_what_was_open() {
    let body = json!([{"id": "a", "role": "assistant", "odd": 1, "parts": [
        {"type": "tool-f", "toolCallId": "c", "state": "input-available", "input": {}},
    ]}]);
    let mut request = round_trip(&body.into());
    request.messages.push(Message::new(Role::Tool, [Part::tool_result("c", "yes")]).into());
    request.messages.push(Message::text(Role::Assistant, "So it is.").into());
    let part = json!({"type": "tool-f", "toolCallId": "c", "state": "output-available",
        "input": {}, "output": "yes"});
    let text = json!({"type": "text", "text": "So it is."});
    let source = UiMessageCodec.lower_source(&request);
    assert_eq!(source.diagnostics, []);
    assert_eq!(
        value(&source.body),
        json!([
            {"id": "a", "role": "assistant", "odd": 1, "parts": [part]},
            {"id": "msg-2", "role": "assistant", "parts": [text]},
        ])
    );
    let sent = UiMessageCodec.lower(&request).unwrap();
    assert_eq!(
        value(&sent.body),
        json!([
            {"id": "a", "role": "assistant", "odd": 1,
                "parts": [part, {"type": "step-start"}, text]},
        ])
    );
}

#[test]
fn one_message_is_read_alone_and_written_with_others() {
    let original = json!({"id": "a", "role": "assistant", "parts": [
        {"type": "tool-f", "toolCallId": "c", "state": "output-available", "input": {}, "output": 1}
    ]});
    let lifted = ui::lift(&original.clone().into()).unwrap();
    let messages: Vec<_> = lifted.into_iter().map(|lifted| lifted.message).collect();
    assert_eq!(messages.len(), 2);
    for back in [ui::lower_source(&messages), ui::lower(&messages)] {
        assert_eq!(back.diagnostics, []);
        assert_eq!(
            back.messages.iter().map(value).collect::<Vec<_>>(),
            std::slice::from_ref(&original)
        );
    }
}
