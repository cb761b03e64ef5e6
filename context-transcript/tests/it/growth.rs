//! Files that agents are still writing: after each state, the chat is the one that an import of the
//! whole file would make.

use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::{Value, json};

use crate::fixture::{check_grows, line_by_line};

/// A line of Claude Code.
fn line(kind: &str, uuid: &str, parent: Option<&str>, is_side: bool) -> Value {
    let mut line = json!({"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s",
        "isSidechain": is_side, "timestamp": "2025-06-14T10:00:00.5Z"});
    if kind != "system" {
        line["message"] = json!({"role": kind, "content": [{"type": "text", "text": uuid}]});
    }
    line
}

#[test]
fn a_session_with_steps_back_sub_agents_and_notes_grows() {
    let lines = [
        json!({"type": "file-history-snapshot", "messageId": "a", "snapshot": {}}),
        line("user", "a", None, false),
        line("assistant", "b", Some("a"), false),
        line("user", "task", None, true),
        line("assistant", "done", Some("task"), true),
        line("system", "note", Some("b"), false),
        line("user", "c", Some("b"), false),
        json!({"type": "summary", "summary": "Letters", "leafUuid": "c"}),
        // A step back, on with it, and back on the first branch.
        line("user", "d", Some("b"), false),
        line("assistant", "e", Some("d"), false),
        line("assistant", "f", Some("c"), false),
        line("user", "another task", Some("f"), true),
        // After a compaction there is a new root.
        line("user", "g", None, false),
        line("assistant", "h", Some("g"), false),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    check_grows("session.jsonl", line_by_line(&text));
}

/// A session of the Gemini CLI, which writes a record again when its calls have results.
#[test]
fn records_that_are_completed_later_grow() {
    let call = |id: &str, result: Option<&str>| {
        let mut call =
            json!({"id": id, "name": "ls", "args": {"path": "."}, "status": "executing"});
        if let Some(text) = result {
            call["status"] = "success".into();
            call["result"] = json!([{"functionResponse": {"id": id, "name": "ls",
                "response": {"output": text}}}]);
        }
        call
    };
    let user = json!({"id": "1", "type": "user", "content": "What is here?"});
    let answer = |content: &str, calls: &[Value]| {
        let mut answer = json!({"id": "2", "type": "gemini", "content": content, "tokens": {"total": content.len()}});
        if !calls.is_empty() {
            answer["toolCalls"] = calls.into();
        }
        answer
    };
    let states = [
        vec![user.clone()],
        vec![user.clone(), answer("I lo", &[])],
        vec![user.clone(), answer("I look.", &[])],
        vec![user.clone(), answer("I look.", &[call("a", None), call("b", None)])],
        vec![user.clone(), answer("I look.", &[call("a", Some("map")), call("b", None)])],
        vec![user.clone(), answer("I look.", &[call("a", Some("map")), call("b", Some("x"))])],
        vec![
            user.clone(),
            answer("I look.", &[call("a", Some("map")), call("b", Some("x"))]),
            json!({"id": "3", "type": "info", "content": "Saved."}),
            json!({"id": "4", "type": "gemini", "content": "A map."}),
        ],
    ];
    let session = |(number, records): (usize, Vec<Value>)| {
        json!({"sessionId": "s", "startTime": "2025-06-14T10:00:00Z", "lastUpdated": number,
            "messages": records})
        .to_string()
    };
    check_grows("session.json", states.into_iter().enumerate().map(session));
}

#[test]
fn the_parts_of_an_answer_of_opencode_grow() {
    let tool = |state: Value| json!({"id": "p3", "type": "tool", "callID": "c", "tool": "bash", "state": state});
    let text = |text: &str| json!({"id": "p2", "type": "text", "text": text});
    let start = json!({"id": "p1", "type": "step-start", "snapshot": "s"});
    let states = [
        vec![start.clone()],
        vec![start.clone(), text("I")],
        vec![start.clone(), text("I look."), tool(json!({"status": "pending", "input": {}}))],
        vec![
            start.clone(),
            text("I look."),
            tool(json!({"status": "running", "input": {"command": "ls"}, "time": {"start": 1}})),
        ],
        vec![
            start.clone(),
            text("I look."),
            tool(json!({"status": "completed", "input": {"command": "ls"}, "output": "map",
                "title": "ls", "metadata": {}, "time": {"start": 1, "end": 2}})),
            json!({"id": "p4", "type": "step-finish", "cost": 1}),
            json!({"id": "p5", "type": "text", "text": "A map."}),
        ],
    ];
    let session = |parts: Vec<Value>| {
        json!({"info": {"id": "ses", "title": "Files"}, "messages": [
            {"info": {"id": "m1", "sessionID": "ses", "role": "user", "time": {"created": 1}},
             "parts": [{"id": "p0", "type": "text", "text": "What is here?"}]},
            {"info": {"id": "m2", "sessionID": "ses", "role": "assistant", "time": {"created": 2},
                "cost": parts.len()}, "parts": parts}]})
        .to_string()
    };
    check_grows("session.json", states.into_iter().map(session));
}

#[test]
fn lists_of_messages_and_files_of_conversations_grow() {
    let messages = [
        json!({"role": "user", "content": "Which flights?"}),
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "find", "input": {}}]}),
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "Two."}]}),
        json!({"role": "assistant", "content": "Two."}),
    ];
    let first = |count: usize| messages[..count].to_vec();
    check_grows("body.json", (1..5).map(|count| json!({"messages": first(count)}).to_string()));
    check_grows("list.json", (1..5).map(|count| json!(first(count)).to_string()));
    let file = |count: usize| -> Vec<_> {
        (1..=count).map(|length| json!({"messages": first(length)})).collect()
    };
    check_grows("several.json", (1..5).map(|count| json!(file(count)).to_string()));
    let lines: String = file(4).iter().map(|item| format!("{item}\n")).collect();
    check_grows("several.jsonl", line_by_line(&lines));
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn recorded_sessions_grow() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let root = env::var_os("CONTEXT_TEST_DATA").map_or(root, PathBuf::from);
    let entries = fs::read_dir(root.join("data/claude-code")).into_iter().flatten().flatten();
    let files: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect();
    assert!(!files.is_empty(), "no recorded sessions");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.lines().count() > 1);
        check_grows("session.jsonl", line_by_line(&text));
    }
}
