//! Messages through the public API: their lifted form, and that nothing of their source is lost.

use std::fs;
use std::path::{Path, PathBuf};

use context_codec_anthropic::messages::{self, RESPONSE_KEY, SOURCE_KEY};
use context_core::message::ToolInput;
use context_core::{Json, Message, Part, Role, ToolCall};
use proptest::prelude::*;
use serde_json::{Value, json};

fn value(json: &Json) -> Value {
    json.parse().expect("JSON parses")
}

/// Lifts, stores, loads and restores; returns the message as it was loaded.
#[track_caller]
fn round_trip(original: &Json) -> Message {
    let lifted = messages::lift(original).expect("a message");
    let loaded = Message::decode(&lifted.message.encode()).expect("as it was stored");
    assert_eq!(loaded, lifted.message);
    let back = messages::lower_source(&loaded);
    assert_eq!(back.diagnostics, []);
    assert_eq!(back.messages.iter().map(value).collect::<Vec<_>>(), [value(original)]);
    loaded
}

fn sent(message: &Message) -> Vec<Value> {
    messages::lower(message).messages.iter().map(value).collect()
}

/// Checks that a message is restored, needs a difference or not, and is sent as `expected`.
#[track_caller]
fn check(original: Value, residual: bool, expected: Value) -> Message {
    let message = round_trip(&original.into());
    assert_eq!(message.metadata.get(SOURCE_KEY).is_some(), residual, "{:?}", message.metadata);
    assert_eq!(sent(&message), [expected]);
    message
}

#[test]
fn common_messages_need_nothing_beside_them() {
    for message in [
        json!({"role": "user", "content": "hi"}),
        json!({"role": "user", "content": [
            {"type": "text", "text": "what is this?"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB"}},
            {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
            {"type": "document", "source": {"type": "file", "file_id": "file_1"}, "title": "a.pdf"},
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}},
        ]}),
        json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "ZW5j"},
            {"type": "text", "text": "let me look"},
            {"type": "tool_use", "id": "t1", "name": "look", "input": {"a": 1.50}},
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
        ]}),
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "nothing there"},
            {"type": "tool_result", "tool_use_id": "t2", "is_error": true},
            {"type": "tool_result", "tool_use_id": "t3", "content": [
                {"type": "text", "text": "a"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB"}},
            ]},
        ]}),
    ] {
        check(message.clone(), false, message);
    }
}

#[test]
fn how_one_text_was_written_is_a_word_and_no_second_copy() {
    let block = json!([{"type": "text", "text": "a long text"}]);
    let plain = json!({"role": "user", "content": "a long text"});
    check(json!({"role": "user", "content": block}), false, plain);
    let sent = json!({"role": "assistant", "content": block});
    check(json!({"role": "assistant", "content": "a long text"}), false, sent);
    let result =
        |content: Value| json!({"type": "tool_result", "tool_use_id": "t", "content": content});
    let message = |content: Value| json!({"role": "user", "content": [result(content)]});
    check(message(block), false, message(json!("a long text")));
}

#[test]
fn facts_about_a_response_are_there_and_not_sent() {
    let original = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x",
        "content": [{"type": "text", "text": "hello", "citations": null}],
        "stop_reason": "end_turn", "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 4},
        "container": null,
    });
    let content = json!([{"type": "text", "text": "hello"}]);
    let message = check(original, true, json!({"role": "assistant", "content": content}));
    let facts = value(message.metadata.get(RESPONSE_KEY).expect("facts"));
    assert_eq!(
        (&facts["model"], &facts["usage"]["output_tokens"]),
        (&json!("claude-x"), &json!(4))
    );
}

#[test]
fn results_with_other_content_are_the_users_and_are_sent_first() {
    let (text, result) = (
        json!({"type": "text", "text": "and now this"}),
        json!({"type": "tool_result", "tool_use_id": "t", "content": "done"}),
    );
    let original = json!({"role": "user", "content": [text, result]});
    let message = check(original, false, json!({"role": "user", "content": [result, text]}));
    assert_eq!(message.role, Role::User);
    let results = round_trip(&json!({"role": "user", "content": [result, result]}).into());
    assert_eq!(results.role, Role::Tool);
}

#[test]
fn what_the_provider_does_not_take_is_left_out_and_named() {
    let message = Message::new(
        Role::Assistant,
        [
            Part::text("  "),
            Part::Reasoning(context_core::message::Reasoning {
                text: "unsigned".into(),
                ..Default::default()
            }),
            Part::ToolCall(ToolCall {
                id: "t".into(),
                name: "f".into(),
                input: ToolInput::Invalid("{broken".into()),
                metadata: Default::default(),
            }),
        ],
    );
    let lowered = messages::lower(&message);
    let call =
        json!({"type": "tool_use", "id": "t", "name": "f", "input": {"invalid_input": "{broken"}});
    assert_eq!(value(&lowered.messages[0]), json!({"role": "assistant", "content": [call]}));
    let said: Vec<_> = lowered.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "unrepresentable at parts[1]: left out: a thought without the signature of this provider",
            "unrepresentable at parts[2]: the input is not a JSON object: it is sent as a text in one",
        ]
    );
    let system = messages::lower(&Message::text(Role::System, "Be brief."));
    assert_eq!((system.messages.len(), system.diagnostics.len()), (0, 1));
    assert!(messages::lower(&Message::text(Role::User, "")).messages.is_empty());
}

#[test]
fn blocks_of_unknown_types_stay_and_are_named() {
    let odd = json!({"role": "user", "content": [{"type": "hologram", "data": [1, 2.0]}]});
    let lifted = messages::lift(&odd.clone().into()).unwrap();
    assert_eq!(lifted.diagnostics[0].path, "content[0]");
    check(odd.clone(), false, odd);
}

/// The difference of an edited message must not bring the old text back.
#[test]
fn an_edited_message_is_written_as_it_is_now() {
    let text = r#"{"role": "assistant", "content": [{"type": "text", "text": "old \ud83d"}]}"#;
    let mut message = messages::lift(&Json::from_text(text).unwrap()).unwrap().message;
    message.parts = vec![Part::text("new")];
    let back = messages::lower_source(&message);
    assert!(!back.messages[0].as_str().contains("old"), "{:?}", back.messages);
    assert_eq!(back.diagnostics[0].path, SOURCE_KEY);
}

#[test]
fn half_a_surrogate_pair_and_a_hostile_depth_survive() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let text = format!(
        r#"{{"role": "user", "content": [{{"type": "text", "text": "a\ud83d"}}], "x": {deep}}}"#
    );
    let message = messages::lift(&Json::from_text(text).unwrap()).unwrap().message;
    let loaded = Message::decode(&message.encode()).unwrap();
    let back = &messages::lower_source(&loaded).messages[0];
    assert!(back.as_str().contains(r#""a\ud83d""#) && back.as_str().contains(&deep));
}

#[track_caller]
fn refused(original: Value, expected: &str) {
    assert_eq!(messages::lift(&original.into()).expect_err("refused").to_string(), expected);
}

#[test]
fn malformed_messages_are_refused_by_name() {
    refused(json!("hi"), "a message must be an object, found a string");
    refused(json!({"content": "x"}), "role is missing");
    refused(json!({"role": "tool"}), "role \"tool\" is none of user, assistant, system");
    refused(
        json!({"role": "user", "content": 7}),
        "content must be a string or a list of blocks, found a number",
    );
    refused(
        json!({"role": "user",
            "content": [{"type": "tool_result", "content": [{"type": "text"}]}]}),
        "content[0].content[0].text is missing",
    );
    refused(
        json!({"role": "user", "content": [{"type": "image", "source": {"type": "url"}}]}),
        "content[0].source.url is missing",
    );
}

/// Any shallow JSON.
fn any_json() -> impl Strategy<Value = Value> {
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

fn source() -> impl Strategy<Value = Value> {
    prop_oneof![
        text().prop_map(|t| json!({"type": "base64", "media_type": "image/png", "data": t})),
        Just(json!({"type": "base64", "data": "AA"})),
        text().prop_map(|t| json!({"type": "url", "url": t, "x": 1})),
        Just(json!({"type": "file", "file_id": "f"})),
        any_json().prop_map(|x| json!({"type": "content", "content": x})),
    ]
}

/// A block with one more key than it needs, null or not.
fn block() -> impl Strategy<Value = Value> {
    let simple = prop_oneof![
        text().prop_map(|t| json!({"type": "text", "text": t})),
        source().prop_map(|s| json!({"type": "image", "source": s})),
        (source(), text()).prop_map(|(s, t)| json!({"type": "document", "source": s, "title": t})),
        any_json().prop_map(|x| json!({"type": "odd", "x": x})),
    ];
    let simple = simple.boxed();
    let content = prop_oneof![
        text(),
        proptest::collection::vec(simple.clone(), 0..3).prop_map(Value::from),
        Just(Value::Null)
    ];
    let all = prop_oneof![
        3 => simple,
        1 => (text(), text()).prop_map(|(t, s)| json!({"type": "thinking", "thinking": t, "signature": s})),
        1 => text().prop_map(|t| json!({"type": "redacted_thinking", "data": t})),
        2 => any_json().prop_map(|x| json!({"type": "tool_use", "id": "t", "name": "f",
            "input": x})),
        2 => (content, any::<Option<bool>>()).prop_map(|(content, error)| {
            json!({"type": "tool_result", "tool_use_id": "t", "content": content,
                "is_error": error})
        }),
    ];
    (all, proptest::option::of(("[a-z]{1,3}", any_json()))).prop_map(|(mut block, more)| {
        if let Some((key, value)) = more {
            block[key] = value;
        }
        block
    })
}

/// Objects that look like messages, with keys that are missing, null or of another type.
fn message_like() -> impl Strategy<Value = Value> {
    let content = prop_oneof![
        2 => text(),
        6 => proptest::collection::vec(block(), 0..4).prop_map(Value::from),
        1 => any_json(),
    ];
    let role = prop_oneof!["user", "assistant", "system"];
    let more = proptest::collection::vec(
        ("(id|model|usage|type|stop_reason|[a-z$]{0,4})", any_json()),
        0..4,
    );
    (role, proptest::option::of(content), more).prop_map(|(role, content, more)| {
        let mut entries: serde_json::Map<_, _> = more.into_iter().collect();
        entries.extend(content.map(|content| ("content".to_owned(), content)));
        entries.insert("role".to_owned(), role.into());
        Value::Object(entries)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn whatever_is_read_comes_back(original in message_like()) {
        let json = Json::from(&original);
        if let Ok(lifted) = messages::lift(&json) {
            let loaded = Message::decode(&lifted.message.encode()).unwrap();
            let back = messages::lower_source(&loaded);
            prop_assert_eq!(back.messages.iter().map(value).collect::<Vec<_>>(), [value(&json)]);
            prop_assert_eq!(back.diagnostics, []);
            // A sent message can be lifted again.
            for sent in messages::lower(&loaded).messages {
                prop_assert!(messages::lift(&sent).is_ok(), "{}", sent);
            }
        }
    }

    #[test]
    fn nothing_makes_it_panic(original in any_json()) {
        let _ = messages::lift(&original.into())
            .map(|lifted| messages::lower_source(&lifted.message));
    }
}

/// Returns the folder of recorded data: `CONTEXT_TEST_DATA`, else `../shared` beside the workspace.
fn data() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    std::env::var_os("CONTEXT_TEST_DATA").map_or(root, PathBuf::from).join("data")
}

fn texts(folder: &Path, extension: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let named = |path: &PathBuf| path.to_str().is_some_and(|name| name.ends_with(extension));
    entries.filter(named).map(|path| fs::read_to_string(path).expect("data can be read")).collect()
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn real_messages_come_back() {
    let data = data();
    let mut count = 0;
    let mut check = |message: &Value| {
        round_trip(&message.into());
        count += 1;
    };
    for session in texts(&data.join("claude-code"), ".jsonl") {
        for line in session.lines() {
            let line: Value = serde_json::from_str(line).expect("JSON");
            if line["message"].is_object() {
                check(&line["message"]);
            }
        }
    }
    for answer in texts(&data.join("vercel-ai-fixtures/anthropic"), ".json") {
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        if answer["role"] == "assistant" {
            check(&answer);
        }
    }
    assert!(count > 0, "no message in the data");
    println!("{count} messages came back");
}
