//! Watches of streams.
//!
//! A writer of this handle wakes the watches itself. Writers of other handles and processes are
//! noticed by one task of the handle. Every few milliseconds it asks the system when the log was
//! last written, which costs little. If that was a moment ago it asks SQLite whether the file has
//! changed, and compares the watched streams if so. It runs while somebody watches.

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use context_core::base::StreamId;
use context_core::store::{StoredStream, StreamState, StreamWatch};
use context_core::{ChatRef, Timestamp};
use context_store_kit::watch::{Topic, Watches};
use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Row};
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::connections::Connections;
use crate::error::Result;
use crate::file::access::sidecar;
use crate::sql;

/// The pause between two looks at a file that is being written.
const PAUSE: Duration = Duration::from_millis(5);
/// The pause between two looks at a file to which nothing was written for a while.
const QUIET_PAUSE: Duration = Duration::from_millis(40);
const QUIET: Duration = Duration::from_secs(2);
/// The time after a write to the log in which another one may not change the time of the file.
const RECENT: Duration = Duration::from_millis(100);
/// The longest time without a question to SQLite, whatever the system says.
const LONGEST: Duration = Duration::from_millis(500);
/// The pause after a look, in times of how long the look took. It bounds the share of a core that
/// many watches of a busy file need.
const PAUSE_OF_LOOKS: u32 = 10;
/// The longest pause, because a look also takes long on a busy machine.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// The fields of a stream that change with every write.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StreamMark {
    state: String,
    run: i64,
    chunks: i64,
    updated_at: i64,
    cancel_requested_at: Option<i64>,
}

impl StreamMark {
    fn of(stream: &StoredStream) -> Self {
        Self {
            state: StreamState::as_str(stream.state).to_owned(),
            run: i64::from(stream.run),
            chunks: i64::try_from(stream.chunks).unwrap_or(i64::MAX),
            updated_at: stream.updated_at.as_micros(),
            cancel_requested_at: stream.cancel_requested_at.map(Timestamp::as_micros),
        }
    }
}

/// The last known mark of a watched stream, `Some(None)` for a stream that does not exist.
type KnownMark = Option<Option<StreamMark>>;

/// The watches of a handle, and the task that looks at the file for them.
#[derive(Default)]
pub(crate) struct StreamWatches {
    watches: Watches<KnownMark>,
    task: Arc<Mutex<Task>>,
}

#[derive(Default)]
enum Task {
    #[default]
    Ended,
    Running(JoinHandle<()>),
    /// The handle was closed.
    Closed,
}

impl StreamWatches {
    /// Begins to watch a stream. Returns `None` without a runtime for the task, and for a handle
    /// that only reads.
    pub(crate) async fn watch(
        &self,
        connections: &Arc<Connections>,
        chat: &ChatRef,
        id: &StreamId,
    ) -> Result<Option<Box<dyn StreamWatch>>> {
        let Ok(runtime) = Handle::try_current() else { return Ok(None) };
        if connections.reads_only() {
            return Ok(None);
        }
        let mut task = self.task.lock().await;
        let begins = match &*task {
            Task::Running(running) => running.is_finished(),
            Task::Ended => true,
            Task::Closed => return Ok(None),
        };
        if begins {
            let mut connection = connections.unpooled_reader().await?;
            // Whatever is written after this is noticed.
            let version = version(&mut connection).await?;
            let look = Look {
                connection,
                version,
                log: sidecar(connections.path(), "-wal"),
                asked: Instant::now(),
                watches: self.watches.clone(),
                task: Arc::downgrade(&self.task),
            };
            *task = Task::Running(runtime.spawn(look.repeat()));
        }
        // The task does not end before it has the lock.
        Ok(Some(self.watches.watch(chat, id)))
    }

    /// Wakes the watches of a stream that this handle has changed, unless they know the change.
    pub(crate) fn wake(&self, chat: &ChatRef, stream: &StoredStream) {
        if !self.watches.is_empty() {
            let mark = Some(Some(StreamMark::of(stream)));
            self.watches.wake_unless(Topic::stream(chat, &stream.id), &mark);
        }
    }

    /// Wakes the watches of a topic, in which this handle may have removed streams.
    pub(crate) fn wake_all(&self, topic: impl FnOnce() -> Topic) {
        if !self.watches.is_empty() {
            self.watches.wake(topic());
        }
    }

    /// Ends the watches and the task, which closes its connection.
    pub(crate) async fn close(&self) {
        let task = std::mem::replace(&mut *self.task.lock().await, Task::Closed);
        self.watches.fail();
        if let Task::Running(running) = task {
            // It ends by itself, because nobody watches. A task of a runtime that is gone has
            // ended.
            let _ended = running.await;
        }
    }
}

/// A task that looks at the file.
struct Look {
    connection: SqliteConnection,
    /// SQLite's number of the state of the file. Changes when another connection writes.
    version: i64,
    log: PathBuf,
    asked: Instant,
    watches: Watches<KnownMark>,
    task: Weak<Mutex<Task>>,
}

impl Look {
    /// Looks until nobody watches, the handle is dropped, or the file cannot be read.
    async fn repeat(mut self) {
        let mut pause = PAUSE;
        loop {
            sleep(pause).await;
            let begin = Instant::now();
            let looked = self.look().await;
            let least = looked.as_ref().map_or(PAUSE, |least| *least);
            let fair = begin.elapsed().saturating_mul(PAUSE_OF_LOOKS);
            pause = least.max(fair.min(LONGEST_PAUSE));
            let Some(task) = self.task.upgrade() else { break };
            if looked.is_ok() && !self.watches.is_empty() {
                continue;
            }
            let mut task = task.lock().await;
            if looked.is_ok() && !self.watches.is_empty() {
                continue;
            }
            if let Task::Running(_) = *task {
                *task = Task::Ended;
            }
            break;
        }
        // Those who still watch are told that nobody looks any more.
        self.watches.fail();
        // An error is not worth a report: the file stays open a little longer.
        let _closed = self.connection.close().await;
    }

    /// Wakes watches if streams have changed. Returns the pause until the next look.
    async fn look(&mut self) -> Result<Duration> {
        // Nothing but a question: to open the log and to close it could drop SQLite's locks.
        let written = std::fs::metadata(&self.log).and_then(|log| log.modified());
        // A time in the future is taken for a recent one.
        let passed = written.ok().and_then(|time| time.elapsed().ok()).unwrap_or_default();
        let pause = if passed > QUIET { QUIET_PAUSE } else { PAUSE };
        if passed > RECENT && self.asked.elapsed() < LONGEST {
            return Ok(pause);
        }
        self.asked = Instant::now();
        let version = version(&mut self.connection).await?;
        if version == self.version {
            return Ok(pause);
        }
        let streams = self.watches.streams();
        let names: Vec<_> =
            streams.iter().map(|(chat, id)| json!([chat.user, chat.chat, id])).collect();
        let names = Value::Array(names).to_string();
        let rows = sqlx::query(sql::STREAM_MARKS).bind(names).fetch_all(&mut self.connection);
        for ((chat, id), row) in streams.iter().zip(rows.await?) {
            let mark = match row.try_get::<Option<&str>, _>(0)? {
                None => None,
                Some(state) => Some(StreamMark {
                    state: state.to_owned(),
                    run: row.try_get(1)?,
                    chunks: row.try_get(2)?,
                    updated_at: row.try_get(3)?,
                    cancel_requested_at: row.try_get(4)?,
                }),
            };
            self.watches.wake_unless(Topic::stream(chat, id), &Some(mark));
        }
        self.version = version;
        Ok(pause)
    }
}

async fn version(connection: &mut SqliteConnection) -> Result<i64> {
    Ok(sqlx::query(sql::FILE_VERSION).fetch_one(connection).await?.try_get(0)?)
}
