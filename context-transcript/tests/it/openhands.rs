//! Events of OpenHands.

use context_core::message::PlacedNode;
use context_core::{Message, Node, Part, Role, Timestamp};
use context_transcript::{ChatContent, ExportedChat, Format};
use proptest::prelude::*;
use serde_json::{Value as Parsed, json};

use crate::fixture::{check_equal, read_text, round_trip, values};

fn event(id: &str, kind: &str, source: &str, rest: Parsed) -> Parsed {
    let mut event = json!({"id": id, "timestamp": "2026-01-05T09:00:01.250000", "kind": kind, "source": source});
    event.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    event
}

fn said(text: &str) -> Parsed {
    json!([{"type": "text", "text": text, "cache_prompt": false}])
}

fn events() -> Vec<Parsed> {
    vec![
        event(
            "e0",
            "SystemPromptEvent",
            "agent",
            json!({"system_prompt": {"type": "text", "text": "You code."}, "tools": []}),
        ),
        event(
            "e1",
            "MessageEvent",
            "user",
            json!({"llm_message": {"role": "user", "content": [
            {"type": "text", "text": "Fix it."}, {"type": "image", "image_urls": ["data:image/png;base64,AA=="]}]},
            "activated_skills": ["git"], "extended_content": said("Use git.")}),
        ),
        event(
            "e2",
            "ActionEvent",
            "agent",
            json!({"thought": said("I look."), "reasoning_content": "Hm.",
            "thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "redacted_thinking", "data": "d"}],
            "tool_name": "terminal", "tool_call_id": "c1", "llm_response_id": "r1", "action": {"kind": "TerminalAction", "command": "ls"},
            "tool_call": {"id": "c1", "name": "terminal", "arguments": "{\"command\": \"ls\"}", "origin": "completion"}}),
        ),
        event(
            "e3",
            "ActionEvent",
            "agent",
            json!({"thought": [], "tool_name": "terminal", "tool_call_id": "c2", "llm_response_id": "r1",
            "tool_call": {"id": "c2", "type": "function", "function": {"name": "terminal", "arguments": "{oops"}}}),
        ),
        event(
            "e4",
            "ObservationEvent",
            "environment",
            json!({"tool_name": "terminal", "tool_call_id": "c1", "action_id": "e2",
            "observation": {"kind": "TerminalObservation", "content": said("a.py"), "is_error": false, "exit_code": 0}}),
        ),
        event(
            "e5",
            "AgentErrorEvent",
            "agent",
            json!({"tool_name": "terminal", "tool_call_id": "c2", "error": "no JSON"}),
        ),
        event(
            "e6",
            "ConversationStateUpdateEvent",
            "environment",
            json!({"key": "stats", "value": {"n": 1.50}}),
        ),
        event(
            "e7",
            "ActionEvent",
            "agent",
            json!({"thought": [], "reasoning_content": "Again.", "tool_name": "edit", "tool_call_id": "c3",
            "action": {"path": "a.py"}}),
        ),
        event(
            "e8",
            "UserRejectObservation",
            "user",
            json!({"tool_name": "edit", "tool_call_id": "c3", "rejection_reason": "Not that one."}),
        ),
        event(
            "e9",
            "ObservationEvent",
            "environment",
            json!({"tool_name": "edit", "tool_call_id": "c3", "observation": {"output": "x", "exit_code": 1}}),
        ),
        event(
            "e10",
            "ObservationEvent",
            "environment",
            json!({"tool_name": "edit", "tool_call_id": "c3", "observation": {"lines": [1]}}),
        ),
        event(
            "e11",
            "MessageEvent",
            "agent",
            json!({"llm_message": {"role": "assistant", "content": said("Done."), "tool_calls": null}}),
        ),
    ]
}

#[test]
fn events_come_back_and_are_messages() {
    let file = json!(events()).to_string();
    assert_eq!(check_equal("events.json", &file, 1), [Format::Openhands]);
    let stored = round_trip("events.json", &file, Some(Format::Openhands)).unwrap().chats.remove(0);
    assert_eq!(stored.diagnostics, [""; 0]);
    let roles: Vec<_> = stored.nodes.iter().filter_map(|placed| placed.node.role()).collect();
    let (system, user, model, tool) = (Role::System, Role::User, Role::Assistant, Role::Tool);
    assert_eq!(
        roles,
        [system, user, user, model, model, tool, tool, system, model, tool, tool, tool, model]
    );
    assert_eq!(stored.chain("main")[1..4], ["e1", "e1.2", "e2"]);
    assert_eq!(stored.title.as_deref(), Some("Fix it."));
    let action = stored.nodes[3].node.message().unwrap();
    let [Part::Reasoning(_), Part::Reasoning(sealed), Part::Text(_), Part::ToolCall(call)] =
        action.parts.as_slice()
    else {
        panic!("{action:?}")
    };
    assert_eq!(
        (sealed.encrypted.as_deref(), call.input.as_written()),
        (Some("d"), r#"{"command": "ls"}"#)
    );
    let result = stored.nodes[6].node.message().unwrap().tool_results().next().unwrap().clone();
    assert_eq!((result.call_id.as_str(), result.is_error), ("c2", true));
    assert_eq!(stored.nodes[0].node.created_at.as_micros(), 1_767_603_601_250_000);
}

#[test]
fn events_may_be_lines_or_in_an_object() {
    let lines: String = events().iter().map(|event| format!("{event}\n")).collect();
    assert_eq!(check_equal("events.jsonl", &lines, 1), [Format::Openhands]);
    for key in ["history", "events", "items"] {
        let row = json!({"instance_id": "x", key: events(), "metrics": {"cost": 0.1}});
        assert_eq!(check_equal("output.json", &row.to_string(), 1), [Format::Openhands]);
        let rows = format!("{row}\n{row}\n");
        assert_eq!(check_equal("output.jsonl", &rows, 2), [Format::Openhands; 2]);
    }
    let passed =
        round_trip("events.jsonl", &format!("{lines}7\n"), Some(Format::Openhands)).unwrap();
    assert_eq!(passed.broken, [(13, "a line is not an object".to_owned())]);
}

#[test]
fn an_added_answer_is_an_event_for_each_call() {
    let file = json!(events()).to_string();
    let mut stored = round_trip("e.json", &file, None).unwrap().chats.remove(0);
    let calls = ["c8", "c9"].map(|id| Part::tool_call(id, "terminal", json!({})));
    let answer = Message::new(Role::Assistant, [Part::text("Two.")].into_iter().chain(calls));
    let node = Node::new("new", answer, Timestamp::from_micros(1_000_000));
    stored.nodes.push(PlacedNode::new(node, Some("e11".into()), 13));
    let source = read_text("e.json", &file, None).unwrap().remove(0).source;
    let (content, lost) = ChatContent::of_log(&source, &stored.nodes).unwrap();
    assert_eq!(lost, []);
    let back = values(&ExportedChat::new(Some(source), content).to_text()).remove(0);
    let back = back.as_array().unwrap();
    assert_eq!(back[..12], events());
    assert_eq!(
        (&back[12]["thought"][0]["text"], &back[12]["tool_call_id"]),
        (&json!("Two."), &json!("c8"))
    );
    assert_eq!(
        (&back[13]["id"], &back[13]["source"], &back[13]["timestamp"]),
        (&json!("new.2"), &json!("agent"), &json!("1970-01-01T00:00:01Z"))
    );
}

fn any_event() -> impl Strategy<Value = Parsed> {
    let odd = vec![
        event("o1", "MessageEvent", "user", json!({})),
        event(
            "o2",
            "MessageEvent",
            "agent",
            json!({"llm_message": {"role": "assistant", "content": "Hi.",
            "tool_calls": [{"id": "c", "name": "f", "arguments": "{}"}]}}),
        ),
        event(
            "o3",
            "MessageEvent",
            "user",
            json!({"llm_message": {"role": "user", "content": [
            {"type": "image", "image_urls": ["a", "b"]}]}}),
        ),
        event("o4", "ObservationEvent", "environment", json!({"observation": null})),
        event("o5", "Condensation", "environment", json!({"summary": "s"})),
    ];
    proptest::sample::select([events(), odd].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_list_of_events_comes_back(events in proptest::collection::vec(any_event(), 1..12)) {
        let file = json!(events).to_string();
        prop_assert_eq!(check_equal("events.json", &file, 1), [Format::Openhands]);
    }
}
