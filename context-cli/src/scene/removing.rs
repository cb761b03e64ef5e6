//! Removal of chats and messages: what goes, what goes along, and what says the same elsewhere.

use context_runtime::{
    ChatRef, Timestamp,
    store::{NewBlob, StreamEnd},
};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{START, Scene};

/// A chat with everything that may come from one, and a copy of it.
fn trip() -> Scene {
    let scene = Scene::new();
    let words = "Two tickets to Lisbon on the night train of Friday, please.";
    scene.import(
        "trip",
        &json!([
            {"role": "user", "content": words},
            {"role": "assistant", "content": "Window or aisle?"},
            {"role": "user", "content": "Window."},
        ]),
    );
    for line in [
        "checkpoint trip asked --at m2",
        "trajectory record trip",
        "memory add --chat trip",
        "copy trip again",
        "rewind trip m2",
    ] {
        let _done = scene.records(line);
    }
    scene.stream("trip", "m1", 0, &[words.as_bytes()], Some(StreamEnd::Completed));
    let blobs = scene.store.blobs().expect("a store in memory keeps blobs");
    let blob = NewBlob::new(words, Timestamp::from_micros(START));
    let put = scene.runtime.block_on(blobs.put_blob(&ChatRef::new("local", "trip"), blob));
    assert!(put.is_ok(), "{put:?}");
    scene
}

#[test]
fn a_dry_run_says_what_a_deletion_then_does() {
    let scene = trip();
    assert_snapshot!(
        "delete",
        scene.show(&[
            "delete trip --dry-run",
            "delete trip",
            "delete trip nothing --yes",
            "delete trip again --dry-run",
            "chats",
            "delete trip --yes",
            "delete trip --yes",
            "delete again --yes",
            "verify",
        ])
    );
}

#[test]
fn a_dry_run_says_what_a_redaction_then_does() {
    let scene = trip();
    assert_snapshot!(
        "redact_derived",
        scene.show(&[
            "redact trip m1 --dry-run",
            "redact trip m1",
            "redact trip m1 --yes",
            "redact trip m1 --dry-run",
            "redact again m1 --delete --yes",
            "verify",
        ])
    );
}

/// The record of a plan has the counts of the removal.
#[test]
fn records_of_a_plan_and_of_the_removal_have_one_shape() {
    let scene = trip();
    let mut plan = scene.records("delete trip --dry-run").remove(0);
    let mut done = scene.records("delete trip --yes").remove(0);
    assert_eq!((&plan["status"], &plan["deleted"]), (&json!("would_go"), &json!(false)));
    assert_eq!((&done["status"], &done["deleted"]), (&json!("removed"), &json!(true)));
    let keys = |record: &Value| {
        record.as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>())
    };
    assert_eq!(keys(&plan), keys(&done));
    let items = plan["removed"]["items"].take();
    let kinds: Vec<_> =
        items.as_array().into_iter().flatten().map(|item| item["kind"].clone()).collect();
    for kind in ["chat", "blob", "stream", "round", "memory"] {
        assert!(kinds.contains(&json!(kind)), "{kind}: {items}");
    }
    assert_eq!(done["removed"]["items"].take(), json!([]));
    assert_eq!(plan["removed"], done["removed"]);
    assert!(done["not_reached"].as_array().is_some_and(|all| !all.is_empty()));

    let plan = scene.records("redact again m1 --dry-run");
    assert_eq!(plan[0], json!({"v": 1, "chat": "again", "message": "m1", "status": "would_go"}));
    assert_eq!(
        (&plan[1]["status"], &plan[1]["removed"]["messages"]),
        (&json!("would_go"), &json!(1))
    );
}
