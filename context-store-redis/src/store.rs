//! The public type of the store. Each call of the store traits is forwarded to its implementation.

mod blobs;
mod fragments;
mod history;
mod leases;
mod maintenance;
mod memories;
mod rounds;
mod streams;

use std::fmt;

use async_trait::async_trait;
use context_core::store::{
    BlobStore, FragmentLogStore, FragmentStore, HistoryStore, LeaseStore, Maintenance,
    MemoryRecordStore, OpenedChat, RefLogStore, StoreInfo, StreamStore, TrajectoryStore, Window,
};
use context_core::{BranchName, ChatRef, Result, Store};

use crate::config::RedisConfig;
use crate::connections::Connection;
use crate::connections::server::{self, ServerRating};
use crate::connections::shared::Shared;
use crate::error::Fault;
use crate::history::opening;
use crate::keys::Keys;
use crate::schema;

/// A store on a Redis server or cluster. Keep it in an `Arc` to share it between tasks.
pub struct RedisStore {
    shared: Shared,
}

impl RedisStore {
    /// Connects to the server and reads its durability settings. Several processes may use the same
    /// store at once. A warning for the operator is logged once and is part of [`Store::info`].
    pub async fn open(config: RedisConfig) -> Result<Self> {
        config.check()?;
        let prefix = config.prefix.clone();
        let opened = async {
            let connection = Connection::open(&config).await?;
            let keys = Keys::new(&config.prefix);
            let handle = schema::open(&connection, &keys, config.create).await?;
            let rated = server::rate(&connection).await?;
            Ok(Self { shared: Shared::new(connection, config, handle, rated) })
        };
        opened.await.map_err(|fault: Fault| fault.during("open").with("prefix", prefix))
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("durability", &self.shared.server.durability)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for RedisStore {
    fn info(&self) -> StoreInfo {
        let ServerRating { durability, strongest, warning } = self.shared.server;
        StoreInfo::new("redis", durability, true).strongest(strongest).warning(warning)
    }

    fn history(&self) -> &dyn HistoryStore {
        &self.shared
    }

    fn fragments(&self) -> &dyn FragmentStore {
        &self.shared
    }

    async fn open_chat(
        &self,
        chat: &ChatRef,
        branch: Option<&BranchName>,
        window: &Window,
    ) -> Result<Option<OpenedChat>> {
        let opened = opening::open(&self.shared, chat, branch, window).await;
        opened.map_err(|fault| fault.during("open_chat"))
    }

    fn fragment_log(&self) -> Option<&dyn FragmentLogStore> {
        Some(&self.shared)
    }

    fn ref_log(&self) -> Option<&dyn RefLogStore> {
        Some(&self.shared)
    }

    fn blobs(&self) -> Option<&dyn BlobStore> {
        Some(&self.shared)
    }

    fn streams(&self) -> Option<&dyn StreamStore> {
        Some(&self.shared)
    }

    fn leases(&self) -> Option<&dyn LeaseStore> {
        Some(&self.shared)
    }

    fn trajectories(&self) -> Option<&dyn TrajectoryStore> {
        Some(&self.shared)
    }

    fn memories(&self) -> Option<&dyn MemoryRecordStore> {
        Some(&self.shared)
    }

    fn maintenance(&self) -> Option<&dyn Maintenance> {
        Some(&self.shared)
    }

    /// Tells other handles of the last changes of streams, and ends the watches of this one. The
    /// connection stays open until the store is dropped.
    async fn close(&self) -> Result<()> {
        self.shared.watches.close().await;
        Ok(())
    }
}
