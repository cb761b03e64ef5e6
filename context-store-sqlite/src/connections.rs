//! Connections: one that writes, a few that read.
//!
//! SQLite allows one writer at a time, so writes queue in memory for one connection instead of
//! waiting for the file lock. Readers never wait for the writer. sqlx's own pool is not used
//! because it pings the connection at every release.

pub(crate) mod batch_insert;
pub(crate) mod branch_ends;
pub(crate) mod calls;
pub(crate) mod tail;

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::Duration;

use context_core::store::Durability;
use context_core::{Error, ErrorKind, Retry};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, Row, Sqlite, Transaction};
use tokio::sync::{MappedMutexGuard, Mutex, MutexGuard, Semaphore, SemaphorePermit};

use crate::config::SqliteConfig;
use crate::connections::branch_ends::BranchEnds;
use crate::error::{Fault, Result};
use crate::file::access::{FileState, sidecar};
use crate::sql;

pub(crate) struct Connections {
    /// `None` in a read-only handle and in a closed one.
    writer: Mutex<Option<Writer>>,
    reads_only: bool,
    path: PathBuf,
    options: SqliteConnectOptions,
    readers: SqliteConnectOptions,
    idle: StdMutex<Vec<Idle>>,
    /// Closed together with the handle.
    permits: Semaphore,
    most: u32,
    /// Limits the connections that work on the whole file.
    maintenance_permits: Semaphore,
    pub(crate) full_text: bool,
    durability: Durability,
}

/// An idle reading connection. Of a read-only handle, also the state of the file when the
/// connection was opened.
type Idle = (Option<FileState>, SqliteConnection);

/// The number of connections that may work on the whole file at once.
const MAINTENANCE_CONNECTIONS: u32 = 64;
/// The number of times a read is repeated because the file changed meanwhile.
const REPEATS: u32 = 16;

/// The locked writer.
pub(crate) type WriterGuard<'a> = MappedMutexGuard<'a, Writer>;

/// The connection that writes, and the known ends of branches.
pub(crate) struct Writer {
    pub(crate) connection: SqliteConnection,
    pub(crate) branch_ends: BranchEnds,
    /// Whether the file has a full-text index to maintain.
    pub(crate) full_text: bool,
    /// The number of messages that this handle has written and that may not be indexed yet.
    pub(crate) unindexed: i64,
    /// Whether a task indexes messages in the background.
    pub(crate) indexes: bool,
    /// The statements of the fast path of rounds, by the views that they insert into.
    pub(crate) round_statements: HashMap<String, Arc<str>>,
    /// The durability that the store is configured for.
    durability: Durability,
    /// The durability that the connection is set to. `None` if a change may have been cut short.
    present: Option<Durability>,
}

impl Writer {
    fn new(connection: SqliteConnection, full_text: bool, durability: Durability) -> Self {
        Self {
            connection,
            branch_ends: BranchEnds::default(),
            full_text,
            unindexed: 0,
            indexes: false,
            round_statements: HashMap::new(),
            durability,
            present: Some(durability),
        }
    }

    /// Returns the durability of a commit that asks for this one, or for none in particular.
    pub(crate) fn durability_of(&self, asked: Option<Durability>) -> Durability {
        // SQLite acknowledges no sooner without any flushes, but might lose the whole file.
        asked.unwrap_or(self.durability).max(Durability::ProcessCrash)
    }

    /// Makes the next transactions of the connection this durable, or as the store is configured.
    /// Runs a statement only if they are not already.
    pub(crate) async fn set_durability(&mut self, asked: Option<Durability>) -> Result<()> {
        let needed = self.durability_of(asked);
        if self.present == Some(needed) {
            return Ok(());
        }
        self.present = None;
        let statement = match needed {
            Durability::PowerLoss => sql::durability::FLUSH_EACH_COMMIT,
            _ => sql::durability::FLUSH_AT_CHECKPOINTS,
        };
        // The setting takes effect when the statement is prepared, so a cached one has none.
        sqlx::query(statement).persistent(false).execute(&mut self.connection).await?;
        self.present = Some(needed);
        Ok(())
    }

    /// Begins a transaction that takes the write lock at once. A transaction that asks for the lock
    /// after its first read can only fail when another writer is active.
    pub(crate) async fn begin(&mut self) -> Result<Transaction<'_, Sqlite>> {
        Ok(self.connection.begin_with(sql::BEGIN).await?)
    }
}

impl Connections {
    /// Returns the connections to a file, none of which is open yet.
    pub(crate) fn unopened(config: &SqliteConfig, reads_only: bool) -> Result<Self> {
        let options = options(config)?;
        let most = u32::try_from(config.readers).map_err(|_| {
            Error::invalid("open", "there are more readers than the store can have")
        })?;
        Ok(Self {
            writer: Mutex::new(None),
            reads_only,
            path: options.get_filename().to_owned(),
            readers: options.clone().pragma("query_only", "ON"),
            options,
            idle: StdMutex::default(),
            permits: Semaphore::new(config.readers.min(Semaphore::MAX_PERMITS)),
            most,
            maintenance_permits: Semaphore::new(MAINTENANCE_CONNECTIONS as usize),
            full_text: false,
            durability: config.durability,
        })
    }

    /// Makes a connection the writer of a file with or without full text, in which this many
    /// messages are not indexed, and opens the first reader.
    pub(crate) async fn with_writer(
        self,
        connection: SqliteConnection,
        full_text: bool,
        unindexed: i64,
    ) -> Result<Self> {
        let idle = StdMutex::new(vec![(None, self.readers.connect().await?)]);
        let writer = Writer { unindexed, ..Writer::new(connection, full_text, self.durability) };
        let writer = Mutex::new(Some(writer));
        Ok(Self { writer, idle, full_text, ..self })
    }

    /// Returns the absolute path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the options of a connection that writes.
    pub(crate) fn options(&self) -> &SqliteConnectOptions {
        &self.options
    }

    pub(crate) fn reads_only(&self) -> bool {
        self.reads_only
    }

    /// Returns the durability that the store is configured for.
    pub(crate) fn durability(&self) -> Durability {
        self.durability
    }

    /// Returns the writer. Its transactions are as durable as the store is configured.
    pub(crate) async fn writer(&self) -> Result<WriterGuard<'_>> {
        let mut writer = self.writer_as_left().await?;
        writer.set_durability(None).await?;
        Ok(writer)
    }

    /// Returns the writer, as durable as its last user has set it.
    pub(crate) async fn writer_as_left(&self) -> Result<WriterGuard<'_>> {
        self.map_writer(self.writer.lock().await)
    }

    /// Returns the writer if nobody holds it or waits for it, as durable as its last user has set
    /// it.
    pub(crate) fn idle_writer(&self) -> Option<WriterGuard<'_>> {
        self.map_writer(self.writer.try_lock().ok()?).ok()
    }

    fn map_writer<'a>(&'a self, guard: MutexGuard<'a, Option<Writer>>) -> Result<WriterGuard<'a>> {
        MutexGuard::try_map(guard, Option::as_mut).map_err(|_| match self.permits.is_closed() {
            true => closed(),
            false => {
                Error::new(ErrorKind::Unsupported, "write", "the store was opened only to read")
                    .into()
            }
        })
    }

    /// Returns a connection for reading. It sees everything that this handle has written.
    pub(crate) async fn reader(&self) -> Result<Reader<'_>> {
        let permit = self.permits.acquire().await.map_err(|_| closed())?;
        let state = self.reads_only.then(|| FileState::of(&self.path));
        let idle = {
            let mut idle = self.idle();
            if let Some(now) = &state {
                idle.retain(|(opened, _)| opened.as_ref().is_some_and(|opened| opened.serves(now)));
            }
            idle.pop()
        };
        if let Some((opened, connection)) = idle {
            return Ok(Reader {
                pool: self,
                state: opened,
                connection: Some(connection),
                _permit: permit,
            });
        }
        let mut repeats = 0;
        let mut state = state;
        loop {
            let connected = match &state {
                Some(state) => state.options(&self.readers).connect().await,
                None => self.readers.connect().await,
            };
            match connected {
                Ok(connection) => {
                    let connection = Some(connection);
                    return Ok(Reader { pool: self, state, connection, _permit: permit });
                }
                Err(error) => {
                    let now = FileState::of(&self.path);
                    repeats += 1;
                    if state.as_ref().is_none_or(|state| *state == now) || repeats > REPEATS {
                        return Err(error.into());
                    }
                    state = Some(now);
                }
            }
        }
    }

    /// Returns a connection for reading that does not count as one of the readers. The caller
    /// closes it before it closes the handle.
    pub(crate) async fn unpooled_reader(&self) -> Result<SqliteConnection> {
        Ok(self.readers.connect().await?)
    }

    /// Returns a connection for work on the whole file, with settings of its own. Its temporary
    /// data is kept on disk, because it can be as large as the file.
    pub(crate) async fn maintenance(&self) -> Result<MaintenanceConnection<'_>> {
        let options =
            self.options.clone().synchronous(SqliteSynchronous::Full).pragma("temp_store", "FILE");
        self.connect_for_maintenance(options).await
    }

    async fn connect_for_maintenance(
        &self,
        options: SqliteConnectOptions,
    ) -> Result<MaintenanceConnection<'_>> {
        let permit = self.maintenance_permits.acquire().await.map_err(|_| closed())?;
        let state = self.reads_only.then(|| FileState::of(&self.path));
        let options = state.as_ref().map_or(options.clone(), |state| state.options(&options));
        Ok(MaintenanceConnection {
            pool: self,
            state,
            connection: options.connect().await?,
            _permit: permit,
        })
    }

    /// Moves the write-ahead log into the file and empties it. Returns false if a reader still
    /// needs the log. Waits for readers only if `patient`.
    pub(crate) async fn clear_log(&self, patient: bool) -> Result<bool> {
        let options = self.options.clone();
        let options = if patient { options } else { options.busy_timeout(Duration::ZERO) };
        let mut maintenance = self.connect_for_maintenance(options).await?;
        let row = sqlx::query(sql::CHECKPOINT_LOG).fetch_one(&mut maintenance.connection).await?;
        let busy: i64 = row.try_get(0)?;
        maintenance.close().await?;
        Ok(busy == 0)
    }

    /// Returns the size of the file and its log in bytes.
    pub(crate) fn size(&self) -> u64 {
        let length = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
        length(&self.path) + length(&sidecar(&self.path, "-wal"))
    }

    /// Waits for running calls and closes all connections, the writer last. Closing the writer
    /// moves the log into the file and removes it, unless another process has the file open. All
    /// later calls fail. Closing a second time does nothing.
    pub(crate) async fn close(&self) -> Result<()> {
        // Fails only if another call has closed the semaphore already.
        let all = self.permits.acquire_many(self.most).await;
        self.permits.close();
        drop(all);
        let maintenance_permits =
            self.maintenance_permits.acquire_many(MAINTENANCE_CONNECTIONS).await;
        self.maintenance_permits.close();
        drop(maintenance_permits);
        let mut writer = self.writer.lock().await;
        let idle = std::mem::take(&mut *self.idle());
        for (_, reader) in idle {
            reader.close().await?;
        }
        if let Some(writer) = writer.take() {
            writer.connection.close().await?;
        }
        Ok(())
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Idle>> {
        // The list of connections is valid even if a holder of the lock has panicked.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn closed() -> Fault {
    Error::new(ErrorKind::Unavailable, "open", "the store was closed")
        .with_retry(Retry::Never)
        .into()
}

/// Returns the result if the read saw one state of the file, or `None` if the read must be
/// repeated.
fn settled<T>(
    pool: &Connections,
    state: Option<&FileState>,
    result: Result<T>,
    repeats: &mut u32,
) -> Option<Result<T>> {
    let Some(state) = state else { return Some(result) };
    if !state.is_unlocked() && result.is_ok() || *state == FileState::of(&pool.path) {
        return Some(result);
    }
    *repeats += 1;
    if *repeats <= REPEATS {
        return None;
    }
    let message = "the file changes faster than it can be read";
    Some(result.and_then(|_| Err(Error::new(ErrorKind::Unavailable, "read", message).into())))
}

/// A connection for work on the whole file.
pub(crate) struct MaintenanceConnection<'a> {
    pool: &'a Connections,
    state: Option<FileState>,
    pub(crate) connection: SqliteConnection,
    _permit: SemaphorePermit<'a>,
}

impl MaintenanceConnection<'_> {
    pub(crate) async fn close(self) -> Result<()> {
        Ok(self.connection.close().await?)
    }

    /// Returns the result, or `None` if the work must be repeated. See [`Reader::settle`].
    pub(crate) fn settle<T>(&self, result: Result<T>, repeats: &mut u32) -> Option<Result<T>> {
        settled(self.pool, self.state.as_ref(), result, repeats)
    }
}

fn options(config: &SqliteConfig) -> Result<SqliteConnectOptions> {
    // The pages of the log before it begins anew. The more, the less often a page that changes
    // often, such as one of an index, is copied into the file; but all who commit wait while all
    // of them are copied. To flush a log takes a third longer while it grows, so one that every
    // commit flushes begins anew at SQLite's default.
    let (synchronous, log_pages) = match config.durability {
        Durability::PowerLoss => (SqliteSynchronous::Full, "1000"),
        _ => (SqliteSynchronous::Normal, "2000"),
    };
    // SQLite would parse options from a name that begins with `file:`.
    let path = std::path::absolute(&config.path)
        .map_err(|error| Error::invalid("open", "the path names no file").with_source(error))?;
    Ok(SqliteConnectOptions::new()
        .filename(path)
        .synchronous(synchronous)
        .busy_timeout(config.busy_timeout)
        .foreign_keys(true)
        .pragma("mmap_size", "268435456")
        .pragma("cache_size", "-65536")
        .pragma("wal_autocheckpoint", log_pages)
        .pragma("temp_store", "MEMORY")
        .statement_cache_capacity(256)
        .row_buffer_size(256)
        .disable_statement_logging())
}

/// A reading connection. It is returned to the pool when it is dropped, even in the middle of a
/// read: the connection's thread ends the running statement before it takes the next one.
pub(crate) struct Reader<'a> {
    pool: &'a Connections,
    /// The state of the file when the connection was opened. Only set in a read-only handle.
    state: Option<FileState>,
    connection: Option<SqliteConnection>,
    _permit: SemaphorePermit<'a>,
}

impl Reader<'_> {
    /// Returns the result of a read, or `None` if the read must be repeated because the file
    /// changed meanwhile and no lock prevented it.
    pub(crate) fn settle<T>(&self, result: Result<T>, repeats: &mut u32) -> Option<Result<T>> {
        settled(self.pool, self.state.as_ref(), result, repeats)
    }
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
            self.pool.idle().push((self.state.take(), connection));
        }
    }
}
