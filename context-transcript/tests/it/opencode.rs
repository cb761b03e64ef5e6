//! Sessions that opencode exports.

use context_core::message::PlacedNode;
use context_core::{Message, Node, Part, Role, Timestamp};
use context_transcript::{ChatContent, ExportedChat, Format, TranscriptError, measures};
use serde_json::{Value as Parsed, json};

use crate::fixture::{check_equal, read_text, round_trip, values};

fn part(id: &str, kind: &str, rest: Parsed) -> Parsed {
    let mut part = json!({"id": id, "messageID": "msg_2", "sessionID": "ses_1", "type": kind});
    part.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    part
}

fn tool(id: &str, call: &str, state: Parsed) -> Parsed {
    part(id, "tool", json!({"callID": call, "tool": "bash", "state": state}))
}

fn session() -> Parsed {
    json!({
        "info": {"id": "ses_1", "title": "Files", "version": "1.0.0", "time": {"created": 1_767_603_600_000_u64}},
        "messages": [
            {"info": {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1_767_603_601_500_u64},
                "agent": "build", "model": {"providerID": "anthropic", "modelID": "sonnet"}},
             "parts": [
                part("prt_1", "text", json!({"text": "What is here?"})),
                part("prt_2", "file", json!({"mime": "image/png", "filename": "map.png", "url": "data:image/png;base64,AA=="})),
                part("prt_3", "file", json!({"mime": "text/plain", "url": "file:///srv/a.txt", "source": {"type": "file"}})),
                part("prt_4", "text", json!({"text": "hidden", "ignored": true})),
             ]},
            {"info": {"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "parentID": "msg_1", "modelID": "sonnet",
                "providerID": "anthropic", "cost": 0.25, "time": {"created": 1_767_603_602_000_u64, "completed": 1_767_603_609_000_u64},
                "tokens": {"input": 10, "output": 20, "reasoning": 5, "cache": {"read": 100, "write": 1}}},
             "parts": [
                part("prt_5", "step-start", json!({"snapshot": "s"})),
                part("prt_6", "reasoning", json!({"text": "I list.", "time": {"start": 1}})),
                tool("prt_7", "c1", json!({"status": "completed", "input": {"command": "ls"}, "output": "map.png",
                    "title": "ls", "metadata": {}, "time": {"start": 1, "end": 2},
                    "attachments": [part("prt_x", "file", json!({"mime": "image/png", "url": "data:image/png;base64,AA=="}))]})),
                tool("prt_8", "c2", json!({"status": "error", "input": {}, "error": "no", "time": {"start": 1, "end": 2}})),
                part("prt_9", "step-finish", json!({"reason": "tool-calls", "cost": 0.2, "tokens": {"input": 1}})),
                part("prt_10", "step-start", json!({})),
                part("prt_11", "text", json!({"text": "A map."})),
                tool("prt_12", "c3", json!({"status": "running", "input": {"command": "sleep 9"}, "time": {"start": 3}})),
             ]},
            {"info": {"id": "msg_3", "role": "user"}, "parts": []},
        ],
        "later": [1.50],
    })
}

#[test]
fn a_session_comes_back_and_its_steps_are_messages() {
    let file = session().to_string();
    assert_eq!(check_equal("session.json", &file, 1), [Format::Opencode]);
    let stored = round_trip("session.json", &file, Some(Format::Opencode)).unwrap().chats.remove(0);
    assert_eq!((stored.title.as_deref(), stored.diagnostics.len()), (Some("Files"), 0));
    assert_eq!(stored.chain("main"), ["msg_1", "msg_2", "msg_2.2", "msg_2.3", "msg_3"]);
    let message = |at: usize| stored.nodes[at].node.message().unwrap();
    let roles: Vec<_> = (0..4).map(|at| message(at).role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Assistant]);
    assert_eq!(message(0).plain_text(), "What is here?");
    assert!(matches!(message(0).parts[1..], [Part::Image(_), Part::Data(_), Part::Data(_)]));
    let results: Vec<_> = message(2).tool_results().collect();
    assert_eq!((results[0].output.len(), results[1].is_error), (2, true));
    assert_eq!(stored.nodes[0].node.created_at.as_micros(), 1_767_603_601_500_000);
    let several = format!("[{file}, {file}]");
    assert_eq!(check_equal("sessions.json", &several, 2).len(), 2);
}

#[test]
fn model_and_tokens_are_those_of_the_answer() {
    let chat = read_text("s.json", &session().to_string(), None).unwrap().remove(0);
    let measured = measures(Some(&chat.source), [], chat.tree.nodes());
    let answer = &measured["msg_2"];
    assert_eq!((answer.model.as_deref(), answer.cost_usd), (Some("sonnet"), Some(0.25)));
    assert_eq!((answer.input_tokens, answer.output_tokens), (Some(111), Some(25)));
    assert_eq!((answer.cache_read_tokens, answer.reasoning_tokens), (Some(100), Some(5)));
    assert_eq!(measured.len(), 1);
}

#[test]
fn an_added_round_is_one_record_with_its_results() {
    let mut stored = round_trip("s.json", &session().to_string(), None).unwrap().chats.remove(0);
    let call = Part::tool_call("c4", "bash", json!({"command": "pwd"}));
    let new = [
        ("n1", Message::new(Role::Assistant, [call])),
        ("n2", Message::new(Role::Tool, [Part::tool_result("c4", "/srv")])),
        ("n3", Message::new(Role::Tool, [Part::tool_result("gone", "x")])),
    ];
    let mut parent = "msg_3".to_owned();
    for (id, message) in new {
        let node = Node::new(id, message, Timestamp::from_micros(2_000_000));
        stored.nodes.push(PlacedNode::new(node, Some(parent.as_str().into()), 9));
        parent = if id == "n2" { "msg_3".to_owned() } else { id.to_owned() };
    }
    let source = read_text("s.json", &session().to_string(), None).unwrap().remove(0).source;
    let (content, lost) = ChatContent::of_log(&source, &stored.nodes).unwrap();
    assert_eq!(lost.len(), 1, "{lost:?}");
    let back = values(&ExportedChat::new(Some(source), content).to_text()).remove(0);
    let messages = back["messages"].as_array().unwrap();
    assert_eq!(messages[..3], session()["messages"].as_array().unwrap()[..]);
    assert_eq!(messages.len(), 4);
    assert_eq!(
        messages[3]["info"],
        json!({"id": "n1", "sessionID": "ses_1", "role": "assistant", "time": {"created": 2000}})
    );
    assert_eq!(
        messages[3]["parts"][0]["state"],
        json!({"status": "completed", "input": {"command": "pwd"}, "output": "/srv"})
    );
    assert_eq!(messages[3]["parts"][0]["messageID"], "n1");
}

#[test]
fn what_is_no_session_is_refused_with_its_line() {
    let error = read_text("s.json", "\n{\"info\": {}}", Some(Format::Opencode)).unwrap_err();
    assert!(matches!(error, TranscriptError::UnknownForm { line: 2, .. }), "{error}");
    let mut odd = session();
    odd["messages"][1]["parts"][2] = json!({"type": "tool"});
    let passed = round_trip("s.json", &odd.to_string(), None).unwrap();
    assert_eq!(values(&passed.text), [odd]);
    let said = "msg_2: it cannot be read: it is kept, and no provider gets it";
    assert_eq!(passed.chats[0].diagnostics, [said]);
}
