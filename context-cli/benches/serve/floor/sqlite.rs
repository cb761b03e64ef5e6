//! rusqlite with the settings of our store: one connection that writes, four that read.

use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension, TransactionBehavior, params};

use super::pool::Pool;
use super::{Failed, PAGE, Row};

/// Our default.
const READERS: usize = 4;
/// Our default.
const BUSY: Duration = Duration::from_secs(5);
const SETTINGS: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    PRAGMA mmap_size = 268435456; PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 4000;
    PRAGMA temp_store = MEMORY";
const TABLES: &str = "BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS message(chat TEXT NOT NULL, position INTEGER NOT NULL,
        id TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY(chat, position)) WITHOUT ROWID;
    CREATE UNIQUE INDEX IF NOT EXISTS message_id ON message(chat, id);
    CREATE TABLE IF NOT EXISTS head(chat TEXT PRIMARY KEY, id TEXT NOT NULL,
        length INTEGER NOT NULL) WITHOUT ROWID;
    CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, content = '');
    COMMIT";

pub(super) struct Database {
    writer: Pool<Connection>,
    readers: Pool<Connection>,
}

impl Database {
    pub(super) fn open(path: &str) -> Self {
        let connect = || {
            let connection = Connection::open(path).unwrap();
            connection.busy_timeout(BUSY).unwrap();
            connection.execute_batch(SETTINGS).unwrap();
            connection
        };
        let writer = connect();
        writer.execute_batch(TABLES).unwrap();
        let readers = (0..READERS).map(|_| connect()).collect();
        Self { writer: Pool::new(vec![writer]), readers: Pool::new(readers) }
    }

    /// Returns whether the messages are new.
    pub(super) async fn append(&self, chat: String, rows: Vec<Row>) -> Result<bool, Failed> {
        let work = move |connection: &mut Connection| append(connection, &chat, &rows);
        match run(&self.writer, work).await {
            Ok(()) => Ok(true),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                Ok(false)
            }
            Err(_) => Err(Failed),
        }
    }

    /// Returns ids and bodies, newest first. `None` if there is no such chat.
    pub(super) async fn newest(
        &self,
        chat: String,
    ) -> Result<Option<Vec<(String, String)>>, Failed> {
        let work = move |connection: &mut Connection| {
            if length(connection, &chat)?.is_none() {
                return Ok(None);
            }
            let sql = "SELECT id, body FROM message WHERE chat = ? ORDER BY position DESC LIMIT ?";
            let mut query = connection.prepare_cached(sql)?;
            let rows =
                query.query_map(params![chat, PAGE], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<Result<_, _>>().map(Some)
        };
        run(&self.readers, work).await.map_err(|_| Failed)
    }
}

/// Runs work on a thread that may block.
async fn run<T: Send + 'static>(
    pool: &Pool<Connection>,
    work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
) -> rusqlite::Result<T> {
    let mut connection = pool.take().await;
    tokio::task::spawn_blocking(move || work(&mut connection)).await.unwrap()
}

/// One transaction: the head is read, the messages are inserted, and the head is moved.
fn append(connection: &mut Connection, chat: &str, rows: &[Row]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut length = length(&transaction, chat)?.unwrap_or(0);
    for row in rows {
        let insert = "INSERT INTO message(chat, position, id, body) VALUES (?, ?, ?, ?)";
        let values = params![chat, length, row.id, row.body];
        transaction.prepare_cached(insert)?.execute(values)?;
        let index = "INSERT INTO words(text) VALUES (?)";
        transaction.prepare_cached(index)?.execute([&row.text])?;
        length += 1;
    }
    let newest = rows.last().map(|row| row.id.as_str());
    let head = "INSERT INTO head(chat, id, length) VALUES (?, ?, ?)
        ON CONFLICT(chat) DO UPDATE SET id = excluded.id, length = excluded.length";
    transaction.prepare_cached(head)?.execute(params![chat, newest, length])?;
    transaction.commit()
}

/// Returns the number of messages of a chat, from the row of its head.
fn length(connection: &Connection, chat: &str) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT length FROM head WHERE chat = ?";
    connection.prepare_cached(sql)?.query_row([chat], |row| row.get(0)).optional()
}
