//! Streams in the file: what the check finds after other programs wrote to the file, and cascading
//! deletion.

use context_core::store::{StreamAppend, StreamClaim, StreamEnd, StreamOutcome, StreamPrune};
use context_core::{ChatRef, ErrorKind, Store, Timestamp};

use crate::store_fixture::{StoreFixture, T, is_found};

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

async fn wrote(
    fixture: &StoreFixture,
    chat: &ChatRef,
    id: &str,
    chunks: Vec<Vec<u8>>,
    end: Option<StreamEnd>,
) {
    let (streams, id) = (fixture.store.streams().unwrap(), id.into());
    let created = streams.create_stream(chat, &id, T).await.unwrap();
    let claimed = streams.claim_stream(chat, &id, &StreamClaim::new("w", T)).await.unwrap();
    let mut append = StreamAppend::new("w", 0, chunks, T);
    append.end = end;
    let appended = streams.append_stream(chat, &id, append).await.unwrap();
    for outcome in [created, claimed, appended] {
        assert!(matches!(outcome, StreamOutcome::Applied(_)), "{outcome:?}");
    }
}

/// A running stream of four chunks, and an ended stream of two.
async fn kept() -> (StoreFixture, ChatRef) {
    let fixture = StoreFixture::new().await;
    let chat = fixture.create("ada", "chat").await;
    let chunks: Vec<_> = [&b"one"[..], b"", b"three", b"four"].map(<[u8]>::to_vec).into();
    wrote(&fixture, &chat, "runs", chunks.clone(), None).await;
    wrote(&fixture, &chat, "ended", chunks[..2].to_vec(), Some(StreamEnd::Failed("boom".into())))
        .await;
    assert_eq!(fixture.problems().await, Vec::<String>::new());
    (fixture, chat)
}

async fn do_to_the_file(fixture: &StoreFixture, statement: &'static str) {
    let mut file = fixture.file().await;
    for part in ["PRAGMA foreign_keys = OFF", statement] {
        sqlx::query(part).execute(&mut file).await.unwrap();
    }
}

#[tokio::test]
async fn chunks_go_with_their_stream_their_run_and_their_chat() {
    let (fixture, chat) = kept().await;
    let streams = fixture.store.streams().unwrap();
    let chunks = "SELECT count(*) FROM stream_chunk";
    assert_eq!(fixture.number(chunks).await, 6);
    let outcome = streams.reopen_stream(&chat, &"ended".into(), 0, T).await.unwrap();
    assert!(matches!(outcome, StreamOutcome::Applied(_)), "{outcome:?}");
    assert_eq!(fixture.number(chunks).await, 4);
    assert!(streams.remove_stream(&chat, &"ended".into()).await.unwrap());
    assert_eq!(fixture.number("SELECT count(*) FROM stream").await, 1);
    assert!(fixture.history().delete_chat(&chat, None).await.unwrap());
    assert_eq!(
        (fixture.number(chunks).await, fixture.number("SELECT count(*) FROM stream").await),
        (0, 0)
    );
    let pruned = streams.prune_streams(&StreamPrune::new("ada", at(i64::MAX))).await.unwrap();
    assert_eq!(pruned.streams, 0);
}

#[tokio::test]
async fn the_check_finds_what_is_wrong_with_streams() {
    for (statement, expected) in [
        (
            "DELETE FROM stream_chunk WHERE pos & 0xffffff = 3",
            "states 4 chunks of 12 bytes, but has 3 of 8",
        ),
        (
            "UPDATE stream_chunk SET data = x'00' WHERE pos & 0xffffff = 2",
            "states 4 chunks of 12 bytes, but has 4 of 8",
        ),
        ("DELETE FROM stream_chunk WHERE pos & 0xffffff = 1", "there is a gap between its chunks"),
        ("INSERT INTO stream_chunk (pos, data) VALUES (77 << 24, x'00')", "belongs to no stream"),
        (
            "UPDATE stream SET state = 'running' WHERE finished_at > 0",
            "is running, but has the time of its end",
        ),
        ("UPDATE stream SET state = 'lost'", "the state of a stream is not known"),
        ("UPDATE stream SET run = -1", "the run of a stream is out of range"),
        ("UPDATE stream SET chat = 77", "a row refers to a row that is missing"),
    ] {
        let (fixture, _) = kept().await;
        do_to_the_file(&fixture, statement).await;
        let problems = fixture.problems().await;
        assert!(
            problems.iter().any(|problem| is_found(problem, expected)),
            "{statement}: {problems:?}"
        );
    }
}

#[tokio::test]
async fn damaged_streams_are_an_error_and_never_have_a_gap() {
    let (fixture, chat) = kept().await;
    let (streams, id) = (fixture.store.streams().unwrap(), "runs".into());
    do_to_the_file(&fixture, "DELETE FROM stream_chunk WHERE pos & 0xffffff = 1").await;
    for (offset, limit) in [(0, 10), (1, 1)] {
        let error = streams.read_stream(&chat, &id, offset, limit).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }
    let again = StreamAppend::new("w", 0, ["one", "", "three", "four"], T);
    assert_eq!(
        streams.append_stream(&chat, &id, again).await.unwrap_err().kind(),
        ErrorKind::Corrupt
    );
    // The chunks after the damage are still readable.
    let part = streams.read_stream(&chat, &id, 2, 10).await.unwrap().unwrap();
    assert_eq!(part.chunks, ["three", "four"]);
    do_to_the_file(&fixture, "UPDATE stream SET chunks = 0x7fffffffffffffff").await;
    let error = streams.read_stream(&chat, &id, 1 << 40, 10).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
}

#[tokio::test]
async fn erased_chunks_leave_no_trace() {
    let (fixture, chat) = kept().await;
    let secret = b"hunter2-".repeat(10_000);
    wrote(
        &fixture,
        &chat,
        "secret",
        vec![secret.clone(), secret],
        Some(StreamEnd::Failed("hunter2-".into())),
    )
    .await;
    let never = context_core::CancelSignal::never();
    let erased = fixture.maintenance().erase_user(&"ada".into(), &never).await.unwrap();
    assert_eq!((erased.chats, erased.streams, erased.remaining), (1, 3, 0));
    for name in ["s.db", "s.db-wal"] {
        let bytes = std::fs::read(fixture.folder.path().join(name)).unwrap_or_default();
        assert!(!bytes.windows(8).any(|part| part == b"hunter2-"), "{name}");
    }
}
