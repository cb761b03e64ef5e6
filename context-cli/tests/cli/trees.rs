//! Transcripts with branches: how they are shown, and how they are exported.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::harness::{Bench, values};

/// A session with a fork, a sub-agent and lines that are not messages.
fn session() -> Vec<Value> {
    let line = |uuid: &str, parent: Value, side: bool, message: Value| {
        json!({"type": message["role"], "uuid": uuid, "parentUuid": parent, "isSidechain": side,
               "sessionId": "s", "timestamp": "2025-06-14T10:00:00Z", "message": message})
    };
    let user = |text: &str| json!({"role": "user", "content": text});
    let model = |block: Value| json!({"id": "msg_1", "role": "assistant", "content": [block]});
    let call = json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}});
    let result = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "a.txt"}]);
    vec![
        line("q", json!(null), false, user("What is here?")),
        line("agent", json!(null), true, user("Look around.")),
        line("call", json!("q"), false, model(call)),
        json!({"type": "system", "uuid": "sys", "parentUuid": "call", "content": "hook ran", "sessionId": "s"}),
        line("result", json!("sys"), false, json!({"role": "user", "content": result})),
        line("old", json!("result"), false, model(json!({"type": "text", "text": "One file."}))),
        line(
            "new",
            json!("result"),
            false,
            model(json!({"type": "text", "text": "A file: a.txt."})),
        ),
        json!({"type": "summary", "summary": "Looking at files", "leafUuid": "new"}),
    ]
}

fn bench() -> Bench {
    let bench = Bench::new();
    let text: String = session().iter().map(|line| format!("{line}\n")).collect();
    bench.file("session.jsonl", text);
    bench.ok("import session.jsonl");
    bench
}

#[test]
fn a_session_is_looked_at_like_any_chat() {
    assert_snapshot!(bench().show(&["chats", "branches session", "log session", "graph session"]), @r#"
    $ context chats
    CHAT     TITLE             MESSAGES  BRANCHES  UPDATED
    session  Looking at files         7         3  (time)

    $ context branches session
       BRANCH   MESSAGES  HEAD   CREATED
    *  main            5  new    (time)
       main-v2         5  old    (time)
       agent-1         1  agent  (time)

    $ context log session
    ID      ROLE       MESSAGE                    MARKS    WRITTEN
    q       user       What is here?                       (time)
    call    assistant  → Bash {"command":"ls"}             (time)
    sys     system     [data claude-code.system]           (time)
    result  tool       ← t1 a.txt                          (time)
    new     assistant  A file: a.txt.             [main*]  (time)

    $ context graph session
    ● q  user  What is here? · 4 messages, 1 tool call
    ├─○ old  [main-v2]  assistant  One file.
    ● new  [main*]  assistant  A file: a.txt.

    ○ agent  [agent-1]  user  Look around.
    "#);
}

#[test]
fn a_branch_goes_out_alone_and_providers_get_no_notes() {
    let bench = bench();
    let lines = session();
    let main: Vec<_> = [0, 2, 3, 4, 6, 7].map(|i| lines[i].clone()).into();
    assert_eq!(values(&bench.ok("export session --branch main")), main);
    let conversation = &bench.records("export session")[0]["conversation"];
    assert_eq!(conversation, &Value::from(lines));
    let sent = values(&bench.ok("export session --to anthropic")).remove(0);
    let roles: Vec<_> =
        sent.as_array().expect("a list").iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
    let sent = values(&bench.ok("export session --to openai")).remove(0);
    assert_eq!(sent[2], json!({"role": "tool", "tool_call_id": "t1", "content": "a.txt"}));
}

#[test]
fn going_back_and_working_on_keeps_the_session_as_it_was() {
    let bench = bench();
    bench.ok("rewind session call");
    bench.ok("checkpoint session here");
    let back = values(&bench.ok("export --all"));
    assert_eq!(back, session());
    assert!(bench.ok("import session.jsonl").starts_with("unchanged"));
    assert_eq!(bench.records("verify")[0]["findings"], json!([]));
}

#[test]
fn the_form_can_be_named() {
    let bench = Bench::new();
    bench.file("day.txt", format!("{}\n", session()[0]));
    assert_eq!(bench.records("import day.txt --from claude-code")[0]["branches"], 1);
    bench.file("list.json", r#"[{"role": "user", "content": [{"type": "text", "text": "x"}]}]"#);
    bench.ok("import list.json --from anthropic");
    let read = |line: &str| values(&bench.ok(line)).remove(0);
    let expected = json!([{"role": "user", "content": [{"type": "text", "text": "x"}]}]);
    assert_eq!(read("export list"), expected);
    let ran = bench.run("import list.json --from toolbench --chat other");
    assert_eq!(ran.status, 1);
    assert!(ran.err.contains("an object has no tree of nodes"), "{}", ran.err);
}

#[test]
fn what_was_misplaced_is_said_but_not_without_end() {
    let bench = Bench::new();
    let lost = |i: usize| {
        json!({"type": "user", "uuid": format!("u{i}"), "parentUuid": "nowhere", "sessionId": "s",
               "message": {"role": "user", "content": "x"}})
    };
    let text: String = (1..=7).map(|i| format!("{}\n", lost(i))).collect();
    bench.file("lost.jsonl", text);
    let ran = bench.run("import lost.jsonl");
    assert_eq!((ran.status, ran.err.lines().count()), (0, 6));
    assert!(ran.err.contains("misplaced at line 5"), "{}", ran.err);
    assert!(ran.err.ends_with("note: lost: and 2 more; --json shows all\n"), "{}", ran.err);
    assert_eq!(
        bench.records("import lost.jsonl")[0]["diagnostics"].as_array().map(Vec::len),
        Some(7)
    );
}
