//! Whole chats from one store to another, through files that lose nothing.

use insta::assert_snapshot;

use crate::harness::Bench;

fn bench() -> Bench {
    let bench = Bench::new();
    let talk = r#"[{"role": "user", "content": "Two tickets to Lisbon."}, {"role": "assistant", "content": "When?"},
        {"role": "user", "content": "On Friday."}]"#;
    bench.file("trip.json", talk);
    bench.ok("import trip.json");
    bench.ok("rewind trip m2");
    bench.ok("checkpoint trip asked");
    bench.ok("redact trip m2 --yes");
    bench
}

#[test]
fn what_is_exported_is_imported_as_it_was() {
    let bench = bench();
    let lines = bench.ok("export trip --to jsonl");
    assert_eq!(bench.ok("export --all --to jsonl"), lines);
    bench.file("all.jsonl", lines.clone());
    bench.ok("delete trip --yes");
    assert_snapshot!(bench.show(&["import all.jsonl", "branches trip", "checkpoint trip", "import all.jsonl"]), @r"
    $ context import all.jsonl
    imported 1 chat · 3 messages · 2 branches
      trip

    $ context branches trip
       BRANCH   MESSAGES  HEAD  CREATED
       main            3  m3    (time)
    *  main-v2         2  m2    (time)

    $ context checkpoint trip
    CHECKPOINT  MESSAGE  SET
    asked       m2       (time)

    $ context import all.jsonl
    unchanged: 1 chat of all.jsonl stored before
      trip
    note: trip: a chat of this name exists; it was not changed
    ");
    assert_eq!(bench.ok("export trip --to jsonl"), lines);
    bench.ok("verify");
}

#[test]
fn a_chat_comes_through_a_pipe_and_under_another_name() {
    let bench = bench();
    let ran = bench.run_with("import - --chat again --json", &bench.ok("export trip --to jsonl"));
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert!(
        ran.out.contains(r#""chat":"again","file":"-","messages":3,"added":3,"branches":2"#),
        "{}",
        ran.out
    );
    for line in ["graph", "checkpoint", "branches"] {
        assert_eq!(
            bench.records(&format!("{line} again")),
            bench.records(&format!("{line} trip")),
            "{line}"
        );
    }
}

#[test]
fn a_broken_line_costs_its_chat_or_with_strict_everything() {
    let bench = bench();
    let lines = bench.ok("export trip --to jsonl");
    let broken: String = lines
        .lines()
        .map(|line| {
            if line.contains("On Friday") {
                "{\"type\":\"mess\n".to_owned()
            } else {
                format!("{line}\n")
            }
        })
        .collect();
    bench.file("broken.jsonl", broken);
    assert_snapshot!(bench.show(&[
        "import broken.jsonl --chat strict --strict",
        "import broken.jsonl --chat kept --broken",
        "branches kept",
        "chats",
        "verify",
        "export trip --to jsonl --branch main",
    ]), @r"
    $ context import broken.jsonl --chat strict --strict
    error: a line is broken: EOF while parsing a string
      line 7 · file broken.jsonl
    (exit status 1)

    $ context import broken.jsonl --chat kept --broken
    imported nothing · 1 chat refused · 1 broken line
      broken.jsonl line 7: EOF while parsing a string
    note: broken.jsonl: chat kept: refused, nothing of it was written
    (exit status 1)

    $ context branches kept
    error: no such chat
      chat kept
      `context chats` lists the chats of this user; --user names another
    (exit status 1)

    $ context chats
    CHAT  TITLE                   MESSAGES  BRANCHES  UPDATED
    trip  Two tickets to Lisbon.         3         2  (time)

    $ context verify
    sound: 1 chat, 3 messages

    $ context export trip --to jsonl --branch main
    error: jsonl holds whole chats; leave --branch out
    (exit status 2)
    ");
}
