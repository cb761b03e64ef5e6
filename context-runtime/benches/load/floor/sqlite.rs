//! rusqlite with cached statements: one connection that writes and several that read, on threads
//! for blocking work.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use rusqlite::{Connection, params};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::{ROLES, ids};
use crate::data;
use crate::place::Place;
use crate::run::{Side, Texts};

const SETTINGS: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA mmap_size = 268435456; PRAGMA cache_size = -65536;";
const TABLES: &str = "
    CREATE TABLE message(seq INTEGER PRIMARY KEY, chat INTEGER NOT NULL, id TEXT NOT NULL UNIQUE, role TEXT NOT NULL,
        content TEXT NOT NULL);
    CREATE INDEX message_chat ON message(chat, seq);
    CREATE TABLE branch(chat INTEGER PRIMARY KEY, head TEXT);
    CREATE VIRTUAL TABLE words USING fts5(text, content = '', contentless_delete = 1, tokenize = 'unicode61');";

#[derive(Clone)]
pub(crate) struct Bare(Arc<Shared>);

struct Shared {
    full_text: bool,
    reads: bool,
    writer: Mutex<Connection>,
    readers: Mutex<Vec<Connection>>,
    permits: Semaphore,
}

impl Bare {
    pub(crate) fn create(
        place: &Place,
        full_text: bool,
        reads: bool,
        chats: usize,
        messages: usize,
    ) -> Self {
        let path = place.file(&place.name());
        let open = || {
            let connection = Connection::open(&path).unwrap();
            connection.execute_batch(SETTINGS).unwrap();
            connection
        };
        let mut writer = open();
        writer.execute_batch(TABLES).unwrap();
        for chat in 0..chats {
            let mut head = String::new();
            let transaction = writer.transaction().unwrap();
            for i in 0..messages {
                [head, _] = ids();
                insert(&transaction, full_text, chat, &head, ROLES[i % 2], &data::text(i));
            }
            let sql = "INSERT INTO branch VALUES (?1, ?2)";
            transaction.prepare_cached(sql).unwrap().execute(params![chat as i64, head]).unwrap();
            transaction.commit().unwrap();
        }
        Self(Arc::new(Shared {
            full_text,
            reads,
            writer: Mutex::new(writer),
            readers: Mutex::new((0..place.connections).map(|_| open()).collect()),
            permits: Semaphore::new(place.connections),
        }))
    }

    /// Runs work on a connection that reads.
    async fn read(&self, work: impl FnOnce(&Connection) + Send + 'static) {
        let _permit = self.0.permits.acquire().await.unwrap();
        let shared = Arc::clone(&self.0);
        let read = move || {
            let connection = shared.readers.lock().unwrap().pop().unwrap();
            work(&connection);
            shared.readers.lock().unwrap().push(connection);
        };
        spawn_blocking(read).await.unwrap();
    }
}

fn insert(writer: &Connection, full_text: bool, chat: usize, id: &str, role: &str, text: &str) {
    let sql = "INSERT INTO message(chat, id, role, content) VALUES (?1, ?2, ?3, ?4)";
    let values = params![chat as i64, id, role, text];
    writer.prepare_cached(sql).unwrap().execute(values).unwrap();
    if full_text {
        let sql = "INSERT INTO words(rowid, text) VALUES (?1, ?2)";
        let values = params![writer.last_insert_rowid(), text];
        writer.prepare_cached(sql).unwrap().execute(values).unwrap();
    }
}

#[async_trait]
impl Side for Bare {
    async fn turn(&self, chat: usize, texts: &Texts) {
        if self.0.reads {
            self.read(move |connection| {
                let sql = "SELECT id, role, content FROM message WHERE chat = ?1 ORDER BY seq";
                let mut scan = connection.prepare_cached(sql).unwrap();
                let rows = scan
                    .query_map([chat as i64], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
                let rows: Vec<(String, String, String)> =
                    rows.unwrap().collect::<Result<_, _>>().unwrap();
                std::hint::black_box(rows);
            })
            .await;
        }
        let (shared, texts) = (Arc::clone(&self.0), texts.clone());
        let write = move || {
            let mut writer = shared.writer.lock().unwrap();
            let ids = ids();
            let transaction = writer.transaction().unwrap();
            for ((id, role), text) in ids.iter().zip(ROLES).zip(&texts) {
                insert(&transaction, shared.full_text, chat, id, role, text);
            }
            let sql = "UPDATE branch SET head = ?1 WHERE chat = ?2";
            let values = params![ids[1], chat as i64];
            transaction.prepare_cached(sql).unwrap().execute(values).unwrap();
            transaction.commit().unwrap();
        };
        spawn_blocking(write).await.unwrap();
    }

    async fn search(&self, _chat: usize, words: &str) {
        let words = words.to_owned();
        self.read(move |connection| {
            let sql = "SELECT m.id, m.content FROM
                (SELECT rowid, rank FROM words WHERE words MATCH ?1 ORDER BY rank LIMIT 20) AS hit
                JOIN message AS m ON m.seq = hit.rowid ORDER BY hit.rank";
            let mut search = connection.prepare_cached(sql).unwrap();
            let rows = search.query_map([words], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            let rows: Vec<(String, String)> = rows.collect::<Result<_, _>>().unwrap();
            std::hint::black_box(rows);
        })
        .await;
    }

    async fn recall(&self, chat: usize, words: &str) {
        self.search(chat, words).await;
    }
}
