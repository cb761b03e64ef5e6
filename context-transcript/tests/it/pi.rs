//! Sessions of the Pi coding agent.

use context_core::message::PlacedNode;
use context_core::{Message, Node, Part, Role, Timestamp};
use context_transcript::{Format, is_log_entry, measures};
use proptest::prelude::*;
use serde_json::{Value as Parsed, json};

use crate::fixture::{
    amended, changed, check_equal, check_equal_at_once, read_text, round_trip, values,
};

fn entry(kind: &str, id: &str, parent: Option<&str>, rest: Parsed) -> Parsed {
    let mut entry = json!({"type": kind, "id": id, "parentId": parent,
        "timestamp": "2026-01-05T09:00:01.000Z"});
    entry.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    entry
}

fn message(id: &str, parent: Option<&str>, message: Parsed) -> Parsed {
    entry("message", id, parent, json!({"message": message}))
}

fn header() -> Parsed {
    json!({"type": "session", "version": 3, "id": "5f1c", "timestamp": "2026-01-05T09:00:00.000Z", "cwd": "/srv/trip"})
}

fn usage() -> Parsed {
    json!({"input": 10, "output": 7, "cacheRead": 90, "cacheWrite": 5, "totalTokens": 112,
        "cost": {"input": 0.1, "output": 0.2, "cacheRead": 0.01, "cacheWrite": 0.02, "total": 0.33}})
}

fn session() -> Vec<Parsed> {
    vec![
        header(),
        entry("model_change", "a1", None, json!({"provider": "anthropic", "modelId": "sonnet"})),
        message(
            "a2",
            Some("a1"),
            json!({"role": "user", "content": "List the files.", "timestamp": 1}),
        ),
        message(
            "a3",
            Some("a2"),
            json!({"role": "assistant", "api": "anthropic-messages", "provider": "anthropic",
            "model": "sonnet", "usage": usage(), "stopReason": "toolUse", "timestamp": 2, "content": [
                {"type": "thinking", "thinking": "I look.", "thinkingSignature": "sig"},
                {"type": "text", "text": "Looking.", "textSignature": "msg_1"},
                {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls", "n": 1.50}}]}),
        ),
        message(
            "a4",
            Some("a3"),
            json!({"role": "toolResult", "toolCallId": "c1", "toolName": "bash", "isError": false,
            "content": [{"type": "text", "text": "map.txt"}, {"type": "image", "data": "AA==", "mimeType": "image/png"}],
            "details": {"exit": 0}, "timestamp": 3}),
        ),
        message(
            "a5",
            Some("a4"),
            json!({"role": "assistant", "provider": "anthropic", "model": "sonnet",
            "content": [{"type": "text", "text": "One file."}], "usage": usage(), "stopReason": "stop", "timestamp": 4}),
        ),
        entry("label", "a6", Some("a5"), json!({"targetId": "a2", "label": "start"})),
        // The user goes back to the first question and asks another one.
        entry(
            "branch_summary",
            "b1",
            Some("a2"),
            json!({"fromId": "a6", "summary": "There is one file."}),
        ),
        message(
            "b2",
            Some("b1"),
            json!({"role": "bashExecution", "command": "pwd", "output": "/srv/trip\n",
            "exitCode": 0, "cancelled": false, "truncated": false, "timestamp": 5}),
        ),
        entry(
            "compaction",
            "b3",
            Some("b2"),
            json!({"summary": "We listed files.", "firstKeptEntryId": "b2", "tokensBefore": 900}),
        ),
        entry(
            "custom_message",
            "b4",
            Some("b3"),
            json!({"customType": "hint", "content": "Be brief.", "display": false}),
        ),
        message(
            "b5",
            Some("b4"),
            json!({"role": "user", "content": [{"type": "text", "text": "And now?"}], "timestamp": 6}),
        ),
        entry("session_info", "b6", Some("b5"), json!({"name": "The trip"})),
    ]
}

fn text(lines: &[Parsed]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_session_comes_back_and_is_a_chat_with_its_branches() {
    let file = text(&session());
    assert_eq!(check_equal("session.jsonl", &file, 1), [Format::Pi]);
    let stored = round_trip("session.jsonl", &file, Some(Format::Pi)).unwrap().chats.remove(0);
    assert_eq!(stored.title.as_deref(), Some("The trip"));
    assert_eq!(stored.diagnostics, [""; 0]);
    assert_eq!(stored.chain("main"), ["a1", "a2", "b1", "b2", "b3", "b4", "b5", "b6"]);
    assert_eq!(stored.chain("main-v2"), ["a1", "a2", "a3", "a4", "a5", "a6"]);
    let find = |id: &str| {
        let placed = stored.nodes.iter().find(|placed| placed.node.id == id).unwrap();
        placed.node.message().unwrap().clone()
    };
    assert_eq!(find("a4").role, Role::Tool);
    assert_eq!(find("b1").plain_text(), "There is one file.");
    assert!(find("b2").plain_text().contains("$ pwd"));
    for (id, is_log) in [("a1", true), ("a3", false), ("a6", true), ("b4", false)] {
        assert_eq!(is_log_entry(&find(id)), is_log, "{id}");
    }
    let Part::ToolCall(call) = &find("a3").parts[2] else { panic!("no call") };
    assert_eq!(call.input.as_written(), r#"{"command":"ls","n":1.5}"#);
    assert_eq!(stored.nodes[1].node.created_at.as_micros(), 1_767_603_601_000_000);
}

#[test]
fn model_and_usage_are_those_of_the_answer() {
    let chat = read_text("s.jsonl", &text(&session()), None).unwrap().remove(0);
    let branch = chat.tree.chain(&"main-v2".into()).unwrap();
    let measured = measures(Some(&chat.source), [], branch.iter());
    assert_eq!(measured.len(), 2);
    let answer = &measured["a5"];
    assert_eq!(
        (answer.model.as_deref(), answer.provider.as_deref()),
        (Some("sonnet"), Some("anthropic"))
    );
    assert_eq!((answer.input_tokens, answer.output_tokens), (Some(105), Some(7)));
    assert_eq!((answer.cache_read_tokens, answer.cache_write_tokens), (Some(90), Some(5)));
    assert_eq!(answer.cost_usd, Some(0.33));
}

#[test]
fn a_session_of_the_first_version_is_a_sequence() {
    let mut lines = vec![
        json!({"type": "session", "id": "x", "timestamp": "2025-11-05T09:00:00.000Z", "cwd": "/"}),
    ];
    for (role, content) in [("user", "Hi."), ("assistant", "Hello.")] {
        lines.push(json!({"type": "message", "timestamp": "2025-11-05T09:00:01.000Z",
            "message": {"role": role, "content": [{"type": "text", "text": content}]}}));
    }
    assert_eq!(check_equal("session.jsonl", &text(&lines), 1), [Format::Pi]);
    let stored = round_trip("session.jsonl", &text(&lines), None).unwrap().chats.remove(0);
    assert_eq!(stored.chain("main"), ["m1", "m2"]);
}

#[test]
fn broken_entries_are_kept_and_named() {
    let lines = [
        header(),
        message("a", None, json!({"role": "assistant", "content": 7})),
        message("b", Some("gone"), json!({"role": "user", "content": "Hi."})),
        message("b", Some("a"), json!({"role": "user", "content": "Again."})),
        message("c", Some("c"), json!({"role": "user", "content": "Me."})),
    ];
    let passed = round_trip("s.jsonl", &format!("{}7\n", text(&lines)), None).unwrap();
    assert_eq!(values(&passed.text), lines);
    assert_eq!(passed.broken, [(6, "a line is not an object".to_owned())]);
    let said = passed.chats[0].diagnostics.join("\n");
    for part in
        ["a: it cannot be read", "b: its parent", "record 3: an earlier", "c: it is its own"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn what_was_changed_and_added_goes_out_as_an_entry() {
    let original = session();
    let (back, said) = changed(&text(&original), |nodes| {
        let at = nodes.iter().position(|placed| placed.node.id == "b5").unwrap();
        nodes[at] = amended(&nodes[at], "And tomorrow?");
        let results = ["x", "y"].map(|id| Part::tool_result(id, "done"));
        let new = Node::new("new", Message::new(Role::Tool, results), Timestamp::default());
        nodes.push(PlacedNode::new(new, Some("b6".into()), 99));
    });
    assert_eq!(said.len(), 0, "{said:?}");
    let back = values(&back);
    assert_eq!(back.len(), original.len() + 2);
    let amended = back.iter().find(|line| line["id"] == "b5").unwrap();
    assert_eq!(amended["message"]["content"][0]["text"], "And tomorrow?");
    assert_eq!(amended["parentId"], "b4");
    let [first, second] = &back[original.len()..] else { panic!("two results") };
    assert_eq!((&first["parentId"], &second["parentId"]), (&json!("b6"), &json!("new")));
    assert_eq!((&second["id"], &second["message"]["toolCallId"]), (&json!("new.2"), &json!("y")));
}

#[test]
fn an_edited_answer_keeps_the_other_fields_of_its_entry() {
    let (back, said) = changed(&text(&session()), |nodes| {
        let at = nodes.iter().position(|placed| placed.node.id == "a3").unwrap();
        let old = nodes[at].node.message().unwrap();
        let message =
            Message::text(Role::Assistant, "Changed.").with_metadata(old.metadata.clone());
        let by = Node::new("a3", message, Timestamp::default());
        nodes[at] =
            PlacedNode::new(nodes[at].node.amended(&by), nodes[at].parent.clone(), nodes[at].depth);
    });
    assert_eq!(said.len(), 1);
    let answer = values(&back).into_iter().find(|line| line["id"] == "a3").unwrap();
    assert_eq!(answer["message"]["content"], json!([{"type": "text", "text": "Changed."}]));
    assert_eq!((&answer["message"]["usage"], &answer["parentId"]), (&usage(), &json!("a2")));
}

fn any_entry() -> impl Strategy<Value = Parsed> {
    let name = || proptest::sample::select(vec!["a", "b", "c", "d", "e"]);
    let odd = vec![
        json!({"type": "message", "message": {"role": "user"}}),
        json!({"type": "message", "message": {"role": "assistant", "content": [{"type": "later", "n": 1.50}, {"type": "text"}]}}),
        json!({"type": "message", "message": {"role": "toolResult", "toolCallId": "c", "content": []}}),
        json!({"type": "compaction", "summary": ""}),
        json!({"type": "later", "x": [1, null]}),
        json!({}),
    ];
    let body = proptest::sample::select([session()[1..].to_vec(), odd].concat());
    (name(), proptest::option::of(name()), body).prop_map(|(id, parent, mut body)| {
        let fields = body.as_object_mut().unwrap();
        fields.insert("id".to_owned(), json!(id));
        fields.insert("parentId".to_owned(), json!(parent));
        body
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_session_comes_back(entries in proptest::collection::vec(any_entry(), 0..12)) {
        let mut lines = vec![header()];
        lines.extend(entries);
        prop_assert_eq!(check_equal_at_once("session.jsonl", &text(&lines), 1), [Format::Pi]);
    }
}
