//! Answers in flight: listed, written out, dropped.

use context_runtime::{ChatRef, StreamAppend, StreamClaim, StreamEnd, StreamId, Timestamp};
use insta::assert_snapshot;
use serde_json::json;

use super::{DAY, START, Scene};

impl Scene {
    /// A stream of these chunks that began so many days after the scene.
    fn stream(&self, chat: &str, id: &str, days: i64, chunks: &[&'static [u8]], end: Option<StreamEnd>) {
        let (chat, id) = (ChatRef::new("local", chat), StreamId::from(id));
        let at = Timestamp::from_micros(START + days * DAY);
        let streams = self.store.streams().expect("a store in memory keeps streams");
        self.runtime.block_on(async {
            let _created = streams.create_stream(&chat, &id, at).await.expect("the chat is there");
            let _won =
                streams.claim_stream(&chat, &id, &StreamClaim::new("w", at)).await.expect("it is there");
            let mut append = StreamAppend::new("w", 0, chunks.iter().copied(), at);
            append.end = end;
            let _appended = streams.append_stream(&chat, &id, append).await.expect("it is claimed");
        });
    }
}

/// A chat with answers in all states but that of one that waits.
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

#[test]
fn streams_are_listed_shown_and_dropped() {
    let scene = answers();
    assert_snapshot!(
        "streams",
        scene.show(&[
            "streams list support",
            "streams list later",
            "streams show support answer-1",
            "streams show support answer-1 --offset 1 --follow",
            "streams show support answer-2",
            "streams show support answer-2 --follow",
            "streams show later running",
            "streams prune --older-than 8d --dry-run",
            "streams prune --older-than 8d --abandoned 4w --dry-run",
            "streams prune --chat support",
            "streams prune --abandoned 4w",
            "streams list support",
            "streams list later",
            "verify",
        ])
    );
}

#[test]
fn streams_that_are_not_there_are_said() {
    let scene = answers();
    assert_snapshot!(
        "streams_absent",
        scene.show(&[
            "streams list nobody",
            "streams show nobody answer-1",
            "streams show support nothing",
            "streams prune --chat nobody",
        ])
    );
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
    let pruned = |status| json!({"v": 1, "streams": 1, "chunks": 3, "bytes": 17, "status": status});
    assert_eq!(scene.records("streams prune --older-than 20d --dry-run"), [pruned("would_go")]);
    assert_eq!(scene.records("streams prune --older-than 20d"), [pruned("removed")]);
}
