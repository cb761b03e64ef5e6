//! Answer streams: listed, shown, dropped.

use context_runtime::{
    ChatRef, StreamId, Timestamp,
    store::{StreamAppend, StreamClaim, StreamEnd},
};
use serde_json::json;

use super::{DAY, START, Scene};

impl Scene {
    /// Creates a stream of these chunks, some days after the start of the scene.
    pub(super) fn stream(
        &self,
        chat: &str,
        id: &str,
        days: i64,
        chunks: &[&'static [u8]],
        end: Option<StreamEnd>,
    ) {
        let (chat, id) = (ChatRef::new("local", chat), StreamId::from(id));
        let at = Timestamp::from_micros(START + days * DAY);
        let streams = self.store.streams().expect("a store in memory keeps streams");
        self.runtime.block_on(async {
            let _created = streams.create_stream(&chat, &id, at).await.expect("the chat is there");
            let _won = streams
                .claim_stream(&chat, &id, &StreamClaim::new("w", at))
                .await
                .expect("it is there");
            let mut append = StreamAppend::new("w", 0, chunks.iter().copied(), at);
            append.end = end;
            let _appended = streams.append_stream(&chat, &id, append).await.expect("it is claimed");
        });
    }
}

/// A chat with answer streams in all states except queued.
fn answers() -> Scene {
    let scene = Scene::new();
    for chat in ["support", "later"] {
        scene.import(chat, &json!([{"role": "user", "content": chat}]));
    }
    let chunks: &[&[u8]] = &[b"Window ", b"or ", b"aisle?\n"];
    scene.stream("support", "answer-1", 0, chunks, Some(StreamEnd::Completed));
    let error = StreamEnd::Failed("overloaded\n\u{1b}[31mtry later".into());
    scene.stream("support", "answer-2", 20, &[b"half\n"], Some(error));
    scene.stream("support", "answer-3", 25, &[&[0, 159]], Some(StreamEnd::Cancelled));
    scene.stream("later", "running", 1, &[b"and then"], None);
    scene.pass(30 * DAY);
    scene
}

/// Checks that the output of a command line contains all words.
#[track_caller]
fn says(scene: &Scene, line: &str, words: &[&str]) {
    let shown = scene.show(&[line]);
    for words in words {
        assert!(shown.contains(words), "{words:?} in {shown}");
    }
}

#[test]
fn streams_are_listed_shown_and_dropped() {
    let scene = answers();
    says(
        &scene,
        "streams list support",
        &["answer-1  completed       3", "answer-2  failed          1", "cancelled"],
    );
    assert_eq!(
        scene.show(&["streams list support"]).lines().count(),
        6,
        "a line break in an error makes no line"
    );
    says(&scene, "streams list later", &["running  running       1"]);
    says(&scene, "streams show support answer-1", &["Window or aisle?"]);
    assert!(!scene.show(&["streams show support answer-1 --offset 1 --follow"]).contains("Window"));
    for line in ["streams show support answer-2", "streams show support answer-2 --follow"] {
        says(&scene, line, &["half", "stream answer-2 failed: overloaded", "exit status 1"]);
    }
    says(&scene, "streams show later running", &["and then"]);
    says(
        &scene,
        "streams prune --older-than 8d --dry-run",
        &["would go: 2 streams, 4 chunks", "nothing was changed"],
    );
    let abandoned = "streams prune --older-than 8d --abandoned 4w";
    says(&scene, &format!("{abandoned} --dry-run"), &["would go: 3 streams, 5 chunks"]);
    says(&scene, "streams prune --chat later", &["removed: 0 streams"]);
    says(&scene, abandoned, &["needs a confirmation: remove 3 streams, 5 chunks", "--yes"]);
    says(&scene, &format!("{abandoned} --yes"), &["removed: 3 streams, 5 chunks"]);
    says(&scene, "streams list later", &["chat later has no streams"]);
    says(&scene, "verify", &["sound"]);
}

#[test]
fn streams_that_are_not_there_are_said() {
    let scene = answers();
    for line in
        ["streams list nobody", "streams show nobody answer-1", "streams prune --chat nobody"]
    {
        says(&scene, line, &["no such chat", "chat nobody"]);
    }
    says(&scene, "streams show support nothing", &["no such stream", "stream nothing"]);
}

#[test]
fn streams_have_records() {
    let scene = answers();
    let records = scene.records("streams list later");
    let at = "2026-01-02T00:00:00Z";
    assert_eq!(
        records,
        [
            json!({"v": 1, "chat": "later", "stream": "running", "state": "running", "run": 0, "chunks": 1, "bytes": 8,
            "error": null, "created_at": at, "cancel_requested_at": null, "finished_at": null, "updated_at": at})
        ]
    );
    assert_eq!(
        scene.records("streams show support answer-1 --offset 2"),
        [
            json!({"v": 1, "chat": "support", "stream": "answer-1", "offset": 2, "text": "aisle?\n", "base64": null})
        ]
    );
    let binary = &scene.records("streams show support answer-3")[0];
    assert_eq!((&binary["text"], &binary["base64"]), (&json!(null), &json!("AJ8=")));
    let stays = [
        "answers that were stored as messages",
        "backups and exports",
        "logs",
        "what running programs and model providers keep",
    ];
    let pruned = |status| {
        json!({"v": 1, "streams": 1, "chunks": 3, "bytes": 17, "status": status,
        "not_reached": stays})
    };
    let mut planned = scene.records("streams prune --older-than 20d --dry-run").remove(0);
    let items = planned.as_object_mut().and_then(|record| record.remove("items"));
    assert_eq!(items, Some(json!([{"chat": "support", "stream": "answer-1", "bytes": 17}])));
    assert_eq!(planned, pruned("would_go"));
    assert_eq!(scene.records("streams prune --older-than 20d --yes"), [pruned("removed")]);
}
