//! A custom store with rows: chats, messages and branches in tables of a SQLite file, through
//! rusqlite.
//!
//! Copy this package and replace the SQL. Several processes may use one file. A commit of new
//! messages costs time in what it writes and in the number of branches, not in the length of the
//! chat. Three things are worth knowing:
//!
//! * Every call is one transaction that begins with the row of its chat (`ChatRow` in `chat.rs`).
//! * [`decide_commit`](context_store_kit::decide_commit) decides what a commit does. `commit.rs`
//!   looks up its facts and writes its plan, and knows no other rule.
//! * A message is stored as [packed](context_store_kit::pack) bytes, which have a checksum.
//!
//! `tests/conformance.rs` tests the store. A read of a chain reads all of it, whatever the window;
//! a store for long chats reads the end only.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod chat;
mod commit;
mod fault;
mod fragments;
mod history;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use context_core::store::{Durability, FragmentStore, HistoryStore, StoreInfo};
use context_core::{ChatRef, Error, ErrorKind, Result, Store};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::chat::ChatRow;
use crate::fault::Fault;

/// The time that a writer waits for writers of other processes.
const BUSY: Duration = Duration::from_secs(60);

/// A store in a SQLite file. Clones share one connection.
#[derive(Clone, Debug)]
pub struct RowStore(Arc<Mutex<Connection>>);

/// A transaction that only reads, and one that waits for other writers before its first read.
const READ: TransactionBehavior = TransactionBehavior::Deferred;
const WRITE: TransactionBehavior = TransactionBehavior::Immediate;

impl RowStore {
    /// Opens a file, or creates it.
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        blocking("open", move || {
            let mut connection = Connection::open(path)?;
            connection.busy_timeout(BUSY)?;
            connection.execute_batch("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL")?;
            let transaction = connection.transaction_with_behavior(WRITE)?;
            transaction.execute_batch(include_str!("schema.sql"))?;
            transaction.commit()?;
            Ok(Self(Arc::new(Mutex::new(connection))))
        })
        .await
    }

    /// Runs work in a transaction.
    async fn transact<T: Send + 'static>(
        &self,
        behavior: TransactionBehavior,
        operation: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T> {
        let connection = Arc::clone(&self.0);
        blocking(operation, move || {
            // A transaction that a panic ended was rolled back.
            let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            let transaction = connection.transaction_with_behavior(behavior)?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        })
        .await
    }

    /// Runs work on a chat that must exist, and writes its row back if the work has changed it.
    async fn with_chat<T: Send + 'static>(
        &self,
        behavior: TransactionBehavior,
        operation: &'static str,
        chat: &ChatRef,
        work: impl FnOnce(&mut ChatRow<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T> {
        let chat = chat.clone();
        self.transact(behavior, operation, move |transaction| {
            let found = ChatRow::find(transaction, operation, &chat)?;
            let mut row = found.ok_or_else(|| Error::not_found(operation, "chat", &chat.chat))?;
            let before = (row.chat.clone(), row.changes);
            let done = work(&mut row)?;
            if before != (row.chat.clone(), row.changes) {
                row.write()?;
            }
            Ok(done)
        })
        .await
    }
}

impl Store for RowStore {
    fn info(&self) -> StoreInfo {
        StoreInfo::new("rows", Durability::PowerLoss, true)
    }

    fn history(&self) -> &dyn HistoryStore {
        self
    }

    fn fragments(&self) -> &dyn FragmentStore {
        self
    }
}

/// Runs blocking work on its own thread, since SQLite waits for the disk and for other writers. The
/// work continues when the caller drops the future, so a transaction is never interrupted.
async fn blocking<T: Send + 'static>(
    operation: &'static str,
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T> {
    let panicked =
        |error| Error::new(ErrorKind::Bug, operation, "the work panicked").with_source(error);
    let done = tokio::task::spawn_blocking(work).await.map_err(panicked)?;
    done.map_err(|fault| fault.during(operation))
}
