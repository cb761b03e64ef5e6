//! What goes: old chats and branches, whole users; and what a store in memory cannot do.

use insta::assert_snapshot;
use serde_json::json;

use super::{DAY, Scene};

/// Three chats, each written a day after the one before; the newest has an old branch.
fn years() -> Scene {
    let scene = Scene::new();
    for chat in ["oldest", "older", "newest"] {
        scene
            .import(chat, &json!([{"role": "user", "content": chat}, {"role": "assistant", "content": "x"}]));
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
    assert_eq!(scene.records("retain --keep 2 --dry-run"), [record("would_go")]);
    assert_eq!(scene.records("retain --keep 2"), [record("removed")]);
    assert!(scene.records("retain --keep 2").is_empty());
}

#[test]
fn an_erased_user_is_proved_gone() {
    let scene = years();
    assert_snapshot!(
        "erase",
        scene.show(&["erase local", "chats", "erase eve --yes", "erase local --yes", "chats", "verify"])
    );
    scene.import("again", &json!([{"role": "user", "content": "x"}]));
    assert_eq!(
        scene.records("erase local --yes"),
        [json!({"v": 1, "user": "local", "chats": 1, "messages": 1, "blobs": 0, "remaining": 0})]
    );
}

#[test]
fn a_store_in_memory_has_no_files() {
    let scene = years();
    assert_snapshot!("memory", scene.show(&["vacuum", "backup never.db"]));
}
