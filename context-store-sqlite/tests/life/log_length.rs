//! The length of the log, at which it is copied into the file and begins anew. It used to be 4,000
//! pages. A flush takes a third longer while the file of the log grows, so appends that are flushed
//! took longer than with SQLite's default; and all who commit wait while the log is copied, so the
//! slowest turns of a busy store took as long as the copy of 4,000 pages.

use std::ops::Range;

use context_core::store::{Durability, NewChat};
use context_core::{ChatRef, Message, Node, Role, Store};
use context_store_sqlite::{SqliteConfig, SqliteStore};

use crate::store_fixture::{T, apply, extend};

#[tokio::test]
async fn one_that_every_commit_flushes_begins_anew_before_it_is_long() {
    begins_anew_after(Durability::PowerLoss, 500..1_500).await;
}

#[tokio::test]
async fn one_that_is_not_flushed_is_longer_but_not_for_ever() {
    begins_anew_after(Durability::ProcessCrash, 1_500..2_500).await;
}

async fn begins_anew_after(durability: Durability, pages: Range<u64>) {
    const PAGE: u64 = 4_096;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let config = SqliteConfig::new(&path).durability(durability);
    let store = SqliteStore::open(config).await.unwrap();
    let chat = ChatRef::new("ada", "trip");
    let _ = store.history().create_chat(NewChat::new(chat.clone(), T)).await.unwrap();
    let mut head = String::new();
    // Some ten pages each: 5,000 in all.
    for n in 0..500 {
        let id = format!("m{n}");
        let message = Message::text(Role::User, "ticket ".repeat(6_000));
        let node = Node::new(id.as_str(), message, T).into();
        apply(store.history(), extend(&chat, "main", &head, vec![node])).await;
        head = id;
    }
    let log = std::fs::metadata(folder.path().join("s.db-wal")).unwrap().len() / PAGE;
    assert!(pages.contains(&log), "{log} pages");
}
