//! The public type of the store. Each call of the store traits is forwarded to its implementation.

mod blobs;
mod fragments;
mod history;
mod leases;
mod maintenance;
mod memories;
mod rounds;
mod search;
mod streams;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use context_core::store::{
    BlobStore, Durability, FragmentLogStore, FragmentStore, HistoryStore, LeaseStore, Maintenance,
    MemoryRecordStore, OpenedChat, RefLogStore, SearchStore, StoreInfo, StreamStore,
    TrajectoryStore, Window,
};
use context_core::{BranchName, ChatRef, Result, Store};

use crate::config::SqliteConfig;
use crate::connections::Connections;
use crate::connections::calls::reading;
use crate::history::{group_commit, opening};
use crate::schema;
use crate::watches::StreamWatches;

/// A store in one SQLite file. Keep it in an `Arc` to share it between tasks.
pub struct SqliteStore(Shared);

/// The shared state. It implements the store traits in place of [`SqliteStore`], so that
/// `store.fragments()` is not ambiguous.
struct Shared {
    connections: Arc<Connections>,
    /// The appends that wait for the writer.
    queue: group_commit::Queue,
    watches: StreamWatches,
}

impl SqliteStore {
    /// Opens a store and upgrades its schema. Several processes may open the same file at once.
    ///
    /// Returns [`ErrorKind::Unsupported`](context_core::ErrorKind::Unsupported) if a newer program
    /// wrote the file, or if the file is not a store. Such a file is not changed. Returns
    /// [`ErrorKind::NotFound`](context_core::ErrorKind::NotFound) if the file does not exist and
    /// must not be created.
    pub async fn open(config: SqliteConfig) -> Result<Self> {
        config.check()?;
        let connections = schema::open(&config)
            .await
            .map_err(|fault| fault.during("open").with("path", config.path.display()))?;
        let connections = Arc::new(connections);
        let (queue, watches) = (group_commit::Queue::default(), StreamWatches::default());
        Ok(Self(Shared { connections, queue, watches }))
    }

    #[cfg(test)]
    pub(crate) fn into_connections(self) -> Arc<Connections> {
        self.0.connections
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("durability", &self.0.connections.durability())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn info(&self) -> StoreInfo {
        StoreInfo::new("sqlite", self.0.connections.durability(), true)
            .strongest(Durability::PowerLoss)
    }

    fn history(&self) -> &dyn HistoryStore {
        &self.0
    }

    fn fragments(&self) -> &dyn FragmentStore {
        &self.0
    }

    async fn open_chat(
        &self,
        chat: &ChatRef,
        branch: Option<&BranchName>,
        window: &Window,
    ) -> Result<Option<OpenedChat>> {
        let shared = &self.0;
        reading!(shared, "open_chat", |reader| {
            opening::open(reader, chat, branch, window).await
        })
    }

    fn fragment_log(&self) -> Option<&dyn FragmentLogStore> {
        Some(&self.0)
    }

    fn ref_log(&self) -> Option<&dyn RefLogStore> {
        Some(&self.0)
    }

    fn search(&self) -> Option<&dyn SearchStore> {
        self.0.connections.full_text.then_some(&self.0 as &dyn SearchStore)
    }

    fn blobs(&self) -> Option<&dyn BlobStore> {
        Some(&self.0)
    }

    fn streams(&self) -> Option<&dyn StreamStore> {
        Some(&self.0)
    }

    fn leases(&self) -> Option<&dyn LeaseStore> {
        Some(&self.0)
    }

    fn trajectories(&self) -> Option<&dyn TrajectoryStore> {
        Some(&self.0)
    }

    fn memories(&self) -> Option<&dyn MemoryRecordStore> {
        Some(&self.0)
    }

    fn maintenance(&self) -> Option<&dyn Maintenance> {
        Some(&self.0)
    }

    /// Moves the write-ahead log into the file, so that no `-wal` and `-shm` files remain, unless
    /// another handle has the file open. Without this call, the same happens in the background
    /// after the store is dropped.
    async fn close(&self) -> Result<()> {
        self.0.watches.close().await;
        self.0.connections.close().await.map_err(|fault| fault.during("close"))
    }
}
