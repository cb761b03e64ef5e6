//! Compacted chats, and other commands on them.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{DAY, Scene};

/// A chat of ten questions with long answers.
fn long() -> Scene {
    let turn = |n: usize| {
        let answer = format!("Answer {n}. {}", "All that is to be said of it. ".repeat(40));
        [
            json!({"role": "user", "content": format!("Question {n}?")}),
            json!({"role": "assistant", "content": answer}),
        ]
    };
    let messages: Vec<Value> = (1..=10).flat_map(turn).collect();
    Scene::with_chat("support", &json!(messages))
}

const WINDOW: &str = "--window 2400";

#[test]
fn a_compaction_is_tried_made_listed_and_taken_back() {
    let scene = long();
    assert_snapshot!(
        "compact",
        scene.show(&[
            &format!("compact support --dry-run {WINDOW}"),
            &format!("compact support {WINDOW}"),
            &format!("compact support {WINDOW}"),
            "log support -n 3",
            "graph support",
            "show support n1",
            "compact support --undo --dry-run",
            "compact support --undo",
            "log support -n 3",
            "compact support --undo",
            "compact support",
            "verify",
        ])
    );
}

#[test]
fn what_a_compaction_breaks_in_a_cache_is_told_while_it_may_hold_something() {
    let scene = long();
    let dry =
        |scene: &Scene| scene.records(&format!("compact support --dry-run {WINDOW}")).remove(0);
    let warm = dry(&scene);
    assert!(warm["steps"][0]["price"]["reread"].as_u64() > Some(0));
    scene.pass(DAY);
    let cold = dry(&scene);
    assert_eq!(cold["steps"][0]["price"]["reread"], 0);
    assert_eq!((&cold["status"], &cold["boundary"]), (&json!("would_compact"), &Value::Null));
    assert_eq!(scene.records("log support").len(), 20, "nothing was written");
}

#[test]
fn a_model_gets_what_is_left_and_a_file_gets_everything() {
    let scene = long();
    let bodies = |line: &str| {
        let body = scene.records(line).remove(0);
        body["messages"].as_array().expect("a list").len()
    };
    assert_eq!(bodies("prepare support --provider openai"), 20);
    let done = scene.records(&format!("compact support {WINDOW}")).remove(0);
    assert_eq!((&done["status"], &done["branch"]), (&json!("compacted"), &json!("main")));
    assert!(done["after"].as_u64() < done["before"].as_u64());
    let left = bodies("prepare support --provider openai");
    assert!((2..20).contains(&left), "{left}");
    let file = scene.show(&["export support --to openai"]);
    assert!((1..=10).all(|n| file.contains(&format!("Question {n}?"))), "{file}");
    assert!(!file.contains("left out"), "{file}");
    // A branch from before the compaction is complete, a later one is not.
    let _moved = scene.records("rewind support m20");
    assert_eq!(bodies("prepare support --provider openai"), 20);
    assert_eq!(bodies("prepare support --provider openai --branch main"), left);
    let undone = scene.records("compact support --undo --branch main").remove(0);
    assert_eq!((&undone["status"], &undone["boundary"]), (&json!("undone"), &done["boundary"]));
    assert_eq!(bodies("prepare support --provider openai --branch main"), 20);
}

#[test]
fn policies_that_are_not_there_or_need_a_model_are_refused() {
    let scene = long();
    assert_snapshot!(
        scene.show(&["compact support --policy summarize", "compact support --policy magic", "compact nobody"]),
        @r#"
    $ context compact support --policy summarize
    error: summarize needs a model to write the summary, which this command does not have

    $ context compact support --policy magic
    error: there is no policy "magic"; known policies: microcompact, strip-images, snip, truncate-head

    $ context compact nobody
    error: no such chat
      chat nobody
      `context chats` lists the chats of this user; --user names another
    "#
    );
}
