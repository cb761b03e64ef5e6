//! Waiting until a server has flushed its append-only file.
//!
//! `WAITAOF` waits for what was written on its own connection, and holds up all commands behind it
//! there. So waits have a connection of their own, on which a mark is written first: the server has
//! flushed the mark only if it has flushed everything before it, whoever wrote it. Commits that
//! wait at the same time share a mark.
//!
//! A server that was restarted may have lost a commit before it got the mark. The answer therefore
//! names the run of the server, which must have been known before the commit was written.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use context_core::{Error, ErrorKind};
use tokio::sync::{Mutex as AsyncMutex, OnceCell};

use crate::config::RedisConfig;
use crate::connections::Connection;
use crate::connections::server::run_of;
use crate::error::{Fault, Result};

/// Writes a value of the chat again, so that the append-only file grows but nothing changes.
/// Returns 0 if the chat does not exist.
const MARK: &str = "local v = redis.call('HGET', KEYS[1], 'v')
    if not v then return 0 end
    redis.call('HSET', KEYS[1], 'v', v)
    return 1";

pub(crate) struct Flushes {
    config: RedisConfig,
    /// Opened when it is first needed.
    connection: OnceCell<Connection>,
    /// The runs of servers, in the order in which this handle saw them first.
    runs: Mutex<Vec<String>>,
    /// By server.
    groups: Mutex<HashMap<String, Arc<FlushGroup>>>,
}

/// The commits that wait for one server.
#[derive(Default)]
struct FlushGroup {
    tickets: AtomicU64,
    done: AsyncMutex<Flushed>,
}

/// The last flush of a server.
#[derive(Clone, Copy, Default)]
struct Flushed {
    /// The last ticket that it covers.
    ticket: u64,
    /// The position of the server's run in the list of runs. `None` if the flush failed: those who
    /// have waited for it do not wait again one after another.
    run: Option<usize>,
}

/// The number of runs that were known before a commit was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownRuns(usize);

impl Flushes {
    /// Returns the waits for servers whose present runs are these.
    pub(crate) fn new(config: RedisConfig, runs: Vec<String>) -> Self {
        let (connection, groups) = (OnceCell::new(), Mutex::default());
        Self { config, connection, runs: Mutex::new(runs), groups }
    }

    /// Returns what [`wait`](Self::wait) needs to know. To be called before the commit is written.
    pub(crate) fn known_runs(&self) -> KnownRuns {
        KnownRuns(lock(&self.runs).len())
    }

    /// Waits until the server of a chat has flushed everything that was written to the chat before
    /// the call.
    pub(crate) async fn wait(&self, chat: &str, known: KnownRuns) -> Result<()> {
        let waited = self.flush(chat, known).await;
        // The commit is in the store, whatever became of the wait.
        waited.map_err(|fault| fault.during("commit").with("applied", true).into())
    }

    async fn flush(&self, chat: &str, known: KnownRuns) -> Result<()> {
        let connection = self.connection.get_or_try_init(|| Connection::open(&self.config)).await?;
        let server = connection.server_of(chat).await?;
        let group = Arc::clone(lock(&self.groups).entry(server).or_default());
        let ticket = group.tickets.fetch_add(1, Ordering::SeqCst) + 1;
        let mut done = group.done.lock().await;
        if done.ticket < ticket {
            let covered = group.tickets.load(Ordering::SeqCst);
            match self.flush_now(connection, chat).await {
                Ok(Some(run)) => *done = Flushed { ticket: covered, run: Some(run) },
                // The chat was deleted since: there is nothing to keep, and no mark for others.
                Ok(None) => return Ok(()),
                Err(fault) => {
                    *done = Flushed { ticket: covered, run: None };
                    return Err(fault);
                }
            }
        }
        match done.run {
            Some(run) if run < known.0 => Ok(()),
            Some(_) => {
                let message = "the server was restarted or replaced, and may have lost the commit";
                Err(Error::new(ErrorKind::Unavailable, "commit", message).into())
            }
            None => Err(not_in_time()),
        }
    }

    /// Writes a mark and waits until it is flushed. Returns the run of the server, or `None` if the
    /// chat does not exist.
    async fn flush_now(&self, connection: &Connection, chat: &str) -> Result<Option<usize>> {
        // Less than the driver waits for an answer. Zero would be no limit.
        let limit = (self.config.response_timeout / 2).as_millis().max(1);
        let mut commands = redis::pipe();
        commands.cmd("EVAL").arg(MARK).arg(1).arg(chat);
        commands.cmd("WAITAOF").arg(1).arg(0).arg(u64::try_from(limit).unwrap_or(u64::MAX));
        commands.cmd("INFO").arg("server");
        let answers = connection.pipe(&commands).await.map_err(|fault| match fault {
            Fault::Driver(error) if error.code() == Some("ERR") => no_longer(),
            fault => fault,
        })?;
        let (marked, (flushed, _replicas), info): (bool, (u64, u64), String) = answers;
        if !marked {
            return Ok(None);
        }
        if flushed == 0 {
            return Err(not_in_time());
        }
        let run = run_of(&info).ok_or_else(no_longer)?;
        let mut runs = lock(&self.runs);
        Ok(Some(runs.iter().position(|known| known == run).unwrap_or_else(|| {
            runs.push(run.to_owned());
            runs.len() - 1
        })))
    }
}

fn not_in_time() -> Fault {
    let message = "the server has not flushed its append-only file in time";
    Error::new(ErrorKind::Timeout, "commit", message).into()
}

fn no_longer() -> Fault {
    let message = "the server no longer reports flushes of an append-only file";
    Error::new(ErrorKind::Unsupported, "commit", message).into()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Both are changed in one step, so they are valid even if a holder of the lock has panicked.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
