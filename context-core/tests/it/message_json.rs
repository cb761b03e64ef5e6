//! The JSON form of messages, version 1.

use context_core::base::CodecError;
use context_core::message::{Media, MediaSource, OpaqueBlock, Reasoning, Text, ToolInput};
use context_core::{Encoded, Json, Message, Metadata, Part, Role, ToolCall, ToolResult};

fn raw(text: &str) -> Json {
    Json::from_text(text).unwrap()
}

fn one_of_each() -> Message {
    let media = |source| Media {
        source,
        media_type: Some("image/png".into()),
        name: None,
        metadata: Metadata::default(),
    };
    let result = ToolResult {
        call_id: "c1".into(),
        name: Some("look".into()),
        output: vec![Part::text("seen"), Part::Image(media(MediaSource::Base64("AAAA".into())))],
        is_error: true,
        metadata: Metadata::default(),
    };
    let call = ToolCall {
        id: "c2".into(),
        name: "broken".into(),
        input: ToolInput::from_written("{not json"),
        metadata: Metadata::default(),
    };
    let reasoning =
        Reasoning { text: "hm".into(), signature: Some("sig".into()), ..Reasoning::default() };
    let opaque = OpaqueBlock { provider: "acme".into(), value: raw(r#"{"z":1,"a":1.50}"#) };
    Message::new(
        Role::Assistant,
        [
            Part::Text(Text { text: "hi".into(), metadata: Metadata::default().with("cache", 1) }),
            Part::Reasoning(reasoning),
            Part::tool_call("c1", "look", raw(r#"{"b":1,"a":[1, 2]}"#)),
            Part::ToolCall(call),
            Part::ToolResult(result),
            Part::Document(media(MediaSource::Url("https://example.org/x".into()))),
            Part::Audio(media(MediaSource::Reference("blob-1".into()))),
            Part::Opaque(opaque),
            Part::Unknown(raw(r#"{"type":"hologram","z":1,"a":2}"#)),
        ],
    )
    .with_metadata(Metadata::default().with("model", "m"))
}

#[test]
fn every_part_reads_back_and_keeps_the_bytes_of_its_json() {
    let message = one_of_each();
    let encoded = message.encode();
    assert_eq!(Message::decode(&encoded).unwrap(), message);
    let text = std::str::from_utf8(encoded.bytes()).unwrap();
    for exact in
        [r#"{"b":1,"a":[1, 2]}"#, r#"{"z":1,"a":1.50}"#, r#"{"type":"hologram","z":1,"a":2}"#]
    {
        assert!(text.contains(exact), "{text}");
    }
    insta::assert_snapshot!(text,
        @r#"{"role":"assistant","parts":[{"type":"text","text":"hi","metadata":{"cache":1}},{"type":"reasoning","text":"hm","signature":"sig"},{"type":"tool_call","id":"c1","name":"look","input":{"json":{"b":1,"a":[1, 2]}}},{"type":"tool_call","id":"c2","name":"broken","input":{"invalid":"{not json"}},{"type":"tool_result","call_id":"c1","name":"look","output":[{"type":"text","text":"seen"},{"type":"image","source":{"base64":"AAAA"},"media_type":"image/png"}],"is_error":true},{"type":"document","source":{"url":"https://example.org/x"},"media_type":"image/png"},{"type":"audio","source":{"reference":"blob-1"},"media_type":"image/png"},{"type":"opaque","provider":"acme","value":{"z":1,"a":1.50}},{"type":"hologram","z":1,"a":2}],"metadata":{"model":"m"}}"#);
}

#[test]
fn what_cannot_be_read_says_why() {
    let newer = Encoded::new("message", 2, &b"{}"[..]);
    assert!(matches!(
        Message::decode(&newer),
        Err(CodecError::NewerVersion { version: 2, known: 1, .. })
    ));
    let other = Encoded::new("boundary", 1, &b"{}"[..]);
    assert!(matches!(Message::decode(&other), Err(CodecError::WrongKind { .. })));
    let broken = Encoded::new("message", 1, &b"\xff"[..]);
    assert!(matches!(Message::decode(&broken), Err(CodecError::Malformed { .. })));
}

#[test]
fn plain_text_is_what_a_person_would_read() {
    let message = Message::new(
        Role::User,
        [Part::text("a"), Part::Unknown(raw(r#"{"type":"x"}"#)), Part::text("b")],
    );
    assert_eq!(message.plain_text(), "a\nb");
    assert_eq!(Message::from("only").plain_text(), "only");
    assert!(Message::new(Role::Assistant, []).is_placeholder());
}
