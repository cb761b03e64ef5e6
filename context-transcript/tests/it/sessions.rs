//! Sessions of Claude Code: their chats and branches, and exact export of every line.

use context_core::message::PlacedNode;
use context_core::{Message, Node, Role, Timestamp};
use context_transcript::{Format, is_log_entry};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixture::{StoredChat, amended, changed, round_trip, values};

/// A line of a session, with the fields of `more` set.
fn line(uuid: &str, parent: Option<&str>, more: Value) -> Value {
    let mut line = json!({
        "type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": "s", "isSidechain": false,
        "timestamp": "2025-06-14T10:00:00.5Z", "cwd": "/tmp", "message": {"role": "user", "content": uuid},
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        line[key] = value.clone();
    }
    line
}

fn side(uuid: &str, parent: Option<&str>) -> Value {
    line(uuid, parent, json!({"isSidechain": true}))
}

fn said(uuid: &str, parent: Option<&str>) -> Value {
    line(uuid, parent, json!({}))
}

fn text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Imports lines and checks that all are exported again.
#[track_caller]
fn chats(lines: &[Value]) -> Vec<StoredChat> {
    let passed = round_trip("a.jsonl", &text(lines), None).unwrap();
    assert_eq!(values(&passed.text), lines);
    assert_eq!(passed.broken, []);
    passed.chats
}

/// Checks each branch and its messages.
#[track_caller]
fn check(lines: &[Value], expected: &[(&str, &str)]) -> StoredChat {
    let chat = chats(lines).remove(0);
    let branches: Vec<_> =
        chat.heads.iter().map(|(name, _)| (name.as_str(), chat.chain(name).join(" "))).collect();
    let branches: Vec<_> = branches.iter().map(|(name, ids)| (*name, ids.as_str())).collect();
    assert_eq!(branches, expected);
    chat
}

#[test]
fn children_of_one_line_are_branches_and_main_ends_at_the_last_line() {
    check(
        &[
            said("a", None),
            said("b", Some("a")),
            said("c", Some("b")),
            said("d", Some("b")),
            said("e", Some("a")),
            said("f", Some("d")),
        ],
        &[("main", "a b d f"), ("main-v2", "a b c"), ("main-v3", "a e")],
    );
}

#[test]
fn side_chains_are_branches_of_their_own_name() {
    check(
        &[
            said("a", None),
            side("x", None),
            said("b", Some("a")),
            side("y", Some("x")),
            side("z", Some("x")),
            side("p", Some("b")),
            said("c", Some("b")),
        ],
        &[("main", "a b c"), ("agent-1", "x z"), ("agent-1-v2", "x y"), ("agent-2", "a b p")],
    );
    // A side chain follows the last line, and main still ends there.
    check(&[said("a", None), side("x", Some("a"))], &[("main", "a"), ("agent-1", "a x")]);
    check(&[side("x", None), side("y", Some("x"))], &[("main", "x y")]);
}

#[test]
fn lines_that_are_no_messages_keep_their_place() {
    let progress = |uuid, parent| {
        let mut line = line(uuid, Some(parent), json!({"type": "progress", "data": {"n": 1.50}}));
        line.as_object_mut().unwrap().remove("message");
        line
    };
    let snapshot =
        json!({"type": "file-history-snapshot", "messageId": "a", "snapshot": {"x": null}});
    let chat = check(
        &[
            snapshot.clone(),
            said("a", None),
            progress("p", "a"),
            said("b", Some("p")),
            progress("q", "b"),
            snapshot,
            progress("r", "a"),
        ],
        &[("main", "a p b q"), ("main-v2", "a r")],
    );
    let progress = &chat.nodes[1].node.message().unwrap();
    assert!(is_log_entry(progress) && progress.plain_text().is_empty());
}

#[test]
fn a_message_has_the_time_and_role_of_its_line() {
    let result = json!([{"type": "tool_result", "tool_use_id": "t", "content": "42"}]);
    let more =
        json!({"message": {"role": "user", "content": result}, "toolUseResult": {"stdout": "42"}});
    let untimed = line("b", Some("a"), json!({"timestamp": null}));
    let chat = check(&[line("a", None, more), untimed], &[("main", "a b")]);
    let roles: Vec<_> = chat.nodes.iter().map(|placed| placed.node.role().unwrap()).collect();
    assert_eq!(roles, [Role::Tool, Role::User]);
    let times: Vec<_> =
        chat.nodes.iter().map(|placed| placed.node.created_at.as_micros()).collect();
    assert_eq!(times, [1_749_895_200_500_000; 2]);
    assert_eq!(chat.title.as_deref(), Some("b"));
}

#[test]
fn a_summary_is_the_title_of_the_session_it_is_about() {
    let summary =
        |leaf: &str, text: &str| json!({"type": "summary", "summary": text, "leafUuid": leaf});
    let other = line("z", None, json!({"sessionId": "t"}));
    let lines = [
        summary("elsewhere", "of another file"),
        said("a", None),
        other,
        summary("z", "of the second"),
        summary("a", "first"),
        summary("a", "last"),
        summary("a", "  "),
    ];
    let chats = chats(&lines);
    let titles: Vec<_> = chats.iter().map(|chat| chat.title.as_deref()).collect();
    assert_eq!(titles, [Some("last"), Some("of the second")]);
    // A file of summaries alone gives a chat without messages.
    let alone = round_trip("a.jsonl", &text(&lines[..1]), None).unwrap();
    assert_eq!((alone.chats.len(), values(&alone.text)), (1, lines[..1].to_vec()));
}

#[test]
fn what_does_not_fit_into_the_tree_is_kept_and_said() {
    let chat = check(
        &[
            said("a", Some("nowhere")),
            said("b", Some("a")),
            line("b", Some("a"), json!({"message": {"role": "user", "content": "again"}})),
            said("x", Some("y")),
            said("y", Some("x")),
            line("o", Some("b"), json!({"message": {"role": "robot"}})),
            line("", None, json!({"uuid": null})),
        ],
        &[("main", "line-7"), ("main-v2", "x y"), ("main-v3", "a b o")],
    );
    assert_eq!(
        chat.diagnostics,
        [
            "line 3: an earlier line has its uuid: it is kept, but not as a message",
            "line 1: its parent is not in its session: it becomes a root",
            "line 4: it is its own ancestor: it becomes a root",
            "line 6: role \"robot\" is none of user, assistant, system",
        ]
    );
}

#[test]
fn sessions_of_one_file_are_chats_and_their_lines_stay_mixed() {
    let other = |uuid, parent| line(uuid, parent, json!({"sessionId": "t"}));
    let lines = [
        said("a", None),
        other("a", None),
        said("b", Some("a")),
        other("c", Some("b")),
        other("d", Some("a")),
    ];
    let chats = chats(&lines);
    assert_eq!(
        chats.iter().map(|chat| chat.chain("main").join(" ")).collect::<Vec<_>>(),
        ["a b", "a d"]
    );
    assert_eq!(
        chats[1].diagnostics,
        ["line 4: its parent is not in its session: it becomes a root"]
    );
}

/// More data than the metadata of a chat may hold.
#[test]
fn many_snapshots_go_to_a_branch() {
    let snapshot =
        |i: i32| json!({"type": "file-history-snapshot", "n": i, "x": "y".repeat(40_000)});
    let mut lines = vec![said("line-2", None)];
    lines.extend((0..50).map(snapshot));
    lines.push(said("b", Some("line-2")));
    let chat = chats(&lines).remove(0);
    let names: Vec<_> = chat.heads.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names, chat.chain("source").len()), (vec!["main", "source"], 50));
}

#[test]
fn a_streamed_answer_stays_in_its_pieces() {
    let piece = |uuid, parent, block: Value| {
        let message =
            json!({"id": "msg_1", "type": "message", "role": "assistant", "content": [block]});
        line(uuid, Some(parent), json!({"type": "assistant", "message": message}))
    };
    let (text, call) = (
        json!({"type": "text", "text": "hm"}),
        json!({"type": "tool_use", "id": "t", "name": "f", "input": {}}),
    );
    check(&[said("a", None), piece("b", "a", text), piece("c", "b", call)], &[("main", "a b c")]);
}

#[test]
fn what_was_added_and_amended_since_follows() {
    let lines = [said("a", None), said("b", Some("a")), said("c", Some("b"))];
    let answer = Message::text(Role::Assistant, "new");
    let (back, said) = changed(&text(&lines), |nodes| {
        nodes[1] = amended(&nodes[1], "other");
        let node = Node::new("n", answer, Timestamp::from_micros(1_500_000));
        nodes.push(PlacedNode::new(node, Some("c".into()), 3));
    });
    assert_eq!(said, [] as [&str; 0]);
    let around = |uuid: &str, parent: &str, kind: &str, timestamp: &str, content: Value| {
        json!({"type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": false, "sessionId": "s",
               "timestamp": timestamp, "message": {"role": kind, "content": content}})
    };
    let expected = [
        lines[0].clone(),
        around("b", "a", "user", "2025-06-14T10:00:00.5Z", json!("other")),
        lines[2].clone(),
        around(
            "n",
            "c",
            "assistant",
            "1970-01-01T00:00:01.5Z",
            json!([{"type": "text", "text": "new"}]),
        ),
    ];
    assert_eq!(values(&back), expected);
}

/// Lines of every kind with arbitrary predecessors, and broken lines between them.
fn any_lines() -> impl Strategy<Value = Vec<Result<Value, String>>> {
    let name = || proptest::option::weighted(0.9, (0usize..12).prop_map(|n| format!("u{n}")));
    let session = proptest::option::weighted(0.9, prop_oneof![3 => Just("s"), 1 => Just("t")]);
    let kind = prop_oneof!["user", "assistant", "system", "progress", "summary"];
    let message = prop_oneof![
        4 => "\\PC{0,5}".prop_map(|text| json!({"role": "user", "content": text})),
        2 => Just(json!({"role": "assistant",
            "content": [{"type": "text", "text": "x", "n": 1.50}]})),
        1 => Just(json!({"role": "odd"})),
        1 => Just(Value::Null),
    ];
    let good = (name(), name(), session, any::<bool>(), kind, message, name()).prop_map(
        |(uuid, parent, session, side, kind, message, leaf)| {
            json!({"uuid": uuid, "parentUuid": parent, "sessionId": session, "isSidechain": side,
                   "type": kind, "message": message, "leafUuid": leaf, "summary": "of it"})
        },
    );
    let cut = (good.clone(), any::<prop::sample::Index>()).prop_map(|(line, at)| {
        let text: Vec<char> = line.to_string().chars().collect();
        text[..1 + at.index(text.len() - 2)].iter().collect::<String>()
    });
    let broken =
        prop_oneof![cut, Just("[1]".to_owned()), Just("null".to_owned()), Just("?".to_owned())];
    let line = prop_oneof![6 => good.prop_map(Ok), 1 => broken.prop_map(Err)];
    proptest::collection::vec(line, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_session_comes_back_without_its_broken_lines(lines in any_lines()) {
        let text: String = lines.iter().map(|line| match line {
            Ok(line) => format!("{line}\n"),
            Err(broken) => format!("{broken}\n"),
        }).collect();
        let good: Vec<_> = lines.iter().filter_map(|line| line.as_ref().ok().cloned()).collect();
        let bad: Vec<_> = (1..).zip(&lines).filter(|(_, line)| line.is_err()).map(|(number,
            _)| number).collect();
        match round_trip("a.jsonl", &text, Some(Format::ClaudeCode)) {
            Err(_) => prop_assert!(good.is_empty()),
            Ok(passed) => {
                prop_assert_eq!(values(&passed.text), good);
                prop_assert_eq!(passed.broken.iter().map(|(line, _)| *line).collect::<Vec<_>>(),
                    bad);
                for chat in &passed.chats {
                    // Every message without a successor is the end of a branch.
                    let parents: Vec<_> =
                        chat.nodes.iter().filter_map(|placed| placed.parent.as_ref()).collect();
                    for placed in &chat.nodes {
                        let is_head = chat.heads.iter().any(|(_,
                            head)| placed.node.id == head.as_str());
                        prop_assert!(is_head || parents.contains(&&placed.node.id));
                    }
                }
            }
        }
    }
}
