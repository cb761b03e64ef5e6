//! Messages of every provider, and sessions of the Gemini CLI.

use context_core::message::PlacedNode;
use context_core::{Message, Node, Part, Role, Timestamp};
use context_transcript::{ChatContent, Format, TranscriptError, is_log_entry};
use proptest::prelude::*;
use serde_json::{Value as Parsed, json};

use crate::fixture::{StoredChat, amended, check_equal, read_text, round_trip, values};

/// Returns the detected format of a file.
#[track_caller]
fn format_of(name: &str, file: &Parsed) -> Format {
    check_equal(name, &file.to_string(), 1).remove(0)
}

fn roles(stored: &StoredChat) -> Vec<Role> {
    stored.nodes.iter().filter_map(|placed| placed.node.role()).collect()
}

fn items() -> Parsed {
    json!([
        {"role": "user", "content": "weather?"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"},
        {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "weather", "arguments": "{\"at\": \"Lisbon\"}"},
        {"type": "function_call_output", "call_id": "c", "output": "21"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "21.", "annotations": []}]},
    ])
}

fn contents() -> Parsed {
    json!([
        {"role": "user", "parts": [{"text": "weather?"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {"at": "Lisbon"}}, "thoughtSignature": "s"}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "weather", "response": {"output": "21"}}}]},
        {"role": "model", "parts": [{"text": "21."}]},
    ])
}

fn ui() -> Parsed {
    json!([
        {"id": "u", "role": "user", "parts": [{"type": "text", "text": "weather?"}]},
        {"id": "a", "role": "assistant", "metadata": {"n": 1.50}, "parts": [
            {"type": "step-start"},
            {"type": "tool-weather", "toolCallId": "c", "state": "output-available", "input": {"at": "Lisbon"}, "output": 21},
            {"type": "step-start"},
            {"type": "text", "text": "21.", "state": "done"},
        ]},
    ])
}

#[test]
fn the_messages_of_each_provider_are_told_apart() {
    assert_eq!(format_of("a.json", &items()), Format::OpenaiResponses);
    assert_eq!(
        format_of("a.json", &json!({"model": "m", "input": items(), "store": false})),
        Format::OpenaiResponses
    );
    assert_eq!(
        format_of("a.json", &json!({"input": [{"role": "user", "content": "hi"}]})),
        Format::OpenaiResponses
    );
    assert_eq!(format_of("a.json", &contents()), Format::Gemini);
    let body = json!({"systemInstruction": {"parts": [{"text": "s"}]}, "contents": contents()});
    assert_eq!(format_of("a.json", &body), Format::Gemini);
    assert_eq!(
        format_of("a.json", &json!({"contents": [{"parts": [{"text": "hi"}]}]})),
        Format::Gemini
    );
    // The form that the Gemini CLI saves on request.
    assert_eq!(
        format_of("a.json", &json!({"history": contents(), "authType": "x"})),
        Format::Gemini
    );
    assert_eq!(format_of("a.json", &ui()), Format::Uimessage);
    assert_eq!(format_of("a.json", &json!({"id": "chat", "messages": ui()})), Format::Uimessage);
    let old = json!([{"id": "a", "role": "assistant", "content": "x", "toolInvocations": []}]);
    assert_eq!(format_of("a.json", &old), Format::Uimessage);
    // Ambiguous messages are read as OpenAI messages.
    for plain in [
        json!([{"role": "user", "content": "about input_text and \"parts\""}]),
        json!([{"role": "user", "parts": []}]),
    ] {
        assert_eq!(format_of("a.json", &plain), Format::OpenaiChat);
    }
}

#[test]
fn a_turn_becomes_messages_and_is_itself_again() {
    let passed =
        |file: Parsed| round_trip("a.json", &file.to_string(), None).unwrap().chats.remove(0);
    let turn = [Role::User, Role::Assistant, Role::Tool, Role::Assistant];
    for file in [items(), contents(), ui()] {
        let stored = passed(file);
        assert_eq!(roles(&stored), turn);
        assert_eq!(stored.title.as_deref(), Some("weather?"));
        assert_eq!(stored.chain("main"), ["m1", "m2", "m3", "m4"]);
    }
}

#[test]
fn lines_of_messages_are_one_conversation() {
    for file in [items(), contents(), ui()] {
        let lines: String =
            file.as_array().unwrap().iter().map(|item| format!("{item}\n")).collect();
        check_equal("a.jsonl", &lines, 1);
        check_equal("a.json", &format!("[{file}, {file}]"), 2);
    }
    let (good, bad) =
        (&ui()[1], r#"{"id": "b", "role": "assistant", "parts": [{"type": "text"}]}"#);
    let passed = round_trip("a.jsonl", &format!("{good}\n{bad}\n{good}\n"), None).unwrap();
    assert_eq!(passed.broken, [(2, "messages[0].parts[0].text is missing".to_owned())]);
    assert_eq!(values(&passed.text), [good.clone(), good.clone()]);
}

#[test]
fn a_message_that_is_none_is_named_with_its_line() {
    let text = "[\n {\"role\": \"user\", \"parts\": [{\"type\": \"text\", \"text\": \"a\"}]},\n {\"role\": \"user\", \"parts\": [7]}\n]";
    let error = read_text("a", text, Some(Format::Uimessage)).unwrap_err();
    let TranscriptError::Message { line, message, format, .. } = error else { panic!("{error}") };
    assert_eq!((line, message, format), (3, 2, Format::Uimessage));
}

#[test]
fn the_form_can_be_named() {
    let user = json!([{"role": "user", "content": "hi"}]).to_string();
    for named in [Format::OpenaiChat, Format::OpenaiResponses, Format::Uimessage, Format::SweAgent]
    {
        let passed = round_trip("a.json", &user, Some(named)).unwrap();
        assert_eq!(values(&passed.text), values(&user));
        let chats = read_text("a.json", &user, Some(named)).unwrap();
        assert_eq!(chats[0].source.format, named);
    }
}

#[test]
fn a_trajectory_of_swe_agent_keeps_what_is_around_its_history() {
    let history = json!([
        {"role": "system", "content": "You fix code.", "agent": "main", "message_type": "system_prompt"},
        {"role": "assistant", "content": "I look.", "thought": "I look.", "action": "ls", "agent": "main", "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{\"command\": \"ls\"}"}}]},
        {"role": "tool", "content": "a.txt", "agent": "main", "tool_call_ids": ["c"],
            "is_demo": true},
    ]);
    let whole = json!({"environment": "e", "trajectory": [{"action": "ls"}], "history": history, "info": {"n": 1.50}});
    assert_eq!(format_of("a.traj", &whole), Format::SweAgent);
    assert_eq!(format_of("a.traj", &json!({"history": history})), Format::SweAgent);
    let plain = json!({"history": [{"role": "user", "content": "hi"}]});
    assert_eq!(format_of("a.json", &plain), Format::OpenaiChat);
}

fn session() -> Parsed {
    json!({"sessionId": "s", "projectHash": "h", "startTime": "2025-10-18T14:57:28.974Z", "lastUpdated": "x", "messages": [
        {"id": "1", "timestamp": "2025-10-18T14:57:28.974Z", "type": "user", "content": "What is here?"},
        {"id": "2", "timestamp": "2025-10-18T14:57:29Z", "type": "gemini", "content": "", "model": "m",
            "thoughts": [{"subject": "Looking", "description": "I list\nthe files.", "timestamp": "t"}],
            "tokens": {"input": 1, "total": 2},
            "toolCalls": [
                {"id": "c1", "name": "ls", "args": {"path": "."}, "status": "success", "timestamp": "t", "resultDisplay": "1 file",
                    "result": [{"functionResponse": {"id": "c1", "name": "ls", "response": {"output": "a.txt"}}}]},
                {"id": "c2", "name": "see", "args": {}, "status": "error", "result": [
                    {"functionResponse": {"id": "c2", "name": "see", "response": {"error": "no"}}},
                    {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
            ]},
        {"id": "3", "timestamp": "t", "type": "info", "content": "Request cancelled."},
        {"id": "4", "timestamp": "t", "type": "user", "content": [{"text": "And "}, {"inlineData": {"mimeType": "image/png", "data": "AA"}}]},
        {"id": "5", "timestamp": "t", "type": "gemini", "content": "A picture.", "tokens": null},
        {"id": "6", "timestamp": "t", "type": "gemini", "content": [{"text": "Two"}, {"text": "parts."}]},
        {"id": "7", "timestamp": "t", "type": "gemini", "content": 7},
    ]})
}

#[test]
fn a_session_of_the_gemini_cli_comes_back() {
    assert_eq!(format_of("session.json", &session()), Format::GeminiCli);
    let passed =
        round_trip("session.json", &session().to_string(), Some(Format::GeminiCli)).unwrap();
    let stored = &passed.chats[0];
    let (user, model, tool, none) = (Role::User, Role::Assistant, Role::Tool, Role::System);
    assert_eq!(roles(stored), [user, model, tool, none, user, model, model, none]);
    assert_eq!(stored.title.as_deref(), Some("What is here?"));
    assert_eq!(stored.diagnostics, ["m8: it cannot be read: it is kept, and no provider gets it"]);
    let results: Vec<_> = stored.nodes[2]
        .node
        .message()
        .unwrap()
        .parts
        .iter()
        .map(|part| match part {
            Part::ToolResult(result) => (result.is_error, result.output.len()),
            _ => panic!(),
        })
        .collect();
    assert_eq!(results, [(false, 1), (true, 2)]);
    assert!(is_log_entry(stored.nodes[3].node.message().unwrap()));
}

#[test]
fn what_changed_in_a_session_of_the_gemini_cli_goes_out_as_it_is_now() {
    let text = session().to_string();
    let mut nodes = round_trip("session.json", &text, None).unwrap().chats.remove(0).nodes;
    nodes[0] = amended(&nodes[0], "Who is here?");
    nodes.push(PlacedNode::new(
        Node::new("new", Message::text(Role::Assistant, "Nobody."), Timestamp::default()),
        None,
        9,
    ));
    let source = read_text("session.json", &text, None).unwrap().remove(0).source;
    let (content, said) = ChatContent::of_log(&source, &nodes).unwrap();
    let ChatContent::Whole(value) = content else { panic!() };
    let value: Parsed = value.parse().unwrap();
    assert_eq!(said, []);
    let original = session();
    assert_eq!(value["messages"][0]["content"], "Who is here?");
    for index in 1..7 {
        assert_eq!(value["messages"][index], original["messages"][index]);
    }
    let last = &value["messages"][7];
    assert_eq!(
        (&last["id"], &last["type"], &last["content"]),
        (&json!("new"), &json!("gemini"), &json!("Nobody."))
    );
}

fn any_value() -> impl Strategy<Value = Parsed> {
    let leaf = prop_oneof![
        Just(json!(null)),
        Just(json!("a")),
        Just(json!("")),
        Just(json!(1.5)),
        Just(json!({})),
        Just(json!([])),
        Just(json!([{"text": "x"}])),
        Just(json!({"output": "x"})),
        Just(json!([{"functionResponse": {"id": "c", "name": "f", "response": {"output": "x"}}}])),
        Just(json!([{"functionResponse": {"response": {"a": [1]}}}, {"text": "b"}])),
        Just(json!([{"subject": "s", "description": "d", "timestamp": "t"}])),
        Just(json!([{"subject": "s\nt", "description": ""}])),
    ];
    leaf.prop_recursive(1, 4, 2, |inner| {
        proptest::collection::vec(inner, 0..3).prop_map(Parsed::from)
    })
}

fn object(keys: &'static [&'static str]) -> impl Strategy<Value = Parsed> {
    proptest::collection::btree_map(proptest::sample::select(keys), any_value(), 0..5)
        .prop_map(|map| map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn record() -> impl Strategy<Value = Parsed> {
    let call = object(&["args", "result", "status", "timestamp"]).prop_map(|mut call| {
        call["id"] = "c".into();
        call["name"] = "f".into();
        call
    });
    let calls = proptest::option::of(proptest::collection::vec(call, 0..3));
    let kind = proptest::sample::select(vec!["user", "gemini", "info", "later"]);
    (object(&["id", "timestamp", "content", "thoughts", "toolCalls", "tokens"]), calls, kind)
        .prop_map(|(mut record, calls, kind)| {
            record["type"] = kind.into();
            if let Some(calls) = calls {
                record["toolCalls"] = calls.into();
            }
            record
        })
}

proptest! {
    #[test]
    fn every_session_of_the_gemini_cli_comes_back(records in proptest::collection::vec(record(),
        0..6), name: bool) {
        let mut session = json!({"sessionId": "s", "startTime": "t", "messages": records});
        if name {
            session["summary"] = "x".into();
        }
        prop_assert_eq!(format_of("a.json", &session), Format::GeminiCli);
    }
}
