//! Comparing, renaming and deleting branches; copying and redacting messages; copying chats.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::Scene;

/// A chat of six messages, including a call and its result, with a second branch from the second
/// message.
fn trip() -> Scene {
    let call = json!([{"id": "c1", "type": "function",
        "function": {"name": "book", "arguments": "{\"to\": \"Lisbon\", \"card\": \"4242\"}"}}]);
    let scene = Scene::with_chat(
        "trip",
        &json!([
            {"role": "user", "content": "Two tickets to Lisbon on Friday, please."},
            {"role": "assistant", "content": "Window or aisle?"},
            {"role": "user", "content": "Window. My card is 4242."},
            {"role": "assistant", "content": null, "tool_calls": call},
            {"role": "tool", "tool_call_id": "c1", "content": "booked with card 4242"},
            {"role": "assistant", "content": "Done."}
        ]),
    );
    let _moved = scene.records("rewind trip m2");
    let _copied = scene.records("cherry-pick trip m6 --onto main-v2");
    scene
}

#[test]
fn branches_are_compared_renamed_and_deleted() {
    let scene = trip();
    assert_snapshot!(
        "branches",
        scene.show(&[
            "diff trip main main-v2",
            "diff trip main main",
            "branches trip --rename main-v2 cheaper",
            "branches trip --rename cheaper main",
            "branches trip --rename nothing other",
            "branches trip --delete cheaper",
            "branches trip --switch main",
            "branches trip --delete nothing",
            "branches trip --delete cheaper --dry-run",
            "branches trip --delete cheaper",
            "branches trip --delete cheaper --yes",
            "branches trip",
            "branches trip --log",
            "diff trip main cheaper",
            "verify",
        ])
    );
}

#[test]
fn branches_have_records() {
    let scene = trip();
    let diff = &scene.records("diff trip main main-v2")[0];
    assert_eq!((&diff["v"], &diff["common"], &diff["at"]), (&json!(1), &json!(2), &json!("m2")));
    let ids = |side: &str| {
        let messages = diff[side]["messages"].as_array().expect("a list");
        messages.iter().map(|message| message["id"].as_str().expect("an id")).collect::<Vec<_>>()
    };
    assert_eq!((ids("left"), ids("right").len()), (vec!["m3", "m4", "m5", "m6"], 1));
    let message = json!({"id": "m3", "role": "user", "preview": "Window. My card is 4242.",
        "created_at": "2026-01-01T00:00:00Z"});
    assert_eq!(diff["left"]["messages"][0], message);
    assert_eq!(
        scene.records("branches trip --rename main far"),
        [json!({"v": 1, "chat": "trip", "from": "main", "branch": "far"})]
    );
    assert_eq!(scene.records("branches trip --delete far --yes")[0]["messages"], 4);
}

#[test]
fn the_log_tells_what_became_of_branches_and_checkpoints() {
    let scene = trip();
    assert_snapshot!(
        "branches_log",
        scene.show(&[
            "checkpoint trip asked --at m2",
            "checkpoint trip asked --at m4",
            "checkpoint trip asked --delete --dry-run",
            "checkpoint trip asked --delete",
            "branches trip --switch main",
            "fork trip --at m4 --name ada's",
            "branches trip --delete ada's",
            "branches trip --rename main-v2 short",
            "branches trip --delete short --yes",
            "redact trip m3 --yes",
            "branches trip --log",
            "fork trip --at m4 --name ada's",
            "checkpoint trip asked --at m4",
            "branches nothing --log",
        ])
    );
    let records = scene.records("branches trip --log");
    assert_eq!(
        records[0],
        json!({"v": 1, "number": 1, "at": "2026-01-01T00:00:00Z", "change": "branch_created",
            "branch": "main-v2", "from": "m2"})
    );
    let deleted = records.iter().find(|record| record["change"] == "branch_deleted");
    let deleted = deleted.expect("a deleted branch");
    let expected = (&json!("ada's"), &json!("m4"), &json!(0));
    assert_eq!((&deleted["branch"], &deleted["head"], &deleted["messages"]), expected);
    assert_eq!(scene.show(&["branches trip --log"]).matches("back again").count(), 0);
}

#[test]
fn messages_are_copied_to_other_branches() {
    let scene = trip();
    assert_snapshot!(
        "cherry_pick",
        scene.show(&[
            "cherry-pick trip m4 m5 --onto main-v2",
            "cherry-pick trip m4 --onto main-v2",
            "cherry-pick trip m9 --onto main-v2",
            "cherry-pick trip m3 --onto nothing",
            "log trip",
            "verify",
        ])
    );
    let record = &scene.records("cherry-pick trip m5 --onto main")[0];
    assert_eq!(record["branch"], "main");
    assert_eq!(
        (&record["copies"][0]["message"], &record["copies"][0]["copy"]),
        (&json!("m5"), &record["head"])
    );
    assert_eq!(record["diagnostics"][0]["code"], "unpaired");
}

#[test]
fn redacted_content_is_gone_and_its_place_stays() {
    let scene = trip();
    assert_snapshot!(
        "redact",
        scene.show(&[
            "redact trip m3 m9",
            "redact trip m --yes",
            "redact trip m3 m4 m5 --dry-run",
            "redact trip m3 m4 m5",
            "redact trip m3 m4 m5 --yes",
            "redact trip m6 --delete --yes",
            "redact trip m1 --yes",
            "chats",
            "log trip --branch main",
            "show trip m4",
            "verify",
        ])
    );
    let everything =
        scene.show(&["export trip --branch main --to openai", "prompt trip --branch main"]);
    assert!(
        !everything.contains("4242") && everything.contains("Window or aisle?"),
        "{everything}"
    );
    assert!(!everything.contains("Lisbon"), "{everything}");
    let records = scene.records("redact trip m1 m2 --yes");
    assert_eq!(records[1], json!({"v": 1, "chat": "trip", "message": "m2", "status": "redacted"}));
    assert_eq!(
        (&records[2]["removed"]["messages"], &records[2]["removed"]["found"]),
        (&json!(2), &json!(0))
    );
}

#[test]
fn a_chat_is_copied_with_its_branches() {
    let scene = trip();
    let _set = scene.records("checkpoint trip asked --at m2");
    assert_snapshot!(
        "copy",
        scene.show(&[
            "copy trip again",
            "copy trip again",
            "copy nothing other",
            "copy trip trip --to nowhere:",
            "branches again",
            "branches again --log",
            "verify"
        ])
    );
    let graph = |chat: &str| scene.records(&format!("graph {chat}"));
    assert_eq!(graph("trip"), graph("again"));
    assert_eq!(
        scene.records("copy trip third"),
        [
            json!({"v": 1, "from": "trip", "chat": "third", "messages": 7, "branches": 2, "diagnostics": []})
        ]
    );
    let chats: Vec<Value> = scene.records("chats");
    assert_eq!(chats.len(), 3);
}
