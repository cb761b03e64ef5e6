//! Arbitrary messages and records.

use context_core::message::{Data, Media, MediaSource, OpaqueBlock, Reasoning, Text, ToolInput};
use context_core::{Json, Message, Metadata, Part, Role, ToolCall, ToolResult};
use context_trajectory::messages::MessageRecord;
use proptest::collection::vec;
use proptest::prelude::*;

fn json() -> impl Strategy<Value = Json> {
    let texts = [
        "1",
        "1.50",
        "12345678901234567890123",
        "null",
        "true",
        r#""a\u00e9\n""#,
        "{}",
        "[ ]",
        "{\"b\": 1,\n\"a\":[1, {\"x\":\"y\"}]}",
        r#"{"a":1,"a":2}"#,
        "\"é\"",
    ];
    proptest::sample::select(texts.to_vec()).prop_map(|text| Json::from_text(text).unwrap())
}

fn text() -> impl Strategy<Value = String> {
    proptest::sample::select(vec!["", " ", "a", "b\nc", "é\u{1}", "[no result]"])
        .prop_map(str::to_owned)
}

fn id() -> impl Strategy<Value = String> {
    proptest::sample::select(vec!["", " ", "1", " 1 ", "2", "3"]).prop_map(str::to_owned)
}

fn metadata() -> impl Strategy<Value = Metadata> {
    let keys = [
        "type",
        "content",
        "name",
        "additional_kwargs",
        "tool_calls",
        "tool_call_id",
        "status",
        "id",
        "x",
        "args",
        "error",
        "context.message",
        "context.continues",
        "trajectory.record",
        "synthetic",
    ];
    let entries =
        vec((proptest::sample::select(keys.to_vec()).prop_map(str::to_owned), json()), 0..3);
    prop_oneof![2 => Just(Metadata::default()),
        1 => entries.prop_map(|entries| entries.into_iter().collect())]
}

fn part() -> impl Strategy<Value = Part> {
    let input = prop_oneof![json().prop_map(ToolInput::Json), text().prop_map(ToolInput::Invalid)];
    prop_oneof![
        3 => (text(), metadata()).prop_map(|(text, metadata)| {
            Part::Text(Text { text: text.into(), metadata })
        }),
        3 => (id(), text(), input, metadata())
            .prop_map(|(id, name, input,
                metadata)| Part::ToolCall(ToolCall { id, name, input, metadata })),
        1 => (text(), metadata()).prop_map(|(text, metadata)| {
            Part::Reasoning(Reasoning { text: text.into(), metadata, signature: Some("s".into()),
                ..Reasoning::default() })
        }),
        1 => metadata().prop_map(|metadata| {
            let source = MediaSource::Url("https://example.com/a.png".into());
            Part::Image(Media { source, media_type: None, name: Some("a".into()), metadata })
        }),
        1 => json().prop_map(|value| Part::Data(Data { name: "d".into(), value })),
        1 => json().prop_map(|value| Part::Opaque(OpaqueBlock { provider: "p".into(), value })),
        1 => Just(Part::Unknown(Json::from_text(r#"{"type":"image_url", "url":1}"#).unwrap())),
    ]
}

fn result() -> impl Strategy<Value = Part> {
    let name = proptest::option::of(text());
    (id(), name, vec(part(), 0..3), any::<bool>(), metadata()).prop_map(
        |(call_id, name, output, is_error, metadata)| {
            Part::ToolResult(ToolResult { call_id, name, output, is_error, metadata })
        },
    )
}

pub(super) fn message() -> impl Strategy<Value = Message> {
    let role =
        proptest::sample::select(vec![Role::System, Role::User, Role::Assistant, Role::Tool]);
    let parts = prop_oneof![
        vec(part(), 0..4),
        vec(result(), 0..4),
        vec(prop_oneof![part(), result()], 0..3)
    ];
    (role, parts, metadata())
        .prop_map(|(role, parts, metadata)| Message::new(role, parts).with_metadata(metadata))
}

/// A record of any type whose known keys may have any value, as in foreign files.
pub(super) fn record() -> impl Strategy<Value = MessageRecord> {
    let kinds = ["HumanMessage", "AIMessage", "ToolMessage", "SystemMessage"];
    let kind = proptest::sample::select(kinds.to_vec());
    let call =
        (proptest::option::of(id()), json(), any::<bool>()).prop_map(|(id, args, vendor)| {
            let id = Json::from_serialize(&id).unwrap();
            let text = match vendor {
                true => format!(r#"{{"id":{id},"function":{{"name":"t","arguments":"{{}}"}}}}"#),
                false => format!(r#"{{"name":"t","args":{args},"id":{id},"type":"tool_call"}}"#),
            };
            Json::from_text(text).unwrap()
        });
    let calls = vec(prop_oneof![5 => call, 1 => json()], 0..3);
    let keys = [
        "content",
        "name",
        "additional_kwargs",
        "response_metadata",
        "tool_calls",
        "usage_metadata",
        "x",
        "id",
        "status",
        "context.message",
        "context.continues",
        "synthetic",
    ];
    let odd = vec((proptest::sample::select(keys.to_vec()), json()), 0..3);
    (kind, text(), calls, id(), odd).prop_map(|(kind, text, calls, id, odd)| {
        let mut record =
            super::record(&format!(r#"{{"type":"{kind}"}}"#)).with("content", text.as_str());
        if kind == "AIMessage" {
            record.set(
                ["tool_calls", "invalid_tool_calls"][calls.len() % 2],
                context_codec_kit::wire::array(&calls),
            );
        }
        if kind == "ToolMessage" {
            record.set("tool_call_id", id.as_str());
        }
        odd.into_iter().fold(record, |record, (key, value)| record.with(key, value))
    })
}
