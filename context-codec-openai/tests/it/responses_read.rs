//! Lifting of Responses API requests: everything in them is restored, and errors name the place of
//! the fault.

use context_codec_openai::responses::{CONTENT_PROVIDER, ResponsesCodec, SOURCE_KEY};
use context_core::message::OpaqueBlock;
use context_core::{Json, MessageCodec, Part};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::responses::{call, lifted, output, thought, user, value};
use crate::responses_data::sound;

#[test]
fn what_is_written_in_another_way_comes_back_so() {
    for body in [
        json!({"input": "hi"}),
        json!({"input": "hi", "model": null, "instructions": null, "tools": [], "temperature": 1}),
        json!({"input": null, "prompt": {"id": "p"}}),
        json!({"previous_response_id": "resp_1"}),
        json!({"input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ho", "logprobs": []}]},
            {"id": "msg_2"},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "", "extra": 1.0},
            {"type": "function_call_output", "call_id": "c", "name": "f", "output": [],
                "status": null},
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}]},
            {"role": "user", "content": [{"type": "input_video", "video": 1}]},
            {"role": "user", "content": null},
        ], "tool_choice": {"type": "allowed_tools", "tools": []}, "text": {"format": {"type": "text"}},
        "tools": [{"type": "function", "name": "f", "description": null, "parameters": null, "strict": null}]}),
    ] {
        lifted(&body);
    }
    // Half a surrogate pair.
    let body = Json::from_text(r#"{"input":"a\ud800","instructions":"\ud800"}"#).unwrap();
    let request = ResponsesCodec.lift(&body).unwrap().request;
    assert!(request.messages[0].plain_text().starts_with("a\u{fffd}"));
    assert_eq!(
        ResponsesCodec.lower_source(&request).body.as_str(),
        r#"{"instructions":"\ud800","input":"a\ud800"}"#
    );
}

#[test]
fn what_cannot_be_read_says_where() {
    for (body, path) in [
        (json!([]), ""),
        (json!({"input": 1}), "input"),
        (json!({"input": [1]}), "input[0]"),
        (json!({"input": [user("a"), {"role": 1}]}), "input[1].role"),
        (json!({"input": [{"type": "message", "content": "a"}]}), "input[0].role"),
        (json!({"input": [{"role": "tool", "content": "a"}]}), "role"),
        (json!({"input": [{"role": "user", "content": 1}]}), "input[0].content"),
        (
            json!({"input": [{"role": "user", "content": [{"type": "input_text"}]}]}),
            "input[0].content[0].text",
        ),
        (json!({"input": [{"role": "user", "content": [[]]}]}), "input[0].content[0]"),
        (
            json!({"input": [{"role": "user", "content": [{"text": "a"}]}]}),
            "input[0].content[0].type",
        ),
        (json!({"input": [{"type": "function_call", "name": "f"}]}), "input[0].call_id"),
        (
            json!({"input": [{"type": "function_call", "call_id": "c", "name": "f",
                "arguments": {}}]}),
            "input[0].arguments",
        ),
        (json!({"input": [{"type": "reasoning", "summary": "s"}]}), "input[0].summary"),
        (json!({"input": [], "max_output_tokens": -1}), "max_output_tokens"),
        (json!({"input": [], "tools": [{"type": "function", "name": 1}]}), "tools[0].name"),
        (json!({"input": [], "text": "t"}), "text"),
    ] {
        let error = ResponsesCodec.lift(&body.clone().into()).expect_err(&body.to_string());
        assert_eq!(error.path(), path, "{body}");
    }
    let deep = format!(
        r#"{{"input":[{{"type":"x","x":{}{}}}]}}"#,
        "[".repeat(200_000),
        "]".repeat(200_000)
    );
    let deep = Json::from_text(deep).unwrap();
    let request = ResponsesCodec.lift(&deep).unwrap().request;
    assert_eq!(ResponsesCodec.lower_source(&request).body, deep);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("(type|text|role|id|content|output)", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// An item of a known type.
fn known_item() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(user("hi")),
        Just(
            json!({"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_image", "file_id": "f"}]})
        ),
        Just(json!({"role": "assistant", "content": "ho"})),
        Just(json!({"role": "developer", "content": "ho"})),
        Just(
            json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
            {"type": "output_text", "text": "a", "annotations": []}, {"type": "refusal", "refusal": "no"}]})
        ),
        Just(thought("rs_1")),
        Just(call("c1")),
        Just(call("c2")),
        Just(output("c1")),
        Just(output("c2")),
        Just(json!({"type": "custom_tool_call", "call_id": "c3", "name": "sh", "input": "ls"})),
        Just(json!({"type": "shell_call", "call_id": "s", "action": {}})),
        Just(json!({"type": "shell_call_output", "call_id": "s", "output": []})),
        Just(json!({"type": "item_reference", "id": "x"})),
        Just(json!({"type": "apply_patch_call_output", "call_id": "p", "status": "completed"})),
        Just(json!({"type": "apply_patch_call", "call_id": "p", "status": "completed",
                "operation": {}})),
    ]
}

/// An item of a known type with some keys changed.
fn any_item() -> impl Strategy<Value = Value> {
    let changes = proptest::collection::vec(
        ("(type|text|role|id|status|content|output|extra)", any_json()),
        0..2,
    );
    (known_item(), prop_oneof![4 => Just(Vec::new()).boxed(), 1 => changes.boxed()]).prop_map(
        |(mut item, changes)| {
            item.as_object_mut().unwrap().extend(changes);
            item
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(256) })]

    #[test]
    fn every_body_that_can_be_read_comes_back(
        items in proptest::collection::vec(any_item(), 0..8),
        others in proptest::collection::btree_map("(model|tools|text|tool_choice|store|stream|x)",
            any_json(), 0..3),
    ) {
        let mut body = json!({"input": items});
        body.as_object_mut().unwrap().extend(others);
        if let Ok(lifted) = ResponsesCodec.lift(&(&body).into()) {
            let back = ResponsesCodec.lower_source(&lifted.request);
            prop_assert_eq!(value(&back.body), body);
            prop_assert_eq!(back.diagnostics, []);
        }
    }

    #[test]
    fn what_is_sent_is_sound_and_stays_so(items in proptest::collection::vec(known_item(), 0..10)) {
        let Ok(lifted) = ResponsesCodec.lift(&json!({"input": items}).into()) else {
            return Ok(()) };
        let Ok(once) = ResponsesCodec.lower(&lifted.request) else { return Ok(()) };
        sound("generated", &once.body);
        let again = ResponsesCodec.lift(&once.body).unwrap().request;
        prop_assert_eq!(ResponsesCodec.lower(&again).unwrap().body, once.body);
    }
}

/// A part may have the type of an item. Regression test: a part that looked like a call without its
/// id was sent as an item, which no provider accepts and which could not be lifted again.
#[test]
fn an_unknown_part_of_a_content_goes_back_where_it_stood() {
    let strange = [
        json!({"type": "function_call", "note": "no call"}),
        json!({"type": "shell_call", "call_id": "s"}),
        json!({"type": "holo\u{e9}gram", "b": 1.50, "a": [1, 2]}),
        json!({"type": "input_image"}),
    ];
    for part in &strange {
        let said = json!({"type": "input_text", "text": "see"});
        let call =
            json!({"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"});
        let body = json!({"input": [
            {"role": "user", "content": [said, part, said]},
            {"role": "developer", "content": [part]},
            call,
            {"type": "function_call_output", "call_id": "c1", "output": [said, part]},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
                {"type": "output_text", "text": "a", "annotations": []}, part]},
        ]});
        let request = lifted(&body);
        assert!(request.messages.iter().all(|message| message.metadata.get(SOURCE_KEY).is_none()));
        let block = OpaqueBlock { provider: CONTENT_PROVIDER.into(), value: part.into() };
        assert_eq!(request.messages[0].parts[1], Part::Opaque(block));
        let lowered = ResponsesCodec.lower(&request).unwrap();
        assert_eq!(lowered.diagnostics, []);
        assert_eq!(value(&lowered.body), body);
        assert_eq!(ResponsesCodec.lift(&lowered.body).unwrap().request.messages, request.messages);
    }
}

#[test]
fn an_unknown_part_keeps_its_bytes() {
    let part = r#"{"type":"later", "n":1.50e2,"k":"\u00e9"}"#;
    let body = format!(r#"{{"input":[{{"role":"user","content":[{part}]}}]}}"#);
    let request = ResponsesCodec.lift(&Json::from_text(body.as_str()).unwrap()).unwrap().request;
    assert_eq!(ResponsesCodec.lower(&request).unwrap().body.as_str(), body);
}

/// Without an id a message of the assistant is sent as a text, which cannot hold anything else.
#[test]
fn an_unknown_part_of_a_message_that_the_provider_does_not_know_is_left_out_and_said() {
    let input = json!([user("q"), {"role": "assistant", "content": [
        {"type": "output_text", "text": "a", "annotations": []}, {"type": "function_call"}]}]);
    let lowered = ResponsesCodec.lower(&lifted(&json!({"input": input}))).unwrap();
    assert_eq!(
        value(&lowered.body)["input"],
        json!([user("q"), {"role": "assistant", "content": "a"}])
    );
    assert_eq!(lowered.diagnostics[0].path, "messages[1].parts[1]");
}
