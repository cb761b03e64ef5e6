//! Message histories of Pydantic AI, and sessions of goose.

use context_core::message::PlacedNode;
use context_core::{Message, Node, Part, Role, Timestamp};
use context_transcript::{ChatContent, ExportedChat, Format, measures};
use proptest::prelude::*;
use serde_json::{Value as Parsed, json};

use crate::fixture::{StoredChat, check_equal, read_text, round_trip, values};

fn pydantic() -> Vec<Parsed> {
    let usage = json!({"input_tokens": 57, "cache_write_tokens": 0, "cache_read_tokens": 40,
        "output_tokens": 5, "output_reasoning_tokens": 2, "details": {}});
    vec![
        json!({"kind": "request", "instructions": "Be brief.", "run_id": "r", "timestamp": "2026-01-05T09:00:01.250000Z", "parts": [
            {"part_kind": "system-prompt", "content": "You help.", "dynamic_ref": null, "timestamp": "2026-01-05T09:00:01Z"},
            {"part_kind": "user-prompt", "timestamp": "2026-01-05T09:00:01Z", "content": ["Hi.",
                {"kind": "image-url", "url": "https://example.org/a.png", "media_type": "image/png", "identifier": "i"},
                {"kind": "binary", "data": "YWJj", "media_type": "audio/wav"}, {"kind": "cache-point", "ttl": "5m"}]}]}),
        json!({"kind": "response", "model_name": "gpt", "provider_name": "openai", "usage": usage, "finish_reason": "stop",
            "timestamp": "2026-01-05T09:00:02Z", "parts": [
            {"part_kind": "thinking", "content": "Hm.", "signature": "s", "provider_name": "openai", "id": "rs"},
            {"part_kind": "builtin-tool-call", "tool_name": "web_search", "args": {"q": "x"}, "tool_call_id": "b"},
            {"part_kind": "text", "content": "I look.", "id": null},
            {"part_kind": "tool-call", "tool_name": "weather", "args": {"at": "Lisbon", "n": 1.50}, "tool_call_id": "c1"},
            {"part_kind": "tool-call", "tool_name": "weather", "args": "{\"at\": \"Porto\"}", "tool_call_id": "c2"},
            {"part_kind": "tool-call", "tool_name": "time", "args": null, "tool_call_id": "c3"}]}),
        json!({"kind": "request", "parts": [
            {"part_kind": "tool-return", "tool_name": "weather", "content": {"t": 21.50}, "tool_call_id": "c1", "outcome": "success"},
            {"part_kind": "retry-prompt", "tool_name": "weather", "content": [{"type": "missing"}], "tool_call_id": "c2"},
            {"part_kind": "tool-return", "tool_name": "time", "content": "noon", "tool_call_id": "c3", "outcome": "denied"},
            {"part_kind": "retry-prompt", "tool_name": null, "content": "Answer in JSON."}]}),
        json!({"kind": "response", "parts": [], "usage": {}, "model_name": null}),
    ]
}

fn goose() -> Vec<Parsed> {
    let message = |id: &str, role: &str, content: Parsed| {
        json!({"id": id, "role": role, "created": 1_767_603_601, "content": content,
            "metadata": {"userVisible": true, "agentVisible": true}})
    };
    vec![
        message(
            "g1",
            "user",
            json!([{"type": "text", "text": "What is here?"}, {"type": "image", "data": "AA==", "mimeType": "image/png"}]),
        ),
        message(
            "g2",
            "assistant",
            json!([
            {"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "redactedThinking", "data": "d"},
            {"type": "text", "text": "I look."},
            {"type": "toolRequest", "id": "c1", "toolCall": {"status": "success", "value": {"name": "shell", "arguments": {"command": "ls", "n": 1.50}}}},
            {"type": "toolRequest", "id": "c2", "toolCall": {"status": "error", "error": "-32603: no"}}]),
        ),
        message(
            "g3",
            "user",
            json!([
            {"type": "toolResponse", "id": "c1", "toolResult": {"status": "success", "value": {"content": [{"type": "text", "text": "a.txt", "annotations": {"audience": ["user"]}}], "isError": false}}},
            {"type": "toolResponse", "id": "c2", "toolResult": {"status": "error", "error": "no"}},
            {"type": "toolResponse", "id": "c3", "toolResult": {"status": "success", "value": [{"type": "text", "text": "old"}]}},
            {"type": "text", "text": "And now?"}]),
        ),
        message(
            "g4",
            "assistant",
            json!([{"type": "systemNotification", "notificationType": "inlineMessage", "msg": "Compacted"}]),
        ),
    ]
}

fn lines(records: &[Parsed]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

fn roles(stored: &StoredChat) -> Vec<Role> {
    stored.nodes.iter().filter_map(|placed| placed.node.role()).collect()
}

/// Returns the file of a chat to which an answer and a result were added.
fn added(file: &str) -> (Parsed, usize) {
    let mut stored = round_trip("a.json", file, None).unwrap().chats.remove(0);
    let new = [
        Message::new(Role::Assistant, [Part::text("Now."), Part::tool_call("c9", "f", json!({}))]),
        Message::new(Role::Tool, [Part::tool_result("c9", "done")]),
    ];
    for (at, message) in new.into_iter().enumerate() {
        let parent = stored.nodes.last().unwrap().node.id.clone();
        let node = Node::new(format!("new{at}"), message, Timestamp::from_micros(2_500_000));
        stored.nodes.push(PlacedNode::new(node, Some(parent), 99));
    }
    let source = read_text("a.json", file, None).unwrap().remove(0).source;
    let (content, lost) = ChatContent::of_log(&source, &stored.nodes).unwrap();
    (values(&ExportedChat::new(Some(source), content).to_text()).remove(0), lost.len())
}

#[test]
fn a_history_of_pydantic_ai_comes_back() {
    let file = json!(pydantic()).to_string();
    assert_eq!(check_equal("history.json", &file, 1), [Format::PydanticAi]);
    assert_eq!(check_equal("history.jsonl", &lines(&pydantic()), 1), [Format::PydanticAi]);
    assert_eq!(check_equal("two.json", &format!("[{file}, {file}]"), 2), [Format::PydanticAi; 2]);
    let row = json!({"id": 7, "messages": pydantic()}).to_string();
    assert_eq!(check_equal("row.json", &row, 1), [Format::PydanticAi]);
    let stored = round_trip("h.json", &file, Some(Format::PydanticAi)).unwrap().chats.remove(0);
    let (system, user, model, tool) = (Role::System, Role::User, Role::Assistant, Role::Tool);
    assert_eq!(roles(&stored), [system, user, model, tool, user, system]);
    assert_eq!(stored.chain("main"), ["m1", "m1.2", "m2", "m3", "m3.2", "m4"]);
    assert_eq!(stored.diagnostics, [""; 0]);
    let message = |at: usize| stored.nodes[at].node.message().unwrap();
    assert!(matches!(message(1).parts[1..], [Part::Image(_), Part::Audio(_), Part::Data(_)]));
    let inputs: Vec<_> = message(2).tool_calls().map(|call| call.input.as_written()).collect();
    assert_eq!(inputs, [r#"{"at":"Lisbon","n":1.5}"#, r#"{"at": "Porto"}"#, "{}"]);
    let failed: Vec<_> = message(3).tool_results().map(|result| result.is_error).collect();
    assert_eq!(failed, [false, true, true]);
}

#[test]
fn model_and_usage_of_a_response_are_measures() {
    let chat = read_text("h.json", &json!(pydantic()).to_string(), None).unwrap().remove(0);
    let measured = measures(Some(&chat.source), [], chat.tree.nodes());
    let answer = &measured["m2"];
    assert_eq!(
        (answer.model.as_deref(), answer.provider.as_deref()),
        (Some("gpt"), Some("openai"))
    );
    assert_eq!((answer.input_tokens, answer.output_tokens), (Some(57), Some(5)));
    assert_eq!((answer.cache_read_tokens, answer.cache_write_tokens), (Some(40), None));
    assert_eq!(answer.reasoning_tokens, Some(2));
}

#[test]
fn an_added_round_is_a_response_and_a_request() {
    let (back, lost) = added(&json!(pydantic()).to_string());
    assert_eq!((back.as_array().unwrap().len(), lost), (6, 0));
    assert_eq!(back[4]["kind"], "response");
    assert_eq!(
        back[4]["parts"][1],
        json!({"part_kind": "tool-call", "tool_name": "f", "args": {}, "tool_call_id": "c9"})
    );
    assert_eq!(
        (&back[5]["kind"], &back[5]["parts"][0]["content"]),
        (&json!("request"), &json!("done"))
    );
}

#[test]
fn a_session_of_goose_comes_back_as_an_object_or_lines() {
    let session = json!({"id": "20260105", "working_dir": "/srv", "name": "Files", "conversation": goose(), "input_tokens": 7});
    assert_eq!(check_equal("session.json", &session.to_string(), 1), [Format::Goose]);
    let header = json!({"working_dir": "/srv", "description": "Files", "message_count": 4, "total_tokens": null});
    let with_header = format!("{header}\n{}", lines(&goose()));
    assert_eq!(check_equal("session.jsonl", &with_header, 1), [Format::Goose]);
    assert_eq!(check_equal("session.jsonl", &lines(&goose()), 1), [Format::Goose]);
    assert_eq!(check_equal("list.json", &json!(goose()).to_string(), 1), [Format::Goose]);
    for (name, text) in [("s.json", session.to_string()), ("s.jsonl", with_header)] {
        let stored = round_trip(name, &text, Some(Format::Goose)).unwrap().chats.remove(0);
        assert_eq!((stored.title.as_deref(), stored.diagnostics.len()), (Some("Files"), 0));
        let ids = stored.chain("main");
        assert_eq!(ids[ids.len() - 5..], ["g1", "g2", "g3", "g3.2", "g4"]);
        let find = |id: &str| {
            let placed = stored.nodes.iter().find(|placed| placed.node.id == id).unwrap();
            placed.node.message().unwrap().clone()
        };
        assert_eq!(find("g2").tool_calls().count(), 1);
        let failed: Vec<_> = find("g3").tool_results().map(|result| result.is_error).collect();
        assert_eq!(failed, [false, true, false]);
        assert_eq!(find("g3.2").plain_text(), "And now?");
    }
    let (back, lost) = added(&session.to_string());
    assert_eq!(lost, 0);
    let new = &back["conversation"][4];
    assert_eq!(
        (&new["id"], &new["created"], &new["role"]),
        (&json!("new0"), &json!(2), &json!("assistant"))
    );
    assert_eq!(back["conversation"][5]["content"][0]["type"], "toolResponse");
}

fn any_of(records: Vec<Parsed>, key: &'static str) -> impl Strategy<Value = Vec<Parsed>> {
    let items: Vec<_> =
        records.iter().filter_map(|record| record[key].as_array()).flatten().cloned().collect();
    let odd = json!({"type": "text", "part_kind": "text", "n": 1.50});
    let item = proptest::sample::select([items, vec![odd]].concat());
    let record = (proptest::sample::select(records), proptest::collection::vec(item, 0..4));
    let record = record.prop_map(move |(mut record, items)| {
        record[key] = json!(items);
        record
    });
    proptest::collection::vec(record, 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_history_comes_back(records in any_of(pydantic(), "parts")) {
        let file = json!(records).to_string();
        prop_assert_eq!(check_equal("h.json", &file, 1), [Format::PydanticAi]);
    }

    #[test]
    fn every_session_of_goose_comes_back(records in any_of(goose(), "content")) {
        let file = json!({"id": "s", "conversation": records}).to_string();
        prop_assert_eq!(check_equal("s.json", &file, 1), [Format::Goose]);
    }
}
