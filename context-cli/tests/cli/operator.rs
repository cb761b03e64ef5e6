//! The work of an operator: import, inspect, branch, go back, draw, delete.

use std::io::Read;
use std::process::Stdio;

use insta::assert_snapshot;

use crate::harness::{Bench, context};

#[test]
fn help_teaches() {
    let bench = Bench::new();
    assert_snapshot!("help", bench.ok("--help"));
    assert_snapshot!("help_import", bench.ok("import --help"));
    for command in ["log", "rewind", "checkpoint", "export", "render", "verify"] {
        assert!(bench.ok(&format!("{command} --help")).contains("Example"), "{command}");
    }
}

#[test]
fn importing_and_looking() {
    let bench = Bench::with_sample();
    assert_snapshot!(
        "looking",
        bench.show(&[
            "import notes.json",
            "chats",
            "log notes",
            "log notes -n 2",
            "show notes m5",
            "branches notes",
            "prompt notes",
            "verify",
        ])
    );
}

#[test]
fn branching_and_going_back() {
    let bench = Bench::with_sample();
    assert_snapshot!(
        "branching",
        bench.show(&[
            "checkpoint notes asked --at m2",
            "checkpoint notes answered",
            "rewind notes m7",
            "fork notes --at m3 --name detour",
            "fork notes --at m3 --name detour",
            "restore notes asked",
            "fork notes",
            "checkpoint notes",
            "branches notes",
            "graph notes",
            "branches notes --switch main",
            "log notes -n 1",
            "checkpoint notes asked --delete",
            "checkpoint notes asked --delete",
            "verify",
            "delete notes",
            "delete notes --yes",
            "chats",
        ])
    );
}

#[test]
fn another_user_sees_nothing() {
    let bench = Bench::with_sample();
    assert_eq!(bench.ok("--user eve --json chats"), "");
    let ran = bench.run("--user eve log notes");
    assert_eq!((ran.status, ran.out.as_str()), (1, ""));
    bench.file("notes.json", r#"[{"role": "user", "content": "mine"}]"#);
    bench.ok("--user eve import notes.json");
    assert_eq!(bench.records("log notes").len(), 17);
    assert_eq!(bench.records("--user eve log notes").len(), 1);
}

/// A message must not be able to control the terminal.
#[test]
fn escape_sequences_are_not_passed_on() {
    let bench = Bench::new();
    bench.file("evil.json", "[{\"role\": \"user\", \"content\": \"\\u001b[2J\\u0007gone\"}]");
    bench.ok("import evil.json");
    for line in ["chats", "log evil", "show evil m1", "prompt evil", "graph evil"] {
        let shown = bench.ok(line);
        assert!(
            shown.contains("gone") && !shown.contains(['\u{1b}', '\u{7}']),
            "{line}: {shown:?}"
        );
    }
}

/// `context log … | head -1` is the classic way to make a program panic.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let bench = Bench::new();
    let message = "{\"role\": \"user\", \"content\": \"some words that fill the pipe\"}\n";
    bench.file("long.jsonl", message.repeat(3000));
    bench.ok("import long.jsonl");
    let jsonl = ["export", "long", "--to", "jsonl"];
    for args in [&["log", "long"][..], &["--json", "log", "long"], &["export", "long"], &jsonl] {
        let mut child = context(bench.path(), args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0; 10];
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut first).unwrap();
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
        assert!(output.status.success());
    }
}
