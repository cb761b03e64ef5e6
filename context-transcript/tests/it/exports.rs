//! Data exports of ChatGPT and Claude.ai.

use context_core::message::PlacedNode;
use context_core::{Message, Node, Part, Role, Timestamp};
use context_transcript::{ChatContent, ExportedChat, Format, TranscriptError, measures};
use proptest::prelude::*;
use serde_json::{Value as Parsed, json};

use crate::fixture::{StoredChat, check_equal, read_text, round_trip, values};

fn node(id: &str, parent: Option<&str>, children: &[&str], message: Parsed) -> (String, Parsed) {
    let node = json!({"id": id, "parent": parent, "children": children, "message": message});
    (id.to_owned(), node)
}

fn said(role: &str, text: &str) -> Parsed {
    json!({"id": "x", "author": {"role": role, "name": null, "metadata": {}}, "create_time": 1_767_603_601.25,
        "content": {"content_type": "text", "parts": [text]}, "status": "finished_successfully", "weight": 1.0,
        "recipient": "all", "metadata": {"model_slug": "gpt-5"}})
}

fn with(mut message: Parsed, changes: Parsed) -> Parsed {
    message.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    message
}

fn chatgpt() -> Parsed {
    let tool = json!({"role": "tool", "name": "python", "metadata": {}});
    let nodes = [
        node("root", None, &["sys"], Parsed::Null),
        node("sys", Some("root"), &["q"], with(said("system", ""), json!({"weight": 0.0}))),
        node("q", Some("sys"), &["a1", "t"], said("user", "Add 2 and 2.")),
        node("a1", Some("q"), &[], said("assistant", "Five.")),
        node(
            "t",
            Some("q"),
            &["c"],
            with(
                said("assistant", ""),
                json!({"content": {"content_type": "thoughts",
            "thoughts": [{"summary": "Adding", "content": "I use\nPython.", "finished": true}], "source_analysis_msg_id": "s"}}),
            ),
        ),
        node(
            "c",
            Some("t"),
            &["r1"],
            with(
                said("assistant", ""),
                json!({"recipient": "python",
            "content": {"content_type": "code", "language": "python", "text": "2 + 2"}}),
            ),
        ),
        node(
            "r1",
            Some("c"),
            &["r2"],
            with(
                said("tool", ""),
                json!({"author": tool,
            "content": {"content_type": "execution_output", "text": "4"}}),
            ),
        ),
        node(
            "r2",
            Some("r1"),
            &["a2"],
            with(
                said("tool", ""),
                json!({"author": tool,
            "content": {"content_type": "multimodal_text", "parts": ["plot", {"content_type": "image_asset_pointer", "asset_pointer": "file-service://f"}]}}),
            ),
        ),
        node("a2", Some("r2"), &[], said("assistant", "Four.")),
    ];
    json!({"title": "Sums", "create_time": 1_767_603_600.5, "current_node": "a2", "conversation_id": "conv",
        "mapping": nodes.into_iter().collect::<serde_json::Map<_, _>>()})
}

fn claude() -> Parsed {
    let message = |id: &str, sender: &str, text: &str, content: Parsed| {
        json!({"uuid": id, "sender": sender, "text": text, "content": content, "created_at": "2026-01-05T09:00:01.250000Z",
            "updated_at": "2026-01-05T09:00:02Z", "attachments": [], "files": []})
    };
    let text = |text: &str| json!({"type": "text", "text": text, "start_timestamp": null, "citations": []});
    let mut question = message("u1", "human", "What is in it?", json!([text("What is in it?")]));
    question["attachments"] =
        json!([{"file_name": "a.txt", "file_size": 3, "extracted_content": "abc"}]);
    json!({"uuid": "conv", "name": "A file", "account": {"uuid": "acc"}, "chat_messages": [
        question,
        message("a1", "assistant", "I look.\n\nLetters.", json!([
            {"type": "thinking", "thinking": "Hm.", "summaries": []},
            text("I look."),
            {"type": "tool_use", "id": "t1", "name": "repl", "input": {"code": "1.50"}, "message": "Running"},
            {"type": "tool_result", "tool_use_id": "t1", "name": "repl", "content": [text("abc"), {"type": "image", "file_uuid": "f"}], "is_error": false},
            {"type": "tool_use", "id": null, "name": "repl", "input": {}},
            {"type": "tool_result", "tool_use_id": null, "name": "repl", "content": "no", "is_error": true},
            {"type": "token_budget"},
            text("Letters."),
        ])),
        message("u2", "human", "Thanks.", json!([])),
        message("a2", "assistant", "", json!([])),
    ]})
}

fn role(stored: &StoredChat, id: &str) -> Role {
    message(stored, id).role
}

fn message<'a>(stored: &'a StoredChat, id: &str) -> &'a Message {
    stored.nodes.iter().find(|placed| placed.node.id == id).unwrap().node.message().unwrap()
}

#[test]
fn an_export_of_chatgpt_comes_back_with_its_branches() {
    let file = json!([chatgpt(), chatgpt()]).to_string();
    assert_eq!(check_equal("conversations.json", &file, 2), [Format::Chatgpt; 2]);
    let stored = round_trip("c.json", &file, Some(Format::Chatgpt)).unwrap().chats.remove(0);
    assert_eq!((stored.title.as_deref(), stored.diagnostics.len()), (Some("Sums"), 0));
    assert_eq!(stored.chain("main"), ["root", "sys", "q", "t", "c", "r1", "r2", "a2"]);
    assert_eq!(stored.chain("main-v2"), ["root", "sys", "q", "a1"]);
    assert!(matches!(message(&stored, "t").parts[..], [Part::Reasoning(_)]));
    let call = message(&stored, "c").tool_calls().next().unwrap();
    assert_eq!(
        (call.id.as_str(), call.name.as_str(), call.input.as_written()),
        ("c", "python", "2 + 2")
    );
    for (id, parts) in [("r1", 1), ("r2", 2)] {
        let result = message(&stored, id).tool_results().next().unwrap();
        assert_eq!((result.call_id.as_str(), result.output.len()), ("c", parts));
    }
    let first = stored.nodes.iter().find(|placed| placed.node.id == "q").unwrap();
    assert_eq!(first.node.created_at.as_micros(), 1_767_603_601_250_000);
    assert_eq!(role(&stored, "a2"), Role::Assistant);
    let mut other = chatgpt();
    other["current_node"] = json!("a1");
    let stored = round_trip("c.json", &other.to_string(), None).unwrap().chats.remove(0);
    assert_eq!(stored.chain("main").last().map(String::as_str), Some("a1"));
}

#[test]
fn the_model_of_an_answer_is_its_slug() {
    let chat = read_text("c.json", &chatgpt().to_string(), None).unwrap().remove(0);
    let measured = measures(Some(&chat.source), [], chat.tree.nodes());
    assert_eq!(measured["a2"].model.as_deref(), Some("gpt-5"));
}

#[test]
fn an_added_message_is_a_child_and_the_current_node() {
    let mut stored = round_trip("c.json", &chatgpt().to_string(), None).unwrap().chats.remove(0);
    let node =
        Node::new("new", Message::text(Role::User, "Why?"), Timestamp::from_micros(1_500_000));
    stored.nodes.push(PlacedNode::new(node, Some("a1".into()), 9));
    let source = read_text("c.json", &chatgpt().to_string(), None).unwrap().remove(0).source;
    let (content, lost) = ChatContent::of_log(&source, &stored.nodes).unwrap();
    assert_eq!(lost, []);
    let back = values(&ExportedChat::new(Some(source), content).to_text()).remove(0);
    assert_eq!(
        (&back["current_node"], &back["mapping"]["a1"]["children"]),
        (&json!("new"), &json!(["new"]))
    );
    let new = &back["mapping"]["new"];
    assert_eq!(
        (&new["parent"], &new["message"]["content"]["parts"]),
        (&json!("a1"), &json!(["Why?"]))
    );
    assert_eq!(new["message"]["create_time"], 1.5);
}

#[test]
fn empty_conversations_do_not_keep_the_others_out() {
    let empty = json!({"title": null, "mapping": {}, "current_node": null});
    check_equal("c.json", &json!([chatgpt(), empty]).to_string(), 2);
    check_equal("c.json", &json!([claude(), {"uuid": "x", "chat_messages": []}]).to_string(), 2);
}

#[test]
fn odd_nodes_come_back_under_their_keys() {
    let mut odd = chatgpt();
    odd["mapping"]["other key"] =
        json!({"message": said("user", "Hi."), "parent": "q", "children": []});
    odd["mapping"]["loop"] = json!({"id": "loop", "message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": 7}}, "parent": "loop"});
    assert_eq!(check_equal("c.json", &odd.to_string(), 1), [Format::Chatgpt]);
    let stored = round_trip("c.json", &odd.to_string(), None).unwrap().chats.remove(0);
    assert!(stored.diagnostics.join("\n").contains("loop: it is its own ancestor"));
    assert_eq!(role(&stored, "other key"), Role::User);
    odd["mapping"]["none"] = json!(7);
    let passed = round_trip("c.json", &odd.to_string(), Some(Format::Chatgpt)).unwrap();
    assert_eq!(values(&passed.text), [odd]);
    for named in [Format::Chatgpt, Format::ClaudeAi] {
        let error = read_text("c.json", r#"[{"a": 1}]"#, Some(named)).unwrap_err();
        assert!(matches!(error, TranscriptError::UnknownForm { .. }), "{error}");
    }
}

#[test]
fn an_export_of_claude_comes_back_and_its_tools_are_messages() {
    let file = json!([claude(), claude()]).to_string();
    assert_eq!(check_equal("conversations.json", &file, 2), [Format::ClaudeAi; 2]);
    let stored = round_trip("c.json", &file, Some(Format::ClaudeAi)).unwrap().chats.remove(0);
    assert_eq!((stored.title.as_deref(), stored.diagnostics.len()), (Some("A file"), 0));
    assert_eq!(
        stored.chain("main"),
        ["u1", "u1.2", "a1", "a1.2", "a1.3", "a1.4", "a1.5", "u2", "a2"]
    );
    assert_eq!(message(&stored, "u1.2").plain_text(), "abc");
    let failed = message(&stored, "a1.4").tool_results().next().unwrap();
    let call = message(&stored, "a1.3").tool_calls().next().unwrap();
    assert_eq!((failed.is_error, &failed.call_id), (true, &call.id));
    assert_eq!(role(&stored, "u2"), Role::User);
}

#[test]
fn an_export_of_claude_may_name_predecessors() {
    let mut whole = claude();
    for (at, parent) in
        ["00000000-0000-4000-8000-000000000000", "u1", "u1", "u2"].iter().enumerate()
    {
        whole["chat_messages"][at]["parent_message_uuid"] = json!(parent);
    }
    whole["current_leaf_message_uuid"] = json!("a1");
    assert_eq!(check_equal("c.json", &whole.to_string(), 1), [Format::ClaudeAi]);
    let stored = round_trip("c.json", &whole.to_string(), None).unwrap().chats.remove(0);
    assert_eq!(stored.chain("main").last().map(String::as_str), Some("a1.5"));
    assert_eq!(stored.chain("main-v2"), ["u1", "u1.2", "u2", "a2"]);
}

fn any_node() -> impl Strategy<Value = Parsed> {
    let mut nodes: Vec<_> = chatgpt()["mapping"].as_object().unwrap().values().cloned().collect();
    nodes.push(json!({"message": {"author": {"role": "user"}, "content": {"content_type": "later", "x": 1.50}}}));
    nodes.push(json!({"message": with(said("assistant", "go"), json!({"recipient": "browser"}))}));
    let parent = proptest::option::of(proptest::sample::select(vec!["n0", "n1", "n2", "n3"]));
    (proptest::sample::select(nodes), parent).prop_map(|(mut node, parent)| {
        node["parent"] = json!(parent);
        node
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_tree_of_nodes_comes_back(nodes in proptest::collection::vec(any_node(), 1..8)) {
        let mut mapping = serde_json::Map::new();
        for (at, mut node) in nodes.into_iter().enumerate() {
            node["id"] = json!(format!("n{at}"));
            mapping.insert(format!("n{at}"), node);
        }
        let file = json!({"mapping": mapping, "current_node": "n1"}).to_string();
        prop_assert_eq!(check_equal("c.json", &file, 1), [Format::Chatgpt]);
    }

    #[test]
    fn every_list_of_blocks_comes_back(at in proptest::collection::vec(0..8_usize, 0..8)) {
        let mut whole = claude();
        let blocks = claude()["chat_messages"][1]["content"].clone();
        whole["chat_messages"][1]["content"] = at.iter().map(|at| blocks[*at].clone()).collect();
        prop_assert_eq!(check_equal("c.json", &whole.to_string(), 1), [Format::ClaudeAi]);
    }
}
