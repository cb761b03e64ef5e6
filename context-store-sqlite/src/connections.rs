//! The connections: one that writes, a few that read.
//!
//! SQLite has one writer at a time whatever one does, so writes queue in memory, before one connection, and not
//! at the file lock. Readers never wait for the writer. Not sqlx's pool: it pings at every release.

use std::future::poll_fn;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::{Mutex as StdMutex, PoisonError};
use std::time::Duration;

use context_core::Durability;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteRow, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, Either, Executor, Row, Sqlite, Transaction};
use tokio::sync::{Mutex, MutexGuard, Semaphore, SemaphorePermit};

use crate::config::SqliteConfig;
use crate::error::Result;
use crate::history::routes::Routes;
use crate::rounds::record_one::Ready;
use crate::{schema, sql};

pub(crate) struct Connections {
    writer: Mutex<Writer>,
    options: SqliteConnectOptions,
    readers: SqliteConnectOptions,
    idle: StdMutex<Vec<SqliteConnection>>,
    permits: Semaphore,
    pub(crate) full_text: bool,
}

/// The connection that writes, and what its holder knows about where branches end.
pub(crate) struct Writer {
    pub(crate) connection: SqliteConnection,
    pub(crate) routes: Routes,
    /// Whether the file has a full-text index to keep.
    pub(crate) full_text: bool,
    /// What it has been given to write rounds with.
    pub(crate) ready: Ready,
}

impl Writer {
    /// A transaction that holds the write lock from the start: one that asks for it later can only fail.
    pub(crate) async fn begin(&mut self) -> Result<Transaction<'_, Sqlite>> {
        Ok(self.connection.begin_with(sql::BEGIN).await?)
    }
}

impl Connections {
    pub(crate) async fn open(config: &SqliteConfig) -> Result<Self> {
        let options = options(config);
        let mut connection = options.clone().create_if_missing(config.create).connect().await?;
        schema::use_wal(&mut connection).await?;
        let full_text = schema::migrate(&mut connection, config.full_text).await?;
        let readers = options.clone().pragma("query_only", "ON");
        let idle = StdMutex::new(vec![readers.connect().await?]);
        let permits = Semaphore::new(config.readers);
        let writer =
            Mutex::new(Writer { connection, routes: Routes::default(), full_text, ready: Ready::default() });
        Ok(Self { writer, options, readers, idle, permits, full_text })
    }

    pub(crate) async fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().await
    }

    /// The writer, if nobody has it or waits for it.
    pub(crate) fn idle_writer(&self) -> Option<MutexGuard<'_, Writer>> {
        self.writer.try_lock().ok()
    }

    /// A connection to read with. What this handle has written before is seen.
    pub(crate) async fn reader(&self) -> Result<Reader<'_>> {
        let permit = self.permits.acquire().await.expect("the semaphore is never closed");
        let idle = self.idle().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.readers.connect().await?,
        };
        Ok(Reader { pool: self, connection: Some(connection), _permit: permit })
    }

    /// A connection for work on the whole file, whose settings are its own. It keeps what it puts aside on the disk:
    /// that can be as much as the file.
    pub(crate) async fn spare(&self) -> Result<SqliteConnection> {
        let options = self.options.clone().synchronous(SqliteSynchronous::Full).pragma("temp_store", "FILE");
        Ok(options.connect().await?)
    }

    /// Folds the write-ahead log into the file and empties it. False if somebody reads what is still in it.
    /// Waits for them only if `patient`.
    pub(crate) async fn clear_log(&self, patient: bool) -> Result<bool> {
        let options = self.options.clone();
        let options = if patient { options } else { options.busy_timeout(Duration::ZERO) };
        let mut connection = options.connect().await?;
        let row = sqlx::query(sql::CHECKPOINT_LOG).fetch_one(&mut connection).await?;
        let busy: i64 = row.try_get(0)?;
        connection.close().await?;
        Ok(busy == 0)
    }

    /// How many bytes the file and its log take.
    pub(crate) fn size(&self) -> u64 {
        let path = self.options.get_filename();
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let length = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
        length(path) + length(Path::new(&log))
    }

    /// Waits for what is running and closes all connections.
    pub(crate) async fn close(self) -> Result<()> {
        let idle = std::mem::take(&mut *self.idle());
        for reader in idle {
            reader.close().await?;
        }
        self.writer.into_inner().connection.close().await?;
        Ok(())
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<SqliteConnection>> {
        // A list of connections is sound in any state.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs one statement and returns its rows, leaving as soon as it is done. The driver's own methods wait for one
/// more message from the connection's thread, which then says nothing: a second sleep per call.
pub(crate) async fn run(
    connection: &mut SqliteConnection,
    query: Query<'_, Sqlite, SqliteArguments>,
) -> Result<Vec<SqliteRow>> {
    let mut results = connection.fetch_many(query);
    let mut rows = Vec::new();
    while let Some(result) = poll_fn(|context| results.as_mut().poll_next(context)).await {
        match result? {
            Either::Right(row) => rows.push(row),
            // Sent when the statement has ended, and with it its transaction.
            Either::Left(_) => break,
        }
    }
    Ok(rows)
}

fn options(config: &SqliteConfig) -> SqliteConnectOptions {
    let synchronous = match config.durability {
        Durability::PowerLoss => SqliteSynchronous::Full,
        _ => SqliteSynchronous::Normal,
    };
    SqliteConnectOptions::new()
        .filename(&config.path)
        .synchronous(synchronous)
        .busy_timeout(config.busy_timeout)
        .foreign_keys(true)
        .pragma("mmap_size", "268435456")
        .pragma("cache_size", "-65536")
        // Four times the usual: pages that change often, as an index's do, are copied into the file less often.
        .pragma("wal_autocheckpoint", "4000")
        .pragma("temp_store", "MEMORY")
        .statement_cache_capacity(256)
        .row_buffer_size(256)
        .disable_statement_logging()
}

/// A reading connection, given back when it is dropped, also in the middle of a read: the connection's thread
/// ends the statement before it takes the next one.
pub(crate) struct Reader<'a> {
    pool: &'a Connections,
    connection: Option<SqliteConnection>,
    _permit: SemaphorePermit<'a>,
}

impl Deref for Reader<'_> {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        self.connection.as_ref().expect("taken only when dropped")
    }
}

impl DerefMut for Reader<'_> {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        self.connection.as_mut().expect("taken only when dropped")
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.pool.idle().push(connection);
        }
    }
}
