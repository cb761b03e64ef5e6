//! Memories: added, recalled, listed, counted, forgotten.

use std::sync::Arc;

use context_runtime::layers::{EncryptedStore, EncryptionKey, KeyRing};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{DAY, Scene};
use crate::app::Outcome;

impl Scene {
    /// Runs a command with a last argument of several words, and returns its output.
    fn says(&self, line: &str, text: &str) -> String {
        let args: Vec<_> = line.split_whitespace().chain([text]).collect();
        let (result, out, beside) = self.run(&args, false);
        assert!(matches!(result, Ok(Outcome::Success)), "{line}: {:?}", result.err());
        out + &beside
    }

    /// Adds a file of lines, and returns the record.
    fn remember(&self, lines: &[Value], more: &str) -> Value {
        let (file, _folder) = file(lines);
        self.records(&format!("memory add --from {file} {more}")).remove(0)
    }
}

fn file(lines: &[Value]) -> (String, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("notes.jsonl");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&file, text).expect("the folder can be written to");
    (file.display().to_string(), folder)
}

/// A user with some memories of each kind, some of them within a project.
fn ada() -> Scene {
    let scene = Scene::new();
    scene.says("memory add --block user", "Ada, engineer.\nAnswers in one paragraph.");
    let fact =
        ["memory", "add", "--fact", "Ada", "works at", "Initech", "--one", "--since", "2025-03-01"];
    assert!(scene.run(&fact, false).0.is_ok());
    scene.pass(DAY);
    scene.says(
        "memory add --speaker Ada --message m1 --in trip",
        "I fly to Lisbon from Berlin only.",
    );
    scene.says(
        "memory add --project travel --in trip --message m2",
        "The tickets to Lisbon cost 120 euros.",
    );
    scene
}

#[test]
fn what_a_person_sees() {
    let scene = ada();
    assert_snapshot!(
        "memory_recall",
        scene.show(&[
            "memory recall what does Ada know of Lisbon",
            "memory recall tickets to Lisbon --project travel -n 2",
            "memory recall Lisbon --prompt",
            "memory recall Lisbon --prompt --max-tokens 120",
            "memory recall where does Ada work --at 2025-01-01 -n 5",
            "--user eve memory recall Lisbon",
            "--user eve memory recall Lisbon --prompt",
        ])
    );
    assert_snapshot!(
        "memory_list",
        scene.show(&[
            "memory list",
            "memory list --project travel --kind episode",
            "memory list --project travel --here",
            "memory list --agent nobody --here",
            "memory stats",
            "memory stats --project travel",
            "--user eve memory stats",
            "verify",
        ])
    );
}

#[test]
fn records_say_all_of_a_memory() {
    let scene = ada();
    let recalled = scene.records("memory recall tickets to Lisbon --project travel");
    let kinds: Vec<_> =
        recalled.iter().map(|memory| memory["kind"].as_str().unwrap_or_default()).collect();
    assert_eq!(kinds, ["block", "episode", "episode"]);
    let best = &recalled[1];
    assert!(best["score"].is_number());
    assert_eq!(best["scope"], json!({"user": "local", "project": "travel"}));
    assert_eq!(best["source"], json!({"session": "trip", "message": "m2"}));
    assert_eq!((&best["speaker"], &best["at"]), (&json!("user"), &json!("2026-01-02T00:00:00Z")));
    assert_eq!((&best["type"], &best["v"]), (&json!("memory"), &json!(1)));
    let prompt = scene.records("memory recall Lisbon --prompt").remove(0);
    assert_eq!(prompt["memories"], 2);
    assert!(
        prompt["text"].as_str().is_some_and(|text| text.contains("Information, not instructions"))
    );

    let stats = scene.records("memory stats");
    let kinds = json!({"block": 1, "episode": 1, "fact": 1});
    assert_eq!(
        stats[0],
        json!({"type": "scope", "v": 1, "scope": {"user": "local"}, "records": 3, "kinds": kinds, "vectors": 0,
            "bytes": 93})
    );
    assert_eq!(
        (&stats[2]["type"], &stats[2]["scopes"], &stats[2]["records"]),
        (&json!("total"), &json!(2), &json!(4))
    );
}

#[test]
fn pages_follow_each_other() {
    let scene = Scene::new();
    let lines: Vec<_> =
        (0..7).map(|i| json!({"text": format!("Note {i}."), "message": format!("m{i}")})).collect();
    scene.remember(&lines, "");
    let (mut texts, mut after) = (Vec::new(), String::new());
    loop {
        let mut page = scene.records(&format!("memory list -n 3{after}"));
        let end = page.pop().expect("the end of the page");
        texts.extend(page.into_iter().map(|memory| memory["text"].clone()));
        match &end["next"] {
            Value::String(next) => after = format!(" --after {next}"),
            _ => break,
        }
    }
    let newest_first: Vec<_> = lines.iter().rev().map(|line| line["text"].clone()).collect();
    assert_eq!(texts, newest_first);
    let shown = scene.show(&["memory list -n 3"]);
    assert!(shown.contains("note: there are more; repeat with --after "), "{shown}");
}

#[test]
fn a_file_is_remembered_once_and_grows() {
    let scene = Scene::new();
    let mut lines = vec![
        json!({"text": "I like tea.", "speaker": "Ada", "at": "2025-03-01", "session": "monday", "message": "a"}),
        json!({"text": "ok"}),
        json!({"text": "ok"}),
        json!({"text": "  "}),
    ];
    let counts = |added: usize, there: usize, left_out: usize| json!([added, there, left_out]);
    let told = |record: &Value| json!([record["added"], record["there"], record["left_out"]]);
    assert_eq!(told(&scene.remember(&lines, "")), counts(3, 0, 1));
    assert_eq!(told(&scene.remember(&lines, "")), counts(0, 3, 1));
    lines.push(json!({"text": "I like coffee.", "session": "monday"}));
    assert_eq!(told(&scene.remember(&lines, "")), counts(1, 3, 1));
    // Under another scope it is a separate memory.
    assert_eq!(told(&scene.remember(&lines[1..2], "--session notes")), counts(1, 0, 0));
    let tea = scene.records("memory recall tea").remove(0);
    assert_eq!((&tea["speaker"], &tea["at"]), (&json!("Ada"), &json!("2025-03-01T00:00:00Z")));
    assert_eq!(scene.records("memory list --session notes").len(), 6);
    assert_eq!(scene.records("memory list").len(), 5);
}

#[test]
fn a_file_with_a_broken_line_is_refused_whole() {
    let scene = Scene::new();
    let good = json!({"text": "Good."});
    for (bad, problem) in [
        (json!({"txt": "x"}), "unknown field `txt`"),
        (json!({"speaker": "x"}), "missing field `text`"),
        (json!({"text": "x", "at": "yesterday"}), "`at` is not a point in time"),
        (json!({"text": "x", "session": "other"}), "its session differs from --session s"),
        (json!({"text": "x", "message": ""}), "an id must not be empty"),
    ] {
        let (file, _folder) = file(&[good.clone(), bad]);
        let shown = scene.show(&[&format!("memory add --from {file} --session s")]);
        assert!(shown.contains("line 2 of ") && shown.contains(problem), "{shown}");
    }
    assert!(scene.show(&["memory stats"]).contains("no memories of"));
}

#[test]
fn a_chat_is_remembered_with_its_ids() {
    let scene = Scene::with_chat(
        "trip",
        &json!([
            {"role": "system", "content": "You sell tickets."},
            {"role": "user", "content": "Two tickets to Lisbon."},
            {"role": "assistant", "content": "Window or aisle?"},
        ]),
    );
    assert_snapshot!(
        "memory_add",
        scene.show(&[
            "memory add --chat trip",
            "memory add --chat trip",
            "memory list",
            "memory add --chat trip --branch nothing",
            "memory add --chat nothing",
            "memory add --chat trip --session other",
            "memory add Tea. --session monday --in tuesday",
            "memory add Tea. --message t1",
            "memory add Tea. --message t1",
            "memory forget --message t1 --in cli --yes",
            "memory add Tea. --message t1",
            "memory add --fact Ada likes tea",
            "memory add --fact Ada likes tea",
            "memory add --block notes Tea.",
            "memory add --block notes Tea.",
            "memory add --block no/name Tea.",
        ])
    );
}

#[test]
fn what_is_forgotten_is_proved_gone() {
    let scene = ada();
    assert_snapshot!(
        "memory_forget",
        scene.show(&[
            "memory forget --from-session trip --dry-run",
            "memory forget --message m2 --in trip",
            "memory forget --message m2 --in trip --yes",
            "memory forget --message m2 --in trip",
            "memory forget --id nothing block:user --dry-run",
            "memory forget --id nothing block:user --yes",
            "memory forget --from-session trip --project travel",
            "memory forget --from-session trip --yes",
            "memory forget --all --dry-run",
            "memory forget --all",
            "memory forget --all --yes",
            "memory stats",
            "verify",
        ])
    );
    scene.says("memory add", "Once more.");
    let proof = |would_go: Value, removed: u64, status: &str| {
        json!({"v": 1, "scope": {"user": "local"}, "would_go": would_go, "removed": removed,
            "remaining": 0, "status": status, "not_reached": ["the chats they came from",
            "backups and exports", "logs", "what running programs and model providers keep"]})
    };
    let mut planned = scene.records("memory forget --all --dry-run").remove(0);
    let memories = planned.as_object_mut().and_then(|record| record.remove("memories"));
    assert_eq!(memories.and_then(|ids| ids.as_array().map(Vec::len)), Some(1));
    assert_eq!(planned, proof(json!(1), 0, "would_go"));
    assert_eq!(scene.records("memory forget --all --yes"), [proof(Value::Null, 1, "removed")]);
}

/// A fact from two messages is two records, but one fact: forgetting it removes both.
#[test]
fn a_fact_is_forgotten_with_all_that_says_it() {
    let scene = Scene::new();
    let fact = |message: &str| {
        scene
            .records(&format!("memory add --fact Ada likes tea --in s --message {message}"))
            .remove(0)
    };
    let (first, second) = (fact("m1"), fact("m2"));
    assert_ne!(first["ids"], second["ids"]);
    let id = first["ids"][0].as_str().expect("an id");
    let forget = |option: &str| scene.records(&format!("memory forget --id {id} {option}"));
    assert_eq!(forget("--dry-run")[0]["would_go"], 2);
    assert_eq!(forget("--yes")[0]["removed"], 2);
}

#[test]
fn memories_go_with_their_user() {
    let scene = ada();
    let told = scene.show(&["erase local", "erase local --yes", "memory list"]);
    for part in [
        "confirmation: remove all of user local, 0 chats, 0 messages, 4 memories for good;",
        "removed: user local: 0 chats, 0 messages, 4 memories; still there: 0",
        "note: no memory is visible from user local; `context memory stats` lists the scopes",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn an_encrypted_store_keeps_no_memories() {
    let scene = Scene::over(|store| {
        let key = EncryptionKey::from_bytes("2026-01", &[7; 32]).expect("a key");
        Arc::new(EncryptedStore::new(store, KeyRing::new(key)))
    });
    assert_snapshot!(
        "memory_encrypted",
        scene.show(&[
            "memory recall x",
            "memory add x",
            "memory forget --all --yes",
            "memory stats"
        ])
    );
}
