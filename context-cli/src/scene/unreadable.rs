//! A message whose body cannot be read is an error in every command that shows messages.

use std::sync::Arc;

use context_runtime::fragments::Encoded;
use context_runtime::store::{Commit, CommitOutcome, Node, NodeKind, Target};
use context_runtime::{ChatRef, Role, Timestamp};
use serde_json::{Value, json};

use super::Scene;
use crate::app::Outcome;

/// A chat whose second message has a damaged body.
fn scene() -> Scene {
    let scene = Scene::with_chat("trip", &json!([{"role": "user", "content": "Lisbon?"}]));
    let chat = ChatRef::new("local", "trip");
    let at = Timestamp::from_micros(super::START);
    let body = Encoded::new("message", 1, "{\"role\": \"assis");
    let node = Node::from_encoded("odd".into(), NodeKind::Message(Role::Assistant), at, body);
    let commit = async {
        let history = scene.store.history();
        let branch = history.branches(&chat).await?.remove(0);
        let target = Target::Extend { branch: branch.name, expected: branch.head };
        history
            .commit(Commit { nodes: vec![Arc::new(node)], ..Commit::new(chat, target, at) })
            .await
    };
    let outcome = scene.runtime.block_on(commit).expect("the store takes any bytes");
    assert!(matches!(outcome, CommitOutcome::Applied(_)));
    scene
}

#[test]
fn a_body_that_cannot_be_read_is_never_passed_over_in_silence() {
    let scene = scene();
    for line in [
        "export trip",
        "export trip --to openai",
        "export trip --to jsonl",
        "log trip",
        "show trip odd",
        "prompt trip",
    ] {
        for json in [false, true] {
            let args: Vec<_> = line.split(' ').collect();
            let (result, out, _) = scene.run(&args, json);
            let failure = result.expect_err(line);
            let facts = failure.context();
            assert!(facts.contains(&("chat", "trip".to_owned())), "{line}: {facts:?}");
            assert!(facts.contains(&("message", "odd".to_owned())), "{line}: {facts:?}");
            assert_eq!(failure.kind(), "corrupt", "{line}");
            assert!(failure.to_string().contains("odd"), "{failure}");
            assert!(!out.contains("assis\"") && !out.contains("base64"), "{line}: {out}");
        }
    }
    assert!(
        matches!(scene.run(&["show", "trip", "m1"], false).0, Ok(Outcome::Success)),
        "m1 can be read"
    );
}

#[test]
fn who_asks_for_bodies_as_they_are_gets_them() {
    let scene = scene();
    let lines = scene.records("export trip --to jsonl --as-is");
    let odd = lines.iter().find(|line| line["id"] == "odd").map(|line| &line["body"]["text"]);
    assert_eq!(odd, Some(&Value::from("{\"role\": \"assis")));
    let (result, ..) = scene.run(&["export", "trip", "--as-is"], false);
    assert_eq!(result.expect_err("only jsonl holds such bodies").kind(), "usage");
}
