//! Events of OpenHands before its SDK.

use context_core::message::{PlacedNode, ToolInput};
use context_core::{Message, Node, Part, Role, Timestamp, ToolResult};
use context_transcript::{
    ChatContent, ExportedChat, Format, TranscriptError, is_log_entry, measures,
};
use proptest::prelude::*;
use serde_json::{Value as Parsed, json};

use crate::fixture::{amended, check_equal, check_grows, read_text, round_trip, values};

fn event(id: u64, source: &str, rest: Parsed) -> Parsed {
    let mut event = json!({"id": id, "timestamp": "2025-06-14T09:00:01.250000", "source": source});
    event.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    event
}

/// The metadata of a call of an answer with two calls.
fn metadata(id: &str) -> Parsed {
    let call = |id: &str, command: &str| {
        let arguments = json!({"command": command, "security_risk": "LOW"}).to_string();
        json!({"index": 1, "id": id, "type": "function",
            "function": {"name": "execute_bash", "arguments": arguments}})
    };
    json!({"function_name": "execute_bash", "tool_call_id": id, "total_calls_in_response": 2,
        "model_response": {"id": "r1", "model": "claude-4", "object": "chat.completion",
            "choices": [{"finish_reason": "tool_calls", "index": 0, "message": {"role": "assistant",
                "content": "I look.", "tool_calls": [call("c1", "ls"), call("c2", "ls | wc")]}}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
                "prompt_tokens_details": {"cached_tokens": 80}}}})
}

fn ran(command: &str, thought: &str) -> Parsed {
    json!({"message": format!("Running command: {command}"), "action": "run", "args": {
        "command": command, "is_input": false, "thought": thought, "blocking": false,
        "hidden": false, "confirmation_state": "confirmed"}})
}

fn output(kind: &str, cause: Option<u64>, content: &str) -> Parsed {
    let extras = json!({"command": "ls", "metadata": {"exit_code": 0, "working_dir": "/w"}});
    let mut event = json!({"message": "Command `ls` executed.", "observation": kind,
        "content": content, "extras": extras});
    if let Some(cause) = cause {
        event["cause"] = cause.into();
    }
    event
}

fn with(mut event: Parsed, key: &str, value: Parsed) -> Parsed {
    event[key] = value;
    event
}

fn said(text: &str, more: Parsed) -> Parsed {
    let mut args = json!({"content": text, "wait_for_response": false});
    args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"message": text, "action": "message", "args": args})
}

fn events() -> Vec<Parsed> {
    let call = |id: &str| json!({"function_name": "edit", "tool_call_id": id});
    let finished = json!({"message": "Done.", "action": "finish", "args": {"final_thought": "Done.",
        "outputs": {}, "thought": ""}, "tool_call_metadata": call("c4"),
        "llm_metrics": {"accumulated_cost": 0.5,
            "accumulated_token_usage": {"model": "claude-4", "prompt_tokens": 900}}});
    let prompt = json!({"message": "You code.", "action": "system", "args": {"content": "You code.",
        "tools": [], "openhands_version": "0.50.0", "agent_class": "CodeActAgent"}});
    let image = json!({"image_urls": ["data:image/png;base64,AA=="], "file_urls": ["a.csv"]});
    let state = json!({"message": "", "observation": "agent_state_changed", "content": "",
        "extras": {"agent_state": "running"}});
    let edit = json!({"message": "", "action": "edit", "tool_call_metadata": call("c3"),
        "args": {"path": "a.py", "thought": {"text": "I edit.", "reasoning_content": "Hm."}}});
    vec![
        event(0, "agent", prompt),
        event(1, "user", said("Fix it.", image)),
        event(2, "user", json!({"action": "recall", "args": {"query": "Fix it."}})),
        event(3, "environment", state),
        event(4, "agent", with(ran("ls", "I look."), "tool_call_metadata", metadata("c1"))),
        event(
            5,
            "agent",
            with(output("run", Some(4), "a.py"), "tool_call_metadata", metadata("c1")),
        ),
        event(6, "agent", with(ran("ls | wc", ""), "tool_call_metadata", metadata("c2"))),
        event(
            7,
            "agent",
            with(
                with(output("run", Some(6), ""), "tool_call_metadata", metadata("c2")),
                "success",
                json!(false),
            ),
        ),
        event(8, "agent", ran("cat a.py", "I read.")),
        event(9, "agent", output("run", Some(8), "x = 1")),
        event(10, "user", ran("git diff", "")),
        event(11, "user", output("run", Some(10), "no change")),
        event(12, "agent", output("error", None, "no such tool")),
        event(13, "agent", edit),
        event(
            14,
            "agent",
            with(output("user_rejected", Some(13), "No."), "tool_call_metadata", call("c3")),
        ),
        event(15, "agent", finished),
        event(16, "agent", said("Bye.", json!({"images_urls": ["https://x.org/a.png"]}))),
    ]
}

fn list() -> String {
    json!(events()).to_string()
}

fn result_of(node: &PlacedNode) -> ToolResult {
    node.node.message().unwrap().tool_results().next().unwrap().clone()
}

#[test]
fn events_come_back_and_are_messages() {
    assert_eq!(check_equal("trajectory.json", &list(), 1), [Format::Openhands]);
    let stored = round_trip("trajectory.json", &list(), Some(Format::Openhands)).unwrap();
    let stored = stored.chats.into_iter().next().unwrap();
    assert_eq!(stored.diagnostics, [""; 0]);
    assert_eq!(stored.title.as_deref(), Some("Fix it."));
    assert_eq!(stored.chain("main")[..3], ["0", "1", "2"]);
    let roles: Vec<_> = stored.nodes.iter().filter_map(|placed| placed.node.role()).collect();
    let (system, user, model, tool) = (Role::System, Role::User, Role::Assistant, Role::Tool);
    let calls = [model, tool, model, tool, model, tool];
    let expected = [&[system, user, system, system], &calls[..], &[user; 3], &[model, tool]];
    assert_eq!(roles, [&expected.concat()[..], &[model, model]].concat());
    let message = |at: usize| stored.nodes[at].node.message().unwrap().clone();
    assert!([2, 3].iter().all(|at| is_log_entry(&message(*at))));
    assert!(matches!(message(1).parts.as_slice(), [Part::Text(_), Part::Image(_)]));
    assert_eq!(stored.nodes[0].node.created_at.as_micros(), 1_749_891_601_250_000);

    let call = |at: usize| message(at).tool_calls().next().unwrap().clone();
    assert_eq!(
        (message(4).plain_text(), call(4).name.as_str()),
        ("I look.".into(), "execute_bash")
    );
    let first = r#"{"command":"ls","security_risk":"LOW"}"#;
    assert_eq!((call(4).id.as_str(), call(4).input.as_written()), ("c1", first));
    let made = r#"{"command":"cat a.py","is_input":false}"#;
    assert_eq!((call(8).id.as_str(), call(8).input.as_written()), ("event-8", made));
    assert_eq!((call(8).name.as_str(), call(13).name.as_str()), ("run", "edit"));
    assert_eq!(call(13).input.as_written(), r#"{"path":"a.py"}"#);
    assert!(matches!(
        message(13).parts.as_slice(),
        [Part::Reasoning(_), Part::Text(_), Part::ToolCall(_)]
    ));

    let results = [5, 7, 9, 14].map(|at| result_of(&stored.nodes[at]));
    let results = results.each_ref().map(|result| (result.call_id.as_str(), result.is_error));
    assert_eq!(results, [("c1", false), ("c2", true), ("event-8", false), ("c3", true)]);
    let said = [10, 11, 12].map(|at| message(at).plain_text().into_owned());
    assert_eq!(said, ["Running command: git diff", "no change", "no such tool"]);
    // The end is no call: it would stay without a result.
    assert_eq!((message(15).plain_text(), message(15).tool_calls().count()), ("Done.".into(), 0));
}

#[test]
fn an_observation_without_metadata_belongs_to_the_call_of_its_cause() {
    let asked = event(4, "user", json!({"action": "change_agent_state", "args": {}}));
    let list = [
        event(3, "agent", with(ran("ls", ""), "tool_call_metadata", metadata("c1"))),
        asked,
        event(5, "agent", output("run", Some(3), "a.py")),
        event(6, "agent", said("Well.", json!({}))),
        event(7, "agent", output("error", Some(6), "not sent")),
        event(8, "agent", output("run", Some(1), "of an event that is not here")),
    ];
    let text = json!(list).to_string();
    check_equal("events.json", &text, 1);
    let mut stored = round_trip("events.json", &text, None).unwrap().chats.remove(0);
    assert_eq!(result_of(&stored.nodes[2]).call_id, "c1");
    let roles: Vec<_> = stored.nodes[3..].iter().filter_map(|placed| placed.node.role()).collect();
    assert_eq!(roles, [Role::Assistant, Role::User, Role::User]);

    // A changed result is still that of its call.
    let mut result = stored.nodes[2].node.message().unwrap().as_ref().clone();
    if let [Part::ToolResult(result)] = result.parts.as_mut_slice() {
        result.output = vec![Part::text("b.py")];
    }
    let by = Node::new("5", result, Timestamp::default());
    let parent = stored.nodes[2].parent.clone();
    stored.nodes[2] = PlacedNode::new(stored.nodes[2].node.amended(&by), parent, 3);
    let source = read_text("events.json", &text, None).unwrap().remove(0).source;
    let (content, _) = ChatContent::of_log(&source, &stored.nodes).unwrap();
    let back = values(&ExportedChat::new(Some(source), content).to_text()).remove(0);
    let again = round_trip("events.json", &back.to_string(), None).unwrap().chats.remove(0);
    let result = result_of(&again.nodes[2]);
    assert_eq!((result.call_id.as_str(), result.output), ("c1", vec![Part::text("b.py")]));
    assert_eq!(back[2]["extras"], list[2]["extras"]);
}

#[test]
fn events_may_be_lines_or_in_an_object() {
    let lines: String = events().iter().map(|event| format!("{event}\n")).collect();
    assert_eq!(check_equal("events.jsonl", &lines, 1), [Format::Openhands]);
    for key in ["history", "events", "items", "trajectory"] {
        let row = json!({"instance_id": "x", key: events(), "metrics": {"cost": 0.1}});
        assert_eq!(check_equal("output.json", &row.to_string(), 1), [Format::Openhands]);
        let rows = format!("{row}\n{row}\n");
        assert_eq!(check_equal("output.jsonl", &rows, 2), [Format::Openhands; 2]);
    }
}

#[test]
fn a_list_that_gets_longer_continues_the_chat() {
    let events = events();
    let states: Vec<_> = (1..=events.len()).map(|end| json!(events[..end]).to_string()).collect();
    check_grows("trajectory.json", states);
    let row = |end: usize| json!({"history": events[..end], "error": null}).to_string();
    check_grows("output.json", (1..=events.len()).map(row));
}

#[test]
fn the_events_of_the_sdk_and_steps_of_swe_agent_are_told_apart() {
    let newer = json!({"id": "e", "timestamp": "2026-01-05T09:00:01", "source": "user",
        "kind": "MessageEvent", "llm_message": {"role": "user", "content": "Hi."}});
    let stored = round_trip("e.json", &json!([newer]).to_string(), Some(Format::Openhands));
    assert_eq!(stored.unwrap().chats[0].nodes[0].node.role(), Some(Role::User));
    // A list has one form. Events of the other are not detected, and kept if the format is named.
    let mixed = json!([newer, events()[1]]).to_string();
    assert!(read_text("e.json", &mixed, None).is_err());
    let mixed = round_trip("e.json", &mixed, Some(Format::Openhands)).unwrap().chats.remove(0);
    let kept: Vec<_> =
        mixed.nodes.iter().map(|node| is_log_entry(node.node.message().unwrap())).collect();
    assert_eq!(kept, [false, true]);

    let step = json!({"action": "ls", "observation": "a.py", "response": "", "thought": ""});
    let history = json!([{"role": "system", "content": "You code.", "agent": "primary"},
        {"role": "user", "content": "Fix it.", "agent": "primary"}]);
    let run = json!({"trajectory": [step], "history": history, "info": {}});
    assert_eq!(check_equal("run.traj", &run.to_string(), 1), [Format::SweAgent]);
    let alone = json!({"trajectory": [step]}).to_string();
    assert!(matches!(
        read_text("run.traj", &alone, None),
        Err(TranscriptError::UnknownForm { line: 1, .. })
    ));
}

#[test]
fn the_usage_of_an_answer_counts_with_its_first_call() {
    let chat = read_text("trajectory.json", &list(), None).unwrap().remove(0);
    let measured = measures(Some(&chat.source), [], chat.tree.nodes());
    let tokens = |id: &str| {
        let of = measured.get(id).unwrap();
        (of.model.as_deref(), of.input_tokens, of.output_tokens, of.cache_read_tokens)
    };
    assert_eq!(tokens("4"), (Some("claude-4"), Some(100), Some(20), Some(80)));
    assert_eq!(tokens("6"), (Some("claude-4"), None, None, None));
    assert_eq!(tokens("15"), (Some("claude-4"), None, None, None));
    assert_eq!(measured.get("8"), None);
}

#[test]
fn what_was_changed_and_added_goes_out_as_an_event() {
    let mut stored = round_trip("t.json", &list(), None).unwrap().chats.remove(0);
    stored.nodes[1] = amended(&stored.nodes[1], "Mend it.");
    let calls = ["c8", "c9"].map(|id| Part::tool_call(id, "look", json!({"at": id})));
    let answer = Message::new(Role::Assistant, [Part::text("Two.")].into_iter().chain(calls));
    let failed = Message::new(Role::Tool, [Part::ToolResult(result_of(&stored.nodes[7]))]);
    let result = |id: &str, text: &str, is_error: bool| {
        let mut failed = failed.clone();
        let [Part::ToolResult(result)] = failed.parts.as_mut_slice() else { panic!() };
        *result = ToolResult { metadata: Default::default(), ..result.clone() };
        (result.call_id, result.output, result.is_error) =
            (id.to_owned(), vec![Part::text(text)], is_error);
        failed
    };
    let added = [
        ("17", answer),
        ("18", result("c8", "a.py", false)),
        ("19", result("event-8", "gone", true)),
        ("new", Message::text(Role::User, "And now?")),
    ];
    let mut parent = "16".to_owned();
    for (depth, (id, message)) in (17..).zip(added) {
        let node = Node::new(id, message, Timestamp::from_micros(1_000_000));
        stored.nodes.push(PlacedNode::new(node, Some(parent.as_str().into()), depth));
        parent = id.to_owned();
    }
    let source = read_text("t.json", &list(), None).unwrap().remove(0).source;
    let (content, lost) = ChatContent::of_log(&source, &stored.nodes).unwrap();
    assert_eq!(lost, []);
    let text = ExportedChat::new(Some(source), content).to_text();
    let back = values(&text).remove(0);
    let back = back.as_array().unwrap();
    assert_eq!(back[0], events()[0]);
    assert_eq!(back[2..17], events()[2..]);
    assert_eq!(
        (&back[1]["args"]["content"], &back[1]["message"], &back[1]["source"]),
        (&json!("Mend it."), &json!("Mend it."), &json!("user"))
    );
    let first = &back[17];
    assert_eq!((&first["id"], &first["action"]), (&json!(17), &json!("call_tool_mcp")));
    assert_eq!(
        (&first["timestamp"], &first["args"]),
        (
            &json!("1970-01-01T00:00:01"),
            &json!({"name": "look", "arguments": {"at": "c8"}, "thought": "Two."})
        )
    );
    assert_eq!(back[18]["tool_call_metadata"]["tool_call_id"], "c9");
    assert_eq!((&back[19]["observation"], &back[19]["content"]), (&json!("mcp"), &json!("a.py")));
    assert_eq!((&back[20]["observation"], &back[20]["cause"]), (&json!("error"), &json!(8)));
    assert_eq!((&back[21]["id"], &back[21]["source"]), (&json!("new"), &json!("user")));
    // Everything that was written is of the same form, and is read again.
    let again = round_trip("t.json", &text, None).unwrap().chats.remove(0);
    assert_eq!((again.nodes.len(), again.diagnostics), (22, Vec::new()));
}

#[test]
fn a_changed_call_keeps_the_kind_of_its_action() {
    let mut stored = round_trip("t.json", &list(), None).unwrap().chats.remove(0);
    for at in [4, 8, 13] {
        let placed = &stored.nodes[at];
        let mut message = placed.node.message().unwrap().as_ref().clone();
        let Some(Part::ToolCall(call)) = message.parts.last_mut() else { panic!() };
        call.input = ToolInput::from_written(r#"{"command":"pwd"}"#);
        let by = Node::new(placed.node.id.clone(), message, Timestamp::default());
        let by = placed.node.amended(&by);
        stored.nodes[at] = PlacedNode::new(by, placed.parent.clone(), placed.depth);
    }
    let source = read_text("t.json", &list(), None).unwrap().remove(0).source;
    let (content, _) = ChatContent::of_log(&source, &stored.nodes).unwrap();
    let text = ExportedChat::new(Some(source), content).to_text();
    let kinds = [4, 8, 13].map(|at| values(&text)[0][at]["action"].clone());
    assert_eq!(kinds, ["run", "run", "edit"]);
    let again = round_trip("t.json", &text, None).unwrap().chats.remove(0);
    for at in [4, 8, 13] {
        let message = again.nodes[at].node.message().unwrap();
        let call = message.tool_calls().next().unwrap();
        assert_eq!(call.input.as_written(), r#"{"command":"pwd"}"#);
    }
}

/// A value in the place of another one.
fn any_value() -> impl Strategy<Value = Parsed> {
    proptest::sample::select(vec![
        json!(null),
        json!(true),
        json!(-1),
        json!(8.5),
        json!(4),
        json!(""),
        json!("user"),
        json!("message"),
        json!("event-4"),
        json!([]),
        json!([7, null]),
        json!(["data:text/plain;base64,AA=="]),
        json!([{"message": {"tool_calls": [{"id": "c1", "function": {"arguments": "{oops"}}]}}]),
        json!({}),
        json!({"content": "x", "text": 7, "tool_call_id": "c1", "function_name": "f"}),
        json!({"content": ["x"], "thought": "t", "images_urls": ["https://x.org/a.png"]}),
    ])
}

/// Places of an event that matter.
const PLACES: [&str; 22] = [
    "/id",
    "/timestamp",
    "/source",
    "/message",
    "/action",
    "/args",
    "/args/content",
    "/args/thought",
    "/args/thought/text",
    "/args/image_urls",
    "/args/command",
    "/observation",
    "/content",
    "/extras",
    "/success",
    "/cause",
    "/tool_call_metadata",
    "/tool_call_metadata/tool_call_id",
    "/tool_call_metadata/function_name",
    "/tool_call_metadata/model_response",
    "/tool_call_metadata/model_response/choices",
    "/tool_call_metadata/model_response/usage/prompt_tokens",
];

fn any_event() -> impl Strategy<Value = Parsed> {
    let places = proptest::sample::select(&PLACES[..]);
    let changes = proptest::collection::vec((places, any_value()), 0..3);
    (proptest::sample::select(events()), changes).prop_map(|(mut event, changes)| {
        for (place, value) in changes {
            let (parent, key) = place.rsplit_once('/').unwrap();
            if let Some(Parsed::Object(fields)) = event.pointer_mut(parent) {
                fields.insert(key.to_owned(), value);
            }
        }
        event
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_list_of_events_comes_back(list in proptest::collection::vec(any_event(), 1..12)) {
        // Whatever is in them, events of the named format are read or kept.
        let text = json!(list).to_string();
        let passed = round_trip("t.json", &text, Some(Format::Openhands)).unwrap();
        prop_assert_eq!(values(&passed.text), values(&text));
        let chat = read_text("t.json", &text, Some(Format::Openhands)).unwrap().remove(0);
        let _ = measures(Some(&chat.source), [], chat.tree.nodes());
        // Without a name they are read as such, or not read at all.
        match read_text("t.json", &text, None) {
            Ok(chats) => prop_assert_eq!(chats[0].source.format, Format::Openhands),
            Err(error) => prop_assert!(error.to_string().contains("t.json")),
        }
    }
}
