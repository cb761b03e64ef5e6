//! Files with lines that cannot be read: the others are imported, or nothing with `--strict`.

use insta::assert_snapshot;
use serde_json::json;

use crate::harness::{Bench, values};

const GOOD: &str = "{\"role\":\"user\",\"content\":\"x\"}\n";

/// A file that was cut in the middle of a line and of a character.
fn cut() -> Vec<u8> {
    let mut bytes =
        format!("{GOOD}[1]\n{GOOD}{{\"role\": \"user\", \"content\": \"caf").into_bytes();
    bytes.push(0xc3);
    bytes
}

/// Regression: all broken lines were kept, and finding each line number was quadratic.
#[test]
fn of_many_broken_lines_the_first_are_listed_and_the_others_counted() {
    let bench = Bench::new();
    bench.file("many.jsonl", "x\n".repeat(50_000) + GOOD);
    let shown = bench.ok("import many.jsonl --broken");
    assert!(shown.contains("50,000 broken lines"), "{}", &shown[..400]);
    assert_eq!(shown.matches("many.jsonl line ").count(), 10_000);
    assert!(
        shown.contains("line 10000: ") && shown.ends_with("many.jsonl: 40,000 more broken lines\n")
    );
}

/// Each message takes much more memory than its two bytes in the file.
#[test]
fn more_lines_or_messages_than_the_limit_are_refused() {
    let bench = Bench::new();
    bench.file("lines.jsonl", "1\n".repeat(1_000_001));
    bench.file("list.json", format!("[{}1]", "1,".repeat(1_000_000)));
    for file in ["lines.jsonl", "list.json"] {
        let ran = bench.run(&format!("import {file}"));
        let said = format!(
            "{file} has more than 1000000 lines or messages, the most that is read as a whole"
        );
        assert_eq!(ran.status, 1, "{}", ran.err);
        assert!(ran.err.contains(&said), "{}", ran.err);
    }
    assert!(!bench.path().join("context.db").exists());
}

#[test]
fn what_can_be_read_is_imported_and_the_rest_is_counted() {
    let bench = Bench::new();
    bench.file("cut.jsonl", cut());
    bench.file("whole.jsonl", GOOD);
    assert_snapshot!(
        bench.show(&[
            "import whole.jsonl cut.jsonl",
            "import cut.jsonl --broken",
            "log cut",
            "import cut.jsonl --strict --chat strict",
            "chats",
        ]),
        @r#"
    $ context import whole.jsonl cut.jsonl
    imported 2 chats from 2 files · 3 messages · 2 branches · 2 broken lines (show: --broken)
      whole … cut
    note: cut.jsonl: 2 broken lines left out; the first is line 2: a message must be an object, found a list

    $ context import cut.jsonl --broken
    unchanged: 1 chat of cut.jsonl stored before · 2 broken lines
      cut
      cut.jsonl line 2: a message must be an object, found a list
      cut.jsonl line 4: it is not UTF-8 text

    $ context log cut
    ID  ROLE  MESSAGE  MARKS    WRITTEN
    m1  user  x                 (time)
    m2  user  x        [main*]  (time)

    $ context import cut.jsonl --strict --chat strict
    error: message 2 of conversation 1 in cut.jsonl: a message must be an object, found a list
      file cut.jsonl · line 2 · conversation 1 · message 2
      nothing of this file was used
    (exit status 1)

    $ context chats
    CHAT   TITLE  MESSAGES  BRANCHES  UPDATED
    cut    x             2         1  (time)
    whole  x             1         1  (time)
    "#
    );
    assert_eq!(bench.ok("export cut"), GOOD.repeat(2));
}

#[test]
fn records_count_the_lines_of_a_file_once() {
    let bench = Bench::new();
    let chat = "{\"messages\": []}\n";
    bench.file("a.jsonl", format!("{chat}{{\n{chat}7\n"));
    let records = bench.records("import a.jsonl");
    let counts: Vec<_> =
        records.iter().map(|record| (&record["chat"], &record["broken"])).collect();
    assert_eq!(counts, [(&json!("a-0001"), &json!(2)), (&json!("a-0002"), &json!(0))]);
    let listed = bench.records("import a.jsonl --broken");
    assert_eq!(
        listed[0],
        json!({"v": 1, "file": "a.jsonl", "line": 2, "problem": "EOF while parsing an object"})
    );
    assert_eq!((listed.len(), &listed[3]["status"]), (4, &json!("unchanged")));
}

/// No file is written, not even the valid first one.
#[test]
fn strict_writes_nothing() {
    let bench = Bench::new();
    bench.file("good.jsonl", GOOD);
    bench.file("cut.jsonl", cut());
    let ran = bench.run("--json import --strict good.jsonl cut.jsonl");
    assert_eq!((ran.status, ran.out.as_str()), (1, ""));
    let error = &values(&ran.err)[0]["error"];
    assert_eq!(
        (&error["context"]["file"], &error["context"]["line"]),
        (&json!("cut.jsonl"), &json!("2"))
    );
    assert!(!bench.path().join("context.db").exists());
    assert_eq!(bench.run("import good.jsonl --strict").status, 0);
}

#[test]
fn a_file_without_a_good_line_is_refused() {
    let bench = Bench::new();
    bench.file("none.jsonl", "{\n[\n");
    let ran = bench.run("import none.jsonl");
    assert_eq!((ran.status, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("line 1"), "{}", ran.err);
    assert!(!bench.path().join("context.db").exists());
}

/// Files that were imported before a failing one are reported.
#[test]
fn files_before_a_refused_one_are_imported() {
    let bench = Bench::new();
    bench.file("good.jsonl", GOOD);
    let ran = bench.run("import good.jsonl nowhere.jsonl");
    assert_eq!(
        (ran.status, ran.out.as_str()),
        (1, "imported 1 chat · 1 message · 1 branch · 1 file not imported\n  good\n")
    );
    assert_eq!(bench.records("chats").len(), 1);
}
