//! `watch`: chats follow the files of running agents.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Bench, values};

/// A line of a session of Claude Code.
pub(crate) fn line(uuid: &str, parent: Option<&str>) -> String {
    let line = json!({"type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": "s",
        "isSidechain": false, "timestamp": "2025-06-14T10:00:00.5Z",
        "message": {"role": "user", "content": uuid}});
    format!("{line}\n")
}

pub(crate) fn append(bench: &Bench, name: &str, text: &str) {
    let mut file = OpenOptions::new().append(true).open(bench.path().join(name)).expect("a file");
    file.write_all(text.as_bytes()).expect("it can be written to");
}

pub(crate) fn folder(bench: &Bench) {
    fs::create_dir_all(bench.path().join("in/deep")).expect("the folder can be written to");
}

/// Returns the status, chat and number of new messages of each record.
pub(crate) fn changes(records: &[Value]) -> Vec<(String, String, u64)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let change = |record: &Value| {
        (text(&record["status"]), text(&record["chat"]), record["added"].as_u64().unwrap_or(0))
    };
    records.iter().map(change).collect()
}

pub(crate) fn change(status: &str, chat: &str, added: u64) -> (String, String, u64) {
    (status.to_owned(), chat.to_owned(), added)
}

#[test]
fn once_brings_the_chats_up_to_date() {
    let bench = Bench::new();
    folder(&bench);
    bench.file("in/deep/s.jsonl", line("a", None) + &line("b", Some("a")));
    bench.file("in/notes.json", "{\"version\": 2}");
    let first = bench.records("watch in --once");
    let record = json!({"v": 1, "chat": "deep/s", "file": "in/deep/s.jsonl", "status": "imported",
        "added": 2, "amended": 0, "branches": 0});
    assert_eq!(first, [record]);
    assert_eq!(bench.records("watch in --once"), Vec::<Value>::new());

    // The end of the last line is not there yet.
    let next = line("c", Some("b"));
    let (begun, rest) = next.split_at(next.len() / 2);
    append(&bench, "in/deep/s.jsonl", begun);
    assert_eq!(bench.records("watch in --once"), Vec::<Value>::new());
    append(&bench, "in/deep/s.jsonl", rest);
    append(&bench, "in/deep/s.jsonl", &line("d", Some("c")));
    bench.file("in/new.jsonl", line("n", None));
    let again = changes(&bench.records("watch in --once"));
    assert_eq!(again, [change("imported", "new", 1), change("extended", "deep/s", 2)]);
    assert_eq!(bench.ok("watch in --once"), "unchanged: 2 chats\n");

    // An import meets the same chats.
    assert!(bench.ok("import in").starts_with("unchanged: 2 chats"));
    append(&bench, "in/deep/s.jsonl", &line("e", Some("d")));
    let said = bench.ok("import in");
    assert!(said.starts_with("extended 1 chat · 1 message added · 1 chat stored before"), "{said}");
    let prefixed = bench.records("watch in --once --prefix laptop");
    assert_eq!(changes(&prefixed)[1], change("imported", "laptop/deep/s", 5));
    let exported = bench.ok("export deep/s");
    let file = fs::read_to_string(bench.path().join("in/deep/s.jsonl")).expect("a file");
    assert_eq!(values(&exported), values(&file));
    bench.ok("verify");
}

#[test]
fn a_step_back_in_the_agent_becomes_the_active_branch() {
    let bench = Bench::new();
    folder(&bench);
    bench.file("in/s.jsonl", line("a", None) + &line("b", Some("a")));
    bench.ok("watch in --once");
    append(&bench, "in/s.jsonl", &line("c", Some("a")));
    let said = bench.ok("watch in --once");
    let change = "s: extended · 1 message · 1 new branch";
    assert_eq!(said, format!("{change}\nextended 1 chat · 1 message added\n"));
    let branches = bench.records("branches s");
    let active: Vec<_> = branches.iter().filter(|branch| branch["active"] == true).collect();
    assert_eq!((active[0]["branch"].as_str(), active.len()), (Some("main-v2"), 1), "{active:?}");
}

#[test]
fn a_file_that_becomes_several_conversations_keeps_its_first_chat() {
    let bench = Bench::new();
    folder(&bench);
    bench.file("in/s.jsonl", line("a", None));
    bench.ok("watch in --once");
    append(&bench, "in/s.jsonl", &line("b", None).replace(r#""s""#, r#""other""#));
    append(&bench, "in/s.jsonl", &line("c", Some("a")));
    let again = changes(&bench.records("watch in --once"));
    assert_eq!(again, [change("extended", "s", 1), change("imported", "s-0002", 1)]);
}

#[test]
fn what_does_not_continue_a_chat_is_reported_and_nothing_is_changed() {
    let bench = Bench::new();
    folder(&bench);
    for name in ["in/cut.jsonl", "in/mine.jsonl", "in/other.jsonl"] {
        bench.file(name, line("a", None) + &line("b", Some("a")));
    }
    bench.ok("watch in --once");
    bench.ok("cherry-pick mine a --onto main");
    let before = bench.ok("export --all --to jsonl");
    append(&bench, "in/mine.jsonl", &line("c", Some("b")));
    bench.file("in/other.jsonl", line("x", None) + &line("b", Some("x")));
    bench.file("in/cut.jsonl", line("a", None));
    bench.file("in/good.jsonl", line("g", None));
    bench.file("in/half.json", "[{\"role\": \"user\", ");
    bench.file("in/broken.jsonl", format!("{{\"uu{}{}", line("h", None), line("i", None)));
    let ran = bench.run("--json watch in --once");
    assert_eq!((ran.status, ran.err.as_str()), (1, ""));
    let records = values(&ran.out);
    let said: Vec<_> = records
        .iter()
        .map(|record| {
            (
                record["file"].as_str().unwrap_or_default(),
                record["status"].as_str().unwrap_or_default(),
            )
        })
        .collect();
    let expected = [
        ("in/broken.jsonl", "imported"),
        ("in/broken.jsonl", "broken"),
        ("in/good.jsonl", "imported"),
        ("in/half.json", "incomplete"),
        ("in/mine.jsonl", "diverged"),
        ("in/other.jsonl", "diverged"),
    ];
    assert_eq!(said, expected, "{records:?}");
    let problem = |at: usize| records[at]["problem"].as_str().unwrap_or_default();
    assert!(problem(4).contains("continued after message b"), "{}", problem(4));
    assert!(problem(5).contains("message x differs"), "{}", problem(5));
    let ran = bench.run("import in");
    assert_eq!(ran.status, 1);
    assert!(ran.err.contains("chat other exists with other content"), "{}", ran.err);
    for chat in ["good", "broken"] {
        bench.ok(&format!("delete {chat} --yes"));
    }
    assert_eq!(bench.ok("export --all --to jsonl"), before);
    let summary = "imported 2 chats · 2 messages · 1 chat unchanged · 4 problems\n";
    let ran = bench.run("watch in --once");
    assert!(ran.out.ends_with(summary), "{}", ran.out);
    let ran = bench.run("watch in --once --strict");
    assert!(ran.err.contains("in/broken.jsonl: failed"), "{}", ran.err);
}

#[test]
fn folders_are_named_or_known() {
    let bench = Bench::new();
    folder(&bench);
    assert_eq!(bench.ok("watch in --once"), "imported nothing\n");
    let ran = bench.run("watch nowhere --once");
    assert_eq!(ran.status, 1, "{}", ran.err);
    assert!(ran.err.contains("there is no file or folder nowhere"), "{}", ran.err);
    assert_eq!(bench.run("watch . --once --poll 5").status, 2);
    let sessions = bench.path().join("home/.codex/sessions");
    fs::create_dir_all(&sessions).expect("a folder");
    fs::write(sessions.join("s.jsonl"), line("a", None)).expect("a file");
    let ran = at_home(&bench, &bench.path().join("home"));
    assert_eq!((ran.0, bench.records("chats").len()), (true, 1), "{}", ran.1);
    let ran = at_home(&bench, bench.path());
    assert!(!ran.0 && ran.1.contains("~/.claude/projects"), "{}", ran.1);
}

/// Runs `watch --once` with this home folder. Returns whether it succeeded, and its notes.
fn at_home(bench: &Bench, home: &Path) -> (bool, String) {
    let mut command = crate::harness::context(bench.path(), &["watch", "--once"]);
    let output = command.env("HOME", home).output().expect("the executable runs");
    (output.status.success(), String::from_utf8(output.stderr).expect("text"))
}
