//! Searching, with text and JSON output.

use std::sync::Arc;

use context_runtime::layers::{EncryptedStore, EncryptionKey, KeyRing};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::Scene;

fn library() -> Scene {
    let scene = Scene::with_chat(
        "trip",
        &json!([
            {"role": "user", "content": "Two tickets to Lisbon on Friday, please."},
            {"role": "assistant", "content": "To LISBON:\n\nwindow or aisle?"},
            {"role": "user", "content": "Window. What does it cost?"},
            {"role": "assistant", "content": "\u{1b}[2JThe café in Lisbon costs nothing."}
        ]),
    );
    let long = format!("{} Lisbon {}", "before ".repeat(60), "after ".repeat(60));
    scene.import("notes", &json!([{"role": "system", "content": long}]));
    let _moved = scene.records("rewind trip m1");
    scene
}

#[test]
fn what_a_person_sees() {
    let scene = library();
    assert_snapshot!(
        "search",
        scene.show(&[
            "search lisbon",
            "search LISBON windów",
            "search cafe --chat trip",
            "search lisbon --chat trip --branch main-v2",
            "search lisbon --role assistant --role system",
            "search wind --prefix",
            "search wind",
            "search ?!",
            "search lisbon --chat nothing",
            "search lisbon --chat trip --branch nothing",
            "search lisbon --limit 5000",
            "--user eve search lisbon",
        ])
    );
}

#[test]
fn pages_follow_each_other() {
    let scene = library();
    let all = scene.records("search lisbon");
    assert_eq!(all.len(), 5);
    let hit =
        all.iter().find(|hit| hit["chat"] == "trip" && hit["message"] == "m1").expect("a hit");
    assert_eq!(
        hit["snippet"],
        json!({"text": "Two tickets to Lisbon on Friday, please.",
            "marks": [{"start": 15, "end": 21}],
            "cut_before": false, "cut_after": false})
    );
    assert_eq!((&hit["v"], &hit["type"], &hit["role"]), (&json!(1), &json!("hit"), &json!("user")));
    assert_eq!(all[4], json!({"type": "page", "v": 1, "next": null}));
    let (mut paged, mut after) = (Vec::new(), String::new());
    loop {
        let mut page = scene.records(&format!("search lisbon -n 1{after}"));
        let end = page.pop().expect("the end of the page");
        paged.extend(page);
        match &end["next"] {
            Value::String(next) => after = format!(" --after {next}"),
            _ => break,
        }
    }
    assert_eq!(paged, all[..4]);
    let shown = scene.show(&["search lisbon -n 3"]);
    assert!(shown.contains("note: there are more; repeat with --after "), "{shown}");
}

#[test]
fn an_encrypted_store_is_not_searched() {
    let scene = Scene::over(|store| {
        let key = EncryptionKey::from_bytes("2026-01", &[7; 32]).expect("a key");
        Arc::new(EncryptedStore::new(store, KeyRing::new(key)))
    });
    scene.import("trip", &json!([{"role": "user", "content": "Two tickets to Lisbon."}]));
    assert_snapshot!("search_encrypted", scene.show(&["search lisbon", "log trip", "verify"]));
}
