//! A store in a file is searched, cleared and copied by one process after another.

use insta::assert_snapshot;
use serde_json::json;

use crate::harness::Bench;

#[test]
fn scripts_complete_the_command() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = bench.ok(&format!("completions {shell}"));
        assert!(script.contains("cherry-pick") && script.contains("dry-run"), "{shell}");
    }
    let record = &bench.records("completions fish")[0];
    assert_eq!(record["text"], bench.ok("completions fish"));
    assert!(!bench.path().join("context.db").exists());
}

#[test]
fn wrong_usage_says_what_would_be_right() {
    let bench = Bench::with_sample();
    bench.file("there.db", "");
    assert_snapshot!(
        "usage",
        bench.show(&[
            "retain",
            "retain --older-than soon",
            "retain --max-bytes many",
            "search",
            "search x --branch main",
            "search x --role robot",
            "branches notes --rename main",
            "branches notes --switch main --delete main",
            "cherry-pick notes m1",
            "erase local",
            "erase local --json",
            "backup there.db",
            "completions tcsh",
            "--store sqlite:nothing.db erase local --yes",
            "--store sqlite:nothing.db search x",
        ])
    );
    assert_eq!(bench.records("chats").len(), 1);
}

#[test]
fn a_chat_goes_to_another_store_and_back() {
    let bench = Bench::with_sample();
    bench.ok("rewind notes m4");
    bench.ok("copy notes notes --to sqlite:archive.db");
    assert_eq!(bench.ok("--store sqlite:archive.db export notes"), bench.ok("export notes"));
    assert_eq!(bench.records("--store sqlite:archive.db graph notes"), bench.records("graph notes"));
    assert_eq!(bench.records("--store sqlite:archive.db verify")[0]["findings"], json!([]));
}
