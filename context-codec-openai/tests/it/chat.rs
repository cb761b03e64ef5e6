//! Chat Completions through the public API: the lifted form of messages, and that nothing of their
//! source is lost.

use std::fs;

use context_codec_openai::chat::{self, SOURCE_KEY};
use context_core::message::{Media, MediaSource, ToolInput};
use context_core::model::WireError;
use context_core::{Json, Message, Part, Role, ToolCall};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::data;

fn value(json: &Json) -> Value {
    json.parse().expect("JSON parses")
}

/// Lifts, stores, loads and restores; returns the message as it was loaded.
#[track_caller]
fn round_trip(original: &Json) -> Message {
    let lifted = chat::lift(original).expect("a message");
    let loaded = Message::decode(&lifted.message.encode()).expect("as it was stored");
    assert_eq!(loaded, lifted.message);
    let back = chat::lower_source(&loaded);
    assert_eq!(back.diagnostics, []);
    assert_eq!(back.messages.iter().map(value).collect::<Vec<_>>(), [value(original)]);
    loaded
}

fn sent(message: &Message) -> Vec<Value> {
    chat::lower(message).messages.iter().map(value).collect()
}

/// Checks that a message is restored, needs a difference or not, and is sent as `expected`.
#[track_caller]
fn check(original: Value, residual: bool, expected: Value) {
    let message = round_trip(&original.into());
    assert_eq!(message.metadata.get(SOURCE_KEY).is_some(), residual, "{:?}", message.metadata);
    assert_eq!(sent(&message), [expected]);
}

#[test]
fn common_messages_need_nothing_beside_them() {
    for message in [
        json!({"role": "system", "content": "Be brief."}),
        json!({"role": "developer", "content": "Be brief."}),
        json!({"role": "user", "content": "hi", "name": "ada"}),
        json!({"role": "user", "content": [
            {"type": "text", "text": "what is this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB", "detail": "low"}},
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
            {"type": "input_audio", "input_audio": {"data": "SUQzBAAA", "format": "mp3"}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjcK"}},
            {"type": "file", "file": {"file_id": "file-1"}},
        ]}),
        json!({"role": "assistant", "content": "hello"}),
        json!({"role": "assistant", "content": null, "refusal": "I will not."}),
        json!({"role": "assistant", "content": "let me look", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"a\": 1.50}"}},
            {"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{broken"}},
            {"id": "c3", "type": "custom", "custom": {"name": "sh", "input": "ls -l"}},
        ]}),
        json!({"role": "tool", "tool_call_id": "c1", "content": "nothing there"}),
    ] {
        check(message.clone(), false, message);
    }
}

#[test]
fn what_only_the_source_said_is_kept_but_not_sent() {
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    check(
        json!({"role": "tool", "tool_call_id": "c", "name": "f", "content": "x", "cost": 0.10}),
        true,
        json!({"role": "tool", "tool_call_id": "c", "content": "x"}),
    );
    check(
        json!({"role": "assistant", "content": "", "tool_calls": [call], "function_call": null, "refusal": null}),
        true,
        json!({"role": "assistant", "tool_calls": [call]}),
    );
    check(
        json!({"role": "assistant", "content": null}),
        true,
        json!({"role": "assistant", "content": ""}),
    );
    check(json!({"role": "user"}), true, json!({"role": "user", "content": ""}));
    check(
        json!({"role": "user", "content": [{"type": "text", "text": "x"}]}),
        true,
        json!({"role": "user", "content": "x"}),
    );
    check(
        json!({"role": "assistant", "content": "4", "reasoning_content": "2 + 2"}),
        false,
        json!({"role": "assistant", "content": "4"}),
    );
    check(
        json!({"role": "tool", "tool_call_ids": ["c"], "content": "x"}),
        true,
        json!({"role": "tool", "tool_call_id": "c", "content": "x"}),
    );
}

#[test]
fn spaces_around_arguments_come_back() {
    let call = |arguments: &str| {
        let function = json!({"name": "f", "arguments": arguments});
        json!({"role": "assistant", "content": null,
               "tool_calls": [{"id": "c", "type": "function", "function": function}]})
    };
    for arguments in ["\n{\"a\": 1}\n", "", " ", "null", "{\"a\":12345678901234567890123}"] {
        round_trip(&call(arguments).into());
    }
    let message = round_trip(&call("{\"z\": 1,  \"a\": 2.0}").into());
    let Part::ToolCall(ToolCall { input, .. }) = &message.parts[0] else { panic!("{message:?}") };
    assert_eq!(*input, ToolInput::Json(Json::from_text("{\"z\": 1,  \"a\": 2.0}").unwrap()));
}

#[test]
fn a_legacy_call_and_its_answer_find_each_other_when_sent_today() {
    let call = json!({"role": "assistant", "content": "hm",
                      "function_call": {"name": "find", "arguments": "{\"q\": 1}"}});
    let answer = json!({"role": "function", "name": "find", "content": "42"});
    let tool_calls = json!([{"id": "function_find", "type": "function",
                             "function": {"name": "find", "arguments": "{\"q\": 1}"}}]);
    check(call, false, json!({"role": "assistant", "content": "hm", "tool_calls": tool_calls}));
    check(answer, false, json!({"role": "tool", "tool_call_id": "function_find", "content": "42"}));
}

#[test]
fn a_tool_message_of_two_results_is_two_messages() {
    let message =
        Message::new(Role::Tool, [Part::tool_result("a", "1"), Part::tool_result("b", "2")]);
    let expected = [
        json!({"role": "tool", "tool_call_id": "a", "content": "1"}),
        json!({"role": "tool", "tool_call_id": "b", "content": "2"}),
    ];
    assert_eq!(sent(&message), expected);
}

#[test]
fn what_the_form_cannot_hold_is_left_out_and_named() {
    let picture = Media {
        source: MediaSource::Reference("blob-1".into()),
        media_type: None,
        name: None,
        metadata: Default::default(),
    };
    let message = Message::new(Role::User, [Part::text("see"), Part::Image(picture)]);
    let lowered = chat::lower(&message);
    assert_eq!(
        lowered.messages.iter().map(value).collect::<Vec<_>>(),
        [json!({"role": "user", "content": "see"})]
    );
    let said: Vec<_> = lowered.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        ["unrepresentable at parts[1]: left out: media whose bytes are kept elsewhere"]
    );
}

#[test]
fn parts_of_unknown_types_stay_and_are_named() {
    let odd = json!({"role": "user", "content": [{"type": "hologram", "data": [1, 2.0]}]});
    let lifted = chat::lift(&odd.clone().into()).unwrap();
    assert_eq!(lifted.diagnostics[0].path, "content[0]");
    check(odd.clone(), false, odd);
}

/// The difference of an edited message must not bring the old text back.
#[test]
fn an_edited_message_is_written_as_it_is_now() {
    let call = |arguments: &str| json!([{"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}]);
    let original =
        json!({"role": "assistant", "content": null, "tool_calls": call(" {\"old\": 1} ")});
    let mut message = chat::lift(&original.into()).unwrap().message;
    message.parts = vec![Part::tool_call("c", "f", json!({"new": 1}))];
    let back = chat::lower_source(&message);
    let expected = json!({"role": "assistant", "content": null, "tool_calls": call("{\"new\":1}")});
    assert_eq!(value(&back.messages[0]), expected);
    assert_eq!(back.diagnostics[0].path, SOURCE_KEY);
}

/// Python writes half a surrogate pair without an error; Rust text cannot hold it.
#[test]
fn half_a_surrogate_pair_survives() {
    let original =
        Json::from_text(r#"{"role": "user", "content": "a\ud83d", "x": "\udc00"}"#).unwrap();
    let lifted = chat::lift(&original).unwrap();
    assert!(lifted.message.plain_text().starts_with('a'));
    let loaded = Message::decode(&lifted.message.encode()).unwrap();
    let back = &chat::lower_source(&loaded).messages[0];
    assert!(
        back.as_str().contains(r#""a\ud83d""#) && back.as_str().contains(r#""\udc00""#),
        "{back}"
    );
}

#[test]
fn a_hostile_depth_is_kept_as_text() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let original =
        Json::from_text(format!(r#"{{"role": "user", "content": "x", "deep": {deep}}}"#)).unwrap();
    let message = chat::lift(&original).unwrap().message;
    assert!(chat::lower_source(&message).messages[0].as_str().contains(&deep));
}

#[track_caller]
fn refused(original: Value, expected: &str) {
    let error: WireError = chat::lift(&original.into()).expect_err("refused");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn malformed_messages_are_refused_by_name() {
    refused(json!("hi"), "a message must be an object, found a string");
    refused(json!({"content": "x"}), "role is missing");
    refused(
        json!({"role": "robot", "content": "x"}),
        "role \"robot\" is none of system, developer, user, assistant, tool, function",
    );
    refused(
        json!({"role": "user", "content": 7}),
        "content must be a string or a list of parts, found a number",
    );
    refused(
        json!({"role": "user", "content": [{"type": "image_url", "image_url": {}}]}),
        "content[0].image_url.url is missing",
    );
    refused(
        json!({"role": "assistant", "tool_calls": [{"id": "a", "function": {"arguments": "{}"}}]}),
        "tool_calls[0].function.name is missing",
    );
    refused(json!({"role": "tool", "content": "x"}), "tool_call_id is missing");
}

/// Any shallow JSON.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z\\PC]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("[a-z$]{0,3}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn text() -> impl Strategy<Value = Value> {
    prop_oneof![Just("".to_owned()), "\\PC{0,8}", Just(" {\"a\": 1}\n".to_owned())]
        .prop_map(Value::from)
}

fn part() -> impl Strategy<Value = Value> {
    prop_oneof![
        text().prop_map(|t| json!({"type": "text", "text": t})),
        text().prop_map(|t| json!({"type": "refusal", "refusal": t})),
        text().prop_map(|t| json!({"type": "image_url", "image_url": {"url": t}})),
        Just(
            json!({"type": "image_url", "image_url": {"url": "data:a/b;base64,AA", "detail": "high"}})
        ),
        text().prop_map(|t| json!({"type": "file", "file": {"file_data": t, "filename": "f"}})),
        text().prop_map(
            |t| json!({"type": "input_audio", "input_audio": {"data": "AA", "format": t}})
        ),
        any_json().prop_map(|x| json!({"type": "odd", "x": x})),
    ]
}

fn call() -> impl Strategy<Value = Value> {
    prop_oneof![
        text().prop_map(
            |t| json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": t}})
        ),
        text().prop_map(
            |t| json!({"id": "c", "function": {"arguments": t, "name": "f"}, "index": 0})
        ),
        text().prop_map(
            |t| json!({"id": "c", "type": "custom", "custom": {"name": "f", "input": t}})
        ),
        Just(json!({"id": "c", "type": "function",
                "function": {"name": "f", "arguments": {"a": [1]}}})),
    ]
}

/// Objects that look like messages, with keys that are missing, null or of another type.
pub(crate) fn message_like() -> impl Strategy<Value = Value> {
    let role = prop_oneof!["system", "developer", "user", "assistant", "tool", "function"];
    let content = prop_oneof![
        3 => text(),
        3 => proptest::collection::vec(part(), 0..4).prop_map(Value::from),
        1 => any_json(),
    ];
    let calls = proptest::collection::vec(call(), 0..3).prop_map(Value::from);
    let key = |key: &'static str, value: BoxedStrategy<Value>| {
        proptest::option::of(value)
            .prop_map(move |value| value.map(|value| (key.to_owned(), value)))
    };
    let or_null =
        |value: BoxedStrategy<Value>| prop_oneof![4 => value, 1 => Just(Value::Null)].boxed();
    let function = text().prop_map(|t| json!({"name": "f", "arguments": t})).boxed();
    (
        role.prop_map(Value::from),
        key("content", or_null(content.boxed())),
        key("tool_calls", or_null(calls.boxed())),
        key("function_call", or_null(function)),
        key("refusal", or_null(text().boxed())),
        key("name", or_null(text().boxed())),
        key("tool_call_id", or_null(text().boxed())),
        key("reasoning_content", or_null(text().boxed())),
        key("audio", or_null(Just(json!({"id": "a", "transcript": "x"})).boxed())),
        proptest::collection::vec(("[a-z$]{0,4}", any_json()), 0..3),
    )
        .prop_map(|(role, a, b, c, d, e, f, g, h, more)| {
            let keys = [a, b, c, d, e, f, g, h].into_iter().flatten();
            let entries = more.into_iter().chain([("role".to_owned(), role)]).chain(keys);
            Value::Object(entries.collect())
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(500) })]

    #[test]
    fn whatever_is_read_comes_back(original in message_like()) {
        let json = Json::from(&original);
        if let Ok(lifted) = chat::lift(&json) {
            let loaded = Message::decode(&lifted.message.encode()).unwrap();
            let back = chat::lower_source(&loaded);
            prop_assert_eq!(back.messages.iter().map(value).collect::<Vec<_>>(), [value(&json)]);
            prop_assert_eq!(back.diagnostics, []);
            // A sent message can be lifted again.
            for sent in chat::lower(&loaded).messages {
                prop_assert!(chat::lift(&sent).is_ok(), "{}", sent);
            }
        }
    }

    #[test]
    fn nothing_makes_it_panic(original in any_json()) {
        let _ = chat::lift(&original.into()).map(|lifted| chat::lower_source(&lifted.message));
    }
}

/// Collects every list under a key that holds chats, anywhere in the file.
fn chats(value: Value, found: &mut Vec<Vec<Value>>) {
    match value {
        Value::Array(items) => items.into_iter().for_each(|item| chats(item, found)),
        Value::Object(map) => {
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("traj" | "history", Value::Array(messages)) => found.push(messages),
                    ("train_messages", Value::Array(lists)) => {
                        found.extend(lists.into_iter().filter_map(|list| list.as_array().cloned()));
                    }
                    (_, value) => chats(value, found),
                }
            }
        }
        _ => {}
    }
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn real_conversations_come_back() {
    let found = real_chats();
    let mut messages = 0;
    for message in found.into_iter().flatten() {
        round_trip(&message.into());
        messages += 1;
    }
    println!("{messages} messages came back");
}

/// Returns the conversations of three collections.
pub(crate) fn real_chats() -> Vec<Vec<Value>> {
    let data = data::folder();
    let mut all = Vec::new();
    for (folder, extension) in [("tau-bench", "json"), ("swe-agent", "traj"), ("toolbench", "json")]
    {
        let files = data::files(&data.join(folder), extension);
        let mut found = Vec::new();
        for file in &files {
            chats(serde_json::from_slice(&fs::read(file).unwrap()).unwrap(), &mut found);
        }
        assert!(!found.is_empty(), "no chat in {} files of {folder}", files.len());
        all.append(&mut found);
    }
    all
}
