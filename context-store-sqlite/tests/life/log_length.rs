//! The log of a store that flushes every commit. A flush takes a third longer while the file of the
//! log grows. It used to grow to 4,000 pages, and appends took longer than with SQLite's default.

use context_core::store::{Durability, NewChat};
use context_core::{ChatRef, Message, Node, Role, Store};
use context_store_sqlite::{SqliteConfig, SqliteStore};

use crate::store_fixture::{T, apply, extend};

#[tokio::test]
async fn it_begins_anew_before_it_is_long() {
    const PAGE: u64 = 4_096;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let config = SqliteConfig::new(&path).durability(Durability::PowerLoss);
    let store = SqliteStore::open(config).await.unwrap();
    let chat = ChatRef::new("ada", "trip");
    let _ = store.history().create_chat(NewChat::new(chat.clone(), T)).await.unwrap();
    let mut head = String::new();
    // Some ten pages each: 3,000 in all.
    for n in 0..300 {
        let id = format!("m{n}");
        let message = Message::text(Role::User, "ticket ".repeat(6_000));
        let node = Node::new(id.as_str(), message, T).into();
        apply(store.history(), extend(&chat, "main", &head, vec![node])).await;
        head = id;
    }
    let log = std::fs::metadata(folder.path().join("s.db-wal")).unwrap().len();
    assert!((500 * PAGE..1_500 * PAGE).contains(&log), "{} pages", log / PAGE);
}
