//! A custom store: chats in a redb file, one value per chat.
//!
//! Copy this package and replace redb. [`StateStore`] requires three calls and provides chats,
//! branches, checkpoints, fragments, commits and search. `tests/conformance.rs` tests the store.
//!
//! A backend with rows, for long chats or chats shared between processes, implements
//! [`HistoryStore`] and [`FragmentStore`] itself. This store is not suited to either: a write
//! rewrites the whole chat, and redb locks its file.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod database;
mod maintenance;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use context_core::store::{
    Durability, FragmentStore, HistoryStore, Maintenance, SearchStore, StoreInfo,
};
use context_core::{ChatRef, Error, ErrorKind, Result, Store, UserId};
use context_store_kit::{ChatState, StateBacked, StateStore};
use redb::{Database, ReadableTable, TableDefinition};

use self::database::OpenedDatabase;

/// Chats by user and id, in the format of [`ChatState::to_bytes`].
const CHATS: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("chats");
/// The number of chats that were ever created.
const CREATED: TableDefinition<'_, (), u64> = TableDefinition::new("created");

/// A store in a redb file. Clones are handles to the same file. Only one process can have the file
/// open.
#[derive(Clone, Debug)]
pub struct RedbStore(StateBacked<Chats>);

/// The chats of the file.
#[derive(Clone, Debug)]
struct Chats {
    db: Arc<OpenedDatabase>,
}

impl RedbStore {
    /// Opens a file, or creates it.
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let db = blocking("open", move || {
            if !path.exists() {
                create(&path)?;
            }
            OpenedDatabase::to_write(&path)
        });
        Ok(Self(StateBacked(Chats { db: Arc::new(db.await?) })))
    }

    /// Opens an existing file to read it only: nothing is created or written.
    pub async fn open_read_only(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let db = blocking("open", move || match path.exists() {
            true => OpenedDatabase::to_read(&path),
            false => Err(Error::not_found("open", "file", path.display())),
        });
        Ok(Self(StateBacked(Chats { db: Arc::new(db.await?) })))
    }
}

/// Creates a file under a temporary name and links it when it is complete, since a process that
/// ends while redb initializes a file leaves one that cannot be opened. Does nothing if another
/// process was faster.
fn create(path: &Path) -> Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(format!(".new-{}", std::process::id()));
    let new = PathBuf::from(new);
    let file = |error: std::io::Error| failed("open")(redb::StorageError::from(error));
    let db = Database::create(&new).map_err(failed("open"))?;
    // Create the tables, so that every reader finds them.
    let transaction = db.begin_write().map_err(failed("open"))?;
    transaction.open_table(CHATS).map_err(failed("open"))?;
    transaction.open_table(CREATED).map_err(failed("open"))?;
    transaction.commit().map_err(failed("open"))?;
    drop(db);
    match fs::hard_link(&new, path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(file(error)),
        _ => {}
    }
    fs::remove_file(&new).map_err(file)
}

impl Store for RedbStore {
    fn info(&self) -> StoreInfo {
        StoreInfo::new("redb", Durability::PowerLoss, false)
    }

    fn history(&self) -> &dyn HistoryStore {
        &self.0
    }

    fn fragments(&self) -> &dyn FragmentStore {
        &self.0
    }

    fn search(&self) -> Option<&dyn SearchStore> {
        Some(&self.0)
    }

    fn maintenance(&self) -> Option<&dyn Maintenance> {
        Some(&self.0.0)
    }
}

#[async_trait]
impl StateStore for Chats {
    fn strongest(&self) -> Durability {
        Durability::PowerLoss
    }

    async fn state(&self, chat: &ChatRef) -> Result<Option<Arc<ChatState>>> {
        let (db, chat) = (Arc::clone(&self.db), chat.clone());
        blocking("read", move || {
            let transaction = db.read()?;
            let chats = transaction.open_table(CHATS).map_err(failed("read"))?;
            let value = chats.get(key(&chat)).map_err(failed("read"))?;
            value.map(|value| parse(value.value()).map(Arc::new)).transpose()
        })
        .await
    }

    async fn states(&self, user: Option<&UserId>) -> Result<Vec<Arc<ChatState>>> {
        let (db, user) = (Arc::clone(&self.db), user.cloned());
        blocking("read", move || {
            let transaction = db.read()?;
            let chats = transaction.open_table(CHATS).map_err(failed("read"))?;
            let first = (user.as_ref().map_or("", UserId::as_str), "");
            let mut states = Vec::new();
            for entry in chats.range(first..).map_err(failed("read"))? {
                let (key, value) = entry.map_err(failed("read"))?;
                if user.as_ref().is_some_and(|user| user.as_str() != key.value().0) {
                    break;
                }
                states.push(Arc::new(parse(value.value())?));
            }
            Ok(states)
        })
        .await
    }

    async fn change<T, F>(&self, chat: &ChatRef, change: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Option<ChatState>, &mut u64) -> Result<T> + Send + 'static,
    {
        let (db, chat) = (Arc::clone(&self.db), chat.clone());
        blocking("write", move || {
            // Waits for other writers. A return before the commit leaves no changes.
            let transaction = db.write()?;
            let done = {
                let mut chats = transaction.open_table(CHATS).map_err(failed("write"))?;
                let mut counter = transaction.open_table(CREATED).map_err(failed("write"))?;
                let mut created =
                    counter.get(()).map_err(failed("write"))?.map_or(0, |n| n.value());
                let value = chats.get(key(&chat)).map_err(failed("write"))?;
                let mut state = value.map(|value| parse(value.value())).transpose()?;
                let done = change(&mut state, &mut created)?;
                match state {
                    Some(state) => chats.insert(key(&chat), &*state.to_bytes()),
                    None => chats.remove(key(&chat)),
                }
                .map_err(failed("write"))?;
                counter.insert((), created).map_err(failed("write"))?;
                done
            };
            transaction.commit().map_err(failed("write"))?;
            Ok(done)
        })
        .await
    }
}

fn key(chat: &ChatRef) -> (&str, &str) {
    (chat.user.as_str(), chat.chat.as_str())
}

fn parse(value: &[u8]) -> Result<ChatState> {
    ChatState::from_bytes(value.to_vec())
}

/// Runs blocking work on its own thread, since redb waits for the disk and for other writers. The
/// work continues when the caller drops the future, so a transaction is never interrupted.
async fn blocking<T: Send + 'static>(
    operation: &'static str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let panicked =
        |error| Error::new(ErrorKind::Bug, operation, "the work panicked").with_source(error);
    tokio::task::spawn_blocking(work).await.map_err(panicked)?
}

/// Converts redb's errors. Their texts are about files and pages and contain no content.
fn failed<E: Into<redb::Error>>(operation: &'static str) -> impl FnOnce(E) -> Error {
    move |error| {
        let error = error.into();
        let (kind, message) = match &error {
            redb::Error::Corrupted(_) => (ErrorKind::Corrupt, "the file is damaged"),
            redb::Error::ValueTooLarge(_) => {
                (ErrorKind::Invalid, "the chat is larger than a value may be")
            }
            redb::Error::DatabaseAlreadyOpen => {
                (ErrorKind::Unavailable, "another process has the file open")
            }
            _ => (ErrorKind::Unavailable, "the file cannot be used"),
        };
        Error::new(kind, operation, message).with_source(error)
    }
}
