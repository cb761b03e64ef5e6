//! Sessions of the Codex CLI.

use context_core::message::PlacedNode;
use context_core::{Message, Node, Role, Timestamp};
use context_transcript::{Format, is_log_entry};
use proptest::prelude::*;
use serde_json::{Value as Parsed, json};

use crate::fixture::{amended, changed, check_equal, round_trip, values};

fn line(kind: &str, payload: Parsed) -> Parsed {
    json!({"timestamp": "2025-10-29T00:59:38.317Z", "type": kind, "payload": payload})
}

fn item(payload: Parsed) -> Parsed {
    line("response_item", payload)
}

fn said(role: &str, part: &str, text: &str) -> Parsed {
    json!({"type": "message", "role": role, "content": [{"type": part, "text": text}]})
}

fn items() -> Vec<Parsed> {
    vec![
        said("user", "input_text", "<environment_context>here</environment_context>"),
        said("user", "input_text", "what is 2+2?"),
        json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "**Adding**"}], "content": null, "encrypted_content": "e"}),
        json!({"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"expr\",\"2\",\"+\",\"2\"]}", "call_id": "c"}),
        json!({"type": "function_call_output", "call_id": "c", "output": "{\"output\":\"4\\n\",\"metadata\":{\"exit_code\":0}}"}),
        json!({"type": "custom_tool_call", "status": "completed", "call_id": "d", "name": "apply_patch", "input": "*** Begin Patch"}),
        json!({"type": "custom_tool_call_output", "call_id": "d", "output": "done"}),
        json!({"type": "ghost_snapshot", "ghost_commit": {"id": "x"}}),
        said("assistant", "output_text", "4"),
    ]
}

fn rollout() -> Vec<Parsed> {
    let mut lines = vec![
        line(
            "session_meta",
            json!({"id": "s", "cwd": "/work", "originator": "codex_exec", "cli_version": "0.46.0", "git": {}}),
        ),
        line(
            "event_msg",
            json!({"type": "user_message", "message": "what is 2+2?", "kind": "plain"}),
        ),
        line("turn_context", json!({"cwd": "/work", "model": "gpt-5-codex"})),
    ];
    lines.extend(items().into_iter().map(item));
    lines.push(line("compacted", json!({"message": "They added."})));
    lines.push(line("event_msg", json!({"type": "token_count", "info": null})));
    lines
}

fn text(lines: &[Parsed]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_rollout_comes_back_and_is_a_chat_of_its_items() {
    let file = text(&rollout());
    assert_eq!(check_equal("rollout.jsonl", &file, 1), [Format::Codex]);
    let passed = round_trip("rollout.jsonl", &file, Some(Format::Codex)).unwrap();
    let stored = &passed.chats[0];
    let roles: Vec<_> = stored.nodes.iter().filter_map(|placed| placed.node.role()).collect();
    let (user, model, tool) = (Role::User, Role::Assistant, Role::Tool);
    // The reasoning and the call after it are one message.
    assert_eq!(roles[..6], [user, user, model, tool, model, tool]);
    assert_eq!(stored.nodes[2].node.message().unwrap().parts.len(), 2);
    assert_eq!(stored.chain("main").first().map(String::as_str), Some("line-4"));
    assert_eq!(stored.title.as_deref(), Some("what is 2+2?"));
    assert_eq!(stored.nodes[0].node.created_at.as_micros(), 1_761_699_578_317_000);
}

#[test]
fn calls_of_one_turn_stay_together() {
    let call = |id: &str| {
        item(json!({"type": "function_call", "name": "f", "arguments": "{}", "call_id": id}))
    };
    let output =
        |id: &str| item(json!({"type": "function_call_output", "call_id": id, "output": "x"}));
    let tokens = line("event_msg", json!({"type": "token_count"}));
    let lines = [
        item(said("user", "input_text", "go")),
        call("a"),
        tokens,
        call("b"),
        output("a"),
        output("b"),
    ];
    assert_eq!(check_equal("rollout.jsonl", &text(&lines), 1), [Format::Codex]);
    let stored = round_trip("rollout.jsonl", &text(&lines), None).unwrap().chats.remove(0);
    assert_eq!(stored.chain("main"), ["line-1", "line-2", "line-5"]);
}

#[test]
fn older_rollouts_are_items_on_lines() {
    let mut lines =
        vec![json!({"id": "s", "timestamp": "2025-07-01T00:00:00Z", "instructions": null})];
    lines.push(json!({"record_type": "state"}));
    lines.extend(items());
    assert_eq!(check_equal("rollout.jsonl", &text(&lines), 1), [Format::Codex]);
    // Without the line about the session, the items are an ordinary conversation.
    assert_eq!(check_equal("items.jsonl", &text(&items()), 1), [Format::OpenaiResponses]);
}

#[test]
fn one_line_is_a_rollout_too() {
    assert_eq!(check_equal("rollout.json", &rollout()[0].to_string(), 1), [Format::Codex]);
    assert_eq!(check_equal("rollout.jsonl", &text(&rollout()[3..4]), 1), [Format::Codex]);
}

#[test]
fn what_is_no_item_keeps_its_place() {
    let lines = [
        rollout()[0].clone(),
        item(json!({"type": "message"})),
        item(json!({"content": 1})),
        item(said("user", "input_text", "a")),
    ];
    let passed = round_trip("rollout.jsonl", &text(&lines), None).unwrap();
    assert_eq!(values(&passed.text), lines);
    let notes = passed.chats[0]
        .nodes
        .iter()
        .filter(|placed| is_log_entry(placed.node.message().unwrap()))
        .count();
    assert_eq!(notes, passed.chats[0].diagnostics.len());
    assert!(notes > 0);
    let broken = round_trip("rollout.jsonl", &format!("{}7\n", text(&lines)), None).unwrap().broken;
    assert_eq!(broken, [(5, "a line is not an object".to_owned())]);
}

#[test]
fn much_beside_the_items_goes_on_a_branch() {
    let mut lines = rollout();
    let event = |n: usize| {
        line("event_msg", json!({"type": "agent_message", "message": "x".repeat(1000), "n": n}))
    };
    lines.extend((0..100).map(event));
    let file = text(&lines);
    assert_eq!(check_equal("rollout.jsonl", &file, 1), [Format::Codex]);
    let stored = round_trip("rollout.jsonl", &file, None).unwrap().chats.remove(0);
    assert_eq!(stored.heads.len(), 2);
}

#[test]
fn what_was_changed_and_added_goes_out_as_a_line() {
    let (back, said) = changed(&text(&rollout()), |nodes| {
        nodes[1] = amended(&nodes[1], "what is 3+3?");
        let message = Message::text(Role::User, "Thanks.");
        nodes.push(PlacedNode::new(Node::new("new", message, Timestamp::default()), None, 99));
    });
    assert_eq!(said, [""; 0]);
    let (back, original) = (values(&back), rollout());
    assert_eq!(back.len(), original.len() + 1);
    assert!(back[4].to_string().contains("what is 3+3?"), "{}", back[4]);
    assert_eq!((&back[..4], &back[5..original.len()]), (&original[..4], &original[5..]));
    let last = &back[original.len()];
    assert_eq!(
        (&last["type"], &last["payload"]["role"]),
        (&json!("response_item"), &json!("user"))
    );
    assert!(last.to_string().contains("Thanks."));
}

fn any_item() -> impl Strategy<Value = Parsed> {
    let odd = vec![
        json!({"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search", "query": "q"}}),
        json!({"type": "local_shell_call", "call_id": "c", "status": "completed", "action": {"type": "exec", "command": ["ls"]}}),
        json!({"type": "reasoning", "summary": [], "encrypted_content": null}),
        json!({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "d"}]}),
        json!({"type": "message", "role": "user", "content": []}),
        json!({"type": "later", "n": 1.50}),
        json!({}),
    ];
    proptest::sample::select([items(), odd].concat())
}

proptest! {
    #[test]
    fn every_rollout_comes_back(items in proptest::collection::vec(any_item(), 0..12),
        other in 0..6_usize) {
        let mut lines = vec![rollout()[0].clone()];
        lines.extend(items.into_iter().map(item));
        lines.insert(other.min(lines.len() - 1) + 1, rollout()[1].clone());
        prop_assert_eq!(check_equal("rollout.jsonl", &text(&lines), 1), [Format::Codex]);
    }
}
