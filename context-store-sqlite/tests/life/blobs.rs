//! Blobs in the file: what the check finds after other programs wrote to the file, and reads of
//! ranges.

use context_core::base::BlobId;
use context_core::store::NewBlob;
use context_core::{ChatRef, ErrorKind, Store, Timestamp};

use crate::store_fixture::{StoreFixture, T, is_found};

const LARGE: usize = 700_000;

/// A user with two chats that share a large blob, and with a small blob.
async fn kept() -> (StoreFixture, ChatRef, BlobId) {
    let fixture = StoreFixture::new().await;
    let (chat, other) = (fixture.create("ada", "chat").await, fixture.create("ada", "other").await);
    let large: Vec<_> = (0..LARGE).map(|i| (i / 997) as u8).collect();
    let blobs = fixture.store.blobs().unwrap();
    let id = blobs.put_blob(&chat, NewBlob::new(large.clone(), T)).await.unwrap().id;
    blobs.put_blob(&other, NewBlob::new(large, T)).await.unwrap();
    blobs.put_blob(&other, NewBlob::new("small", T)).await.unwrap();
    assert_eq!(fixture.problems().await, Vec::<String>::new());
    (fixture, chat, id)
}

async fn do_to_the_file(fixture: &StoreFixture, statement: &'static str) {
    let mut file = fixture.file().await;
    for part in ["PRAGMA foreign_keys = OFF", statement] {
        sqlx::query(part).execute(&mut file).await.unwrap();
    }
}

#[tokio::test]
async fn bytes_are_there_once_and_go_with_their_last_reference() {
    let (fixture, chat, id) = kept().await;
    assert_eq!(fixture.number("SELECT sum(length(data)) FROM blob_piece").await, LARGE as i64 + 5);
    assert!(fixture.history().delete_chat(&chat, None).await.unwrap());
    assert_eq!(fixture.number("SELECT count(*) FROM blob").await, 2);
    fixture.store.blobs().unwrap().remove_blob(&ChatRef::new("ada", "other"), &id).await.unwrap();
    assert_eq!(fixture.number("SELECT sum(length(data)) FROM blob_piece").await, 5);
    assert_eq!(fixture.problems().await, Vec::<String>::new());
}

#[tokio::test]
async fn the_check_finds_what_is_wrong_with_blobs() {
    for (statement, expected) in [
        (
            "UPDATE blob_piece SET data = zeroblob(length(data)) WHERE pos & 0xffff = 1",
            "its bytes differ from its id",
        ),
        ("DELETE FROM blob_piece WHERE pos & 0xffff = 1", "the bytes of a blob differ from its id"),
        ("DELETE FROM blob_piece WHERE pos & 0xffff = 2", "the bytes of a blob differ from its id"),
        (
            "INSERT INTO blob_piece (pos, data) VALUES (1 << 16 | 9, x'00')",
            "has more bytes than its row states",
        ),
        ("UPDATE blob SET size = size + 1 WHERE no = 1", "the bytes of a blob differ from its id"),
        ("INSERT INTO blob_piece (pos, data) VALUES (77 << 16, x'00')", "belongs to no blob"),
        (
            "INSERT INTO blob (user, hash, size) VALUES ('ada', zeroblob(32), 0)",
            "belongs to no chat",
        ),
        ("UPDATE blob SET user = 'eve' WHERE no = 1", "the chat refers to another blob by this id"),
        ("DELETE FROM blob WHERE no = 2", "a row refers to a row that is missing"),
    ] {
        let (fixture, ..) = kept().await;
        do_to_the_file(&fixture, statement).await;
        let problems = fixture.problems().await;
        assert!(
            problems.iter().any(|problem| is_found(problem, expected)),
            "{statement}: {problems:?}"
        );
    }
}

#[tokio::test]
async fn damaged_bytes_are_an_error_and_never_others() {
    let (fixture, chat, id) = kept().await;
    let blobs = fixture.store.blobs().unwrap();
    do_to_the_file(
        &fixture,
        "UPDATE blob_piece SET data = zeroblob(length(data)) WHERE pos & 0xffff = 1",
    )
    .await;
    let read = |range| blobs.read_blob(&chat, &id, range, None);
    assert_eq!(read(0..u64::MAX).await.unwrap_err().kind(), ErrorKind::Corrupt);
    do_to_the_file(&fixture, "DELETE FROM blob_piece WHERE pos & 0xffff = 1").await;
    assert_eq!(read(300_000..300_001).await.unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(read(200_000..600_000).await.unwrap_err().kind(), ErrorKind::Corrupt);
    // The bytes around the damage are still readable.
    assert_eq!(read(0..4).await.unwrap().unwrap().len(), 4);
    assert_eq!(read(600_000..u64::MAX).await.unwrap().unwrap().len(), LARGE - 600_000);
}

#[tokio::test]
async fn erased_bytes_leave_no_trace() {
    let (fixture, chat, _) = kept().await;
    let secret = "hunter2-".repeat(100_000);
    let put = NewBlob::new(secret, Timestamp::from_micros(5));
    fixture.store.blobs().unwrap().put_blob(&chat, put).await.unwrap();
    let never = context_core::CancelSignal::never();
    let erased = fixture.maintenance().erase_user(&"ada".into(), &never).await.unwrap();
    assert_eq!((erased.chats, erased.blobs, erased.remaining), (2, 3, 0));
    for name in ["s.db", "s.db-wal"] {
        let bytes = std::fs::read(fixture.folder.path().join(name)).unwrap_or_default();
        assert!(!bytes.windows(8).any(|part| part == b"hunter2-"), "{name}");
    }
}
