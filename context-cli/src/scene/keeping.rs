//! Removal of old chats and branches and of whole users, and limits of an in-memory store.

use context_runtime::{
    ChatRef, Timestamp,
    store::{NewBlob, StreamEnd},
};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{DAY, START, Scene};

impl Scene {
    /// Stores a blob some days after the start of the scene.
    fn blob(&self, chat: &str, text: &'static str, days: i64) {
        let blobs = self.store.blobs().expect("a store in memory keeps blobs");
        let blob = NewBlob::new(text, Timestamp::from_micros(START + days * DAY));
        let put = self.runtime.block_on(blobs.put_blob(&ChatRef::new("local", chat), blob));
        assert!(put.is_ok(), "{put:?}");
    }
}

/// Takes fields away from records, for tests of the others.
fn without(records: &mut [Value], fields: &[&str]) {
    for record in records.iter_mut().filter_map(Value::as_object_mut) {
        record.retain(|key, _| !fields.contains(&key.as_str()));
    }
}

/// Three chats, written one day apart. The newest has an old branch.
fn years() -> Scene {
    let scene = Scene::new();
    for chat in ["oldest", "older", "newest"] {
        scene.import(
            chat,
            &json!([{"role": "user", "content": chat}, {"role": "assistant", "content": "x"}]),
        );
        scene.pass(DAY);
    }
    let _moved = scene.records("rewind newest m1");
    scene.pass(3 * DAY);
    scene
}

#[test]
fn retention_says_what_would_go_and_why() {
    let scene = years();
    assert_snapshot!(
        "retain",
        scene.show(&[
            "retain --older-than 5d --dry-run",
            "retain --keep 2 --dry-run",
            "retain --max-bytes 1B --dry-run",
            "retain --older-than 90d --branches-older-than 2d --dry-run",
            "chats",
            "retain --older-than 5d --branches-older-than 2d",
            "retain --older-than 5d --branches-older-than 2d --yes",
            "retain --older-than 5d",
            "chats",
            "verify",
        ])
    );
}

#[test]
fn retention_has_records() {
    let scene = years();
    let record = |status: &str| {
        json!({"v": 1, "chat": "oldest", "branch": null, "last_used": "2026-01-01T00:00:00Z",
            "reason": "count", "status": status})
    };
    let ran = |line: &str| {
        let mut records = scene.records(line);
        let counts = |key: &str| records[0]["removed"][key].clone();
        assert_eq!((counts("chats"), counts("messages")), (json!(1), json!(2)), "{line}");
        let searched = line.contains("--dry-run");
        let of_status = records.iter().all(|it| it["removed"]["searched"] == json!(searched));
        assert!(of_status, "{line}");
        assert!(records[0]["not_reached"].as_array().is_some_and(|others| others.len() > 2));
        without(&mut records, &["removed", "not_reached"]);
        records
    };
    assert_eq!(ran("retain --keep 2 --dry-run"), [record("would_go")]);
    assert_eq!(ran("retain --keep 2 --yes"), [record("removed")]);
    assert!(scene.records("retain --keep 2").is_empty());
}

#[test]
fn old_blobs_and_streams_go_and_their_chats_stay() {
    let scene = Scene::new();
    scene.import("support", &json!([{"role": "user", "content": "support"}]));
    scene.stream("support", "ended", 0, &[b"an answer"], Some(StreamEnd::Completed));
    scene.stream("support", "abandoned", 1, &[b"half of"], None);
    scene.stream("support", "running", 29, &[b"and then"], None);
    for (text, day) in [("old", 0), ("younger", 29)] {
        scene.blob("support", text, day);
    }
    scene.pass(30 * DAY);
    assert_snapshot!(
        "retain_blobs_and_streams",
        scene.show(&[
            "verify",
            "retain --blobs-older-than 40d --streams-older-than 40d",
            "retain --blobs-older-than 10d --dry-run",
            "retain --streams-older-than 10d --dry-run",
            "retain --blobs-older-than 10d --streams-older-than 10d",
            "retain --blobs-older-than 10d --streams-older-than 10d --yes",
            "retain --blobs-older-than 10d --streams-older-than 10d",
            "streams list support",
            "verify",
        ])
    );
    let record = |what: &str, status: &str| {
        json!({"v": 1, "chat": "support", "branch": null, what: 1, "last_used": "2026-01-30T00:00:00Z",
            "reason": "idle", "status": status})
    };
    let line = "retain --blobs-older-than 12h --streams-older-than 12h";
    for (option, status) in [("--dry-run", "would_go"), ("--yes", "removed")] {
        let mut records = scene.records(&format!("{line} {option}"));
        let named = |record: &Value| record["removed"]["items"].as_array().map(Vec::len);
        let number = Some(usize::from(status == "would_go"));
        assert_eq!([named(&records[0]), named(&records[1])], [number, number]);
        without(&mut records, &["removed", "not_reached"]);
        assert_eq!(records, [record("blobs", status), record("streams", status)]);
    }
    assert_eq!(
        scene.records("verify"),
        [
            json!({"v": 1, "chats": 1, "messages": 1, "blobs": 0, "streams": 0, "rounds": 0, "memories": 0, "findings": []})
        ]
    );
}

#[test]
fn an_erased_user_is_proved_gone() {
    let scene = years();
    assert_snapshot!(
        "erase",
        scene.show(&[
            "erase local --dry-run",
            "erase local",
            "chats",
            "erase eve --yes",
            "erase local --yes",
            "chats",
            "verify"
        ])
    );
    scene.import("again", &json!([{"role": "user", "content": "x"}]));
    scene.stream("again", "answer", 0, &[b"x"], None);
    scene.blob("again", "spilled", 0);
    for (option, status) in [("--dry-run", "would_go"), ("--yes", "removed")] {
        let mut records = scene.records(&format!("erase local {option}"));
        let kinds = records[0]["items"].as_array().into_iter().flatten().map(|it| &it["kind"]);
        let kinds: Vec<_> = kinds.filter_map(Value::as_str).collect();
        let expected = if option == "--yes" { vec![] } else { vec!["chat", "blob", "stream"] };
        assert_eq!(kinds, expected);
        assert_eq!(records[0].get("copies").is_some(), option == "--dry-run");
        without(&mut records, &["not_reached", "items", "copies"]);
        let proof = json!({"v": 1, "user": "local", "chats": 1, "messages": 1, "blobs": 1,
            "streams": 1, "rounds": 0, "memories": 0, "remaining": 0, "status": status});
        assert_eq!(records, [proof]);
    }
    scene.import("again", &json!([{"role": "user", "content": "x"}]));
    scene.stream("again", "answer", 0, &[b"x"], None);
    let told = scene.show(&["erase local --yes"]);
    let total = "\nremoved: user local: 1 chat, 1 message, 1 stream; still there: 0\n";
    assert!(told.contains(total), "{told}");
}

#[test]
fn a_store_in_memory_has_no_files() {
    let scene = years();
    assert_snapshot!("memory", scene.show(&["vacuum", "vacuum --dry-run", "backup never.db"]));
}
