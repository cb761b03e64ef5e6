//! Patterns that no shell has expanded, and files that do not exist.

use std::fs;

use crate::harness::{Bench, values};

const GOOD: &str = "{\"role\":\"user\",\"content\":\"x\"}\n";

/// A folder with three transcripts, one of them hidden, and a file that is none.
fn runs() -> Bench {
    let bench = Bench::new();
    fs::create_dir_all(bench.path().join("runs/deep/er")).expect("made");
    for name in ["runs/one.jsonl", "runs/deep/er/two.jsonl", "runs/deep/.three.jsonl"] {
        bench.file(name, GOOD);
    }
    bench.file("runs/notes.md", "# Notes");
    bench
}

fn chats(bench: &Bench, line: &str) -> Vec<String> {
    let records = values(&bench.run(&format!("--json {line} --store mem:")).out);
    let chats = records.iter().filter(|record| record["status"] == "imported");
    chats.map(|record| record["chat"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn a_pattern_is_expanded_and_goes_into_subfolders() {
    let bench = runs();
    for (pattern, expected) in [
        ("runs/*.jsonl", &["one"][..]),
        ("r?ns/[no]*.jsonl", &["runs/one"]),
        ("runs/**/*.jsonl", &["deep/er/two", "one"]),
        ("**/two.jsonl", &["runs/deep/er/two"]),
        ("runs/*", &["deep/er/two", "one"]),
        ("runs/**", &["deep/er/two", "one"]),
        ("runs/deep/.*.jsonl", &[".three"]),
    ] {
        assert_eq!(chats(&bench, &format!("import {pattern}")), expected, "{pattern}");
    }
    // Its chats are those of the folder, so that importing it changes nothing.
    bench.ok("import runs");
    let again = bench.run("import runs/**/*.jsonl");
    assert_eq!(again.status, 0, "{}", again.err);
    assert!(again.out.starts_with("unchanged: 2 chats"), "{}", again.out);
}

#[test]
fn a_file_whose_name_looks_like_a_pattern_is_that_file() {
    let bench = runs();
    bench.file("a[1].jsonl", GOOD);
    bench.file("a1.jsonl", GOOD);
    assert_eq!(chats(&bench, "import a[1].jsonl"), ["a[1]"]);
}

#[test]
fn a_pattern_that_matches_nothing_is_an_error_that_says_so() {
    let bench = runs();
    insta::assert_snapshot!(bench.show(&[
        "import runs/*.jsn",
        "import runs/[",
        "import runs/*.jsn runs/one.jsonl",
    ]));
}

#[test]
fn what_does_not_exist_is_answered_with_what_does() {
    let bench = runs();
    insta::assert_snapshot!(bench.show(&[
        "import rns",
        "import runs/ane.jsonl",
        "import elsewhere/x.jsonl",
        "import rns elsewhere runs/one.jsonl",
        "tokens runs/one.json",
        "watch rns",
        "import runs/one.jsonl --store sqlite:missing/dir/x.db",
        "chats --store sqlite:missing/dir/x.db",
    ]));
}

#[test]
fn a_file_that_is_no_transcript_does_not_end_the_import_of_the_others() {
    let bench = runs();
    bench.file("other.json", "{\"version\": 2}");
    bench.file("bytes.json", [0xff, 0xfe]);
    bench.file("no.db", "SQLite format 3\0");
    insta::assert_snapshot!(
        bench.show(&["import other.json bytes.json no.db runs/notes.md runs/one.jsonl runs/deep",])
    );
}
