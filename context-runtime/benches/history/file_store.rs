//! The measured work with this library, on a file.

use std::ops::Deref;
use std::path::{Path, PathBuf};

pub(crate) use crate::library_store::chat;

/// A handle to a store in a file. Clones are handles to the same one.
#[derive(Clone)]
pub(crate) struct FileStore {
    chats: crate::library_store::LibraryStore,
    path: PathBuf,
}

impl FileStore {
    /// Creates a store in a new file.
    pub(crate) async fn create(path: &Path, full_text: bool) -> Self {
        let full_text = if full_text { "on" } else { "off" };
        Self::open(path, &format!("?full_text={full_text}")).await
    }

    /// Opens the store of a file.
    pub(crate) async fn reopen(path: &Path) -> Self {
        Self::open(path, "").await
    }

    async fn open(path: &Path, query: &str) -> Self {
        let chats =
            crate::library_store::LibraryStore::open(&format!("sqlite:{}{query}", path.display()))
                .await;
        Self { chats, path: path.to_owned() }
    }

    /// Moves the log into the file, so that no later row pays for earlier writes.
    pub(crate) fn checkpoint(&self) {
        let other = rusqlite::Connection::open(&self.path).unwrap();
        other.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.checkpoint();
        std::fs::metadata(&self.path).unwrap().len()
    }
}

impl Deref for FileStore {
    type Target = crate::library_store::LibraryStore;

    fn deref(&self) -> &Self::Target {
        &self.chats
    }
}
