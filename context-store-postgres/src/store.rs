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
    BlobStore, FragmentLogStore, FragmentStore, HistoryStore, LeaseStore, Maintenance,
    MemoryRecordStore, OpenedChat, RefLogStore, SearchStore, StoreInfo, StreamStore,
    TrajectoryStore, Window,
};
use context_core::{BranchName, ChatRef, Result, Store};
use context_store_kit::watch::SharedWatches;

use crate::config::PostgresConfig;
use crate::connections::together::Queue;
use crate::connections::{Pool, Work, database, work};
use crate::history::append::group::QueuedAppend;
use crate::history::branch_lengths::BranchLengths;
use crate::history::news::Look;
use crate::history::opening::{self, FirstWindow};
use crate::schema;
use crate::schema::Facts;
use crate::watches::Notifications;

/// A store in one schema of a PostgreSQL database. Keep it in an `Arc` to share it between tasks.
pub struct PostgresStore(Shared);

/// The shared state. It implements the store traits in place of [`PostgresStore`], so that
/// `store.fragments()` is not ambiguous.
struct Shared {
    pool: Arc<Pool>,
    watches: SharedWatches<Notifications>,
    branch_lengths: BranchLengths,
    /// Appends that wait for a connection.
    appends: Queue<QueuedAppend>,
    /// Looks for news that wait for a connection.
    looks: Queue<Look>,
    schema: String,
    facts: Facts,
}

impl PostgresStore {
    /// Opens a store, creates its database if it does not exist, and upgrades its schema. Several
    /// processes may open the same store at once. With [`read_only`](PostgresConfig::read_only)
    /// nothing is created or written.
    ///
    /// Returns [`ErrorKind::Unsupported`](context_core::ErrorKind::Unsupported) if a newer program
    /// wrote the schema, if another program uses it, if a store of an older version is opened
    /// read-only, if the server is older than version 13, or if the database is not encoded in
    /// UTF-8. Returns [`ErrorKind::NotFound`](context_core::ErrorKind::NotFound) if the store or
    /// the database does not exist and must not be created. Returns
    /// [`ErrorKind::Unavailable`](context_core::ErrorKind::Unavailable) if the server cannot be
    /// reached.
    pub async fn open(config: PostgresConfig) -> Result<Self> {
        config.check()?;
        let pool = Pool::new(&config);
        let opened = match schema::begin(&pool, &config).await {
            Err(fault)
                if fault.database_is_missing() && config.may_create() && config.create_database =>
            {
                match database::create(&config).await {
                    Ok(()) => schema::begin(&pool, &config).await,
                    Err(fault) => Err(fault),
                }
            }
            opened => opened,
        };
        let facts = opened.map_err(|fault| {
            let missing = fault.database_is_missing().then(|| database::name(&config)).flatten();
            let mut error = fault.during("open").with("schema", &config.schema);
            error = match database::server(&config) {
                Some(server) => error.with("server", server),
                None => error,
            };
            match missing {
                Some(name) => error.with("database", name),
                None => error,
            }
        })?;
        let pool = Arc::new(pool);
        let notifications = Notifications::new(Arc::clone(&pool), &config.schema);
        Ok(Self(Shared {
            pool,
            watches: SharedWatches::new(notifications),
            branch_lengths: BranchLengths::default(),
            appends: Queue::<QueuedAppend>::default(),
            looks: Queue::<Look>::default(),
            schema: config.schema,
            facts,
        }))
    }

    /// Whether vectors of memories are compared in the server, by the extension pgvector.
    pub fn pgvector(&self) -> bool {
        self.0.facts.pgvector.is_some()
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts = &self.0.facts;
        f.debug_struct("PostgresStore")
            .field("schema", &self.0.schema)
            .field("durability", &facts.durability)
            .field("full_text", &facts.full_text)
            .field("pgvector", &facts.pgvector.is_some())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn info(&self) -> StoreInfo {
        let facts = &self.0.facts;
        StoreInfo::new("postgres", facts.durability, true)
            .strongest(facts.strongest)
            .warning(facts.warning)
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
        let Some(window) = FirstWindow::of(window) else {
            return OpenedChat::read(self, chat, branch, window).await;
        };
        work!(self.0.pool, "open_chat", Work::Read, &chat.user, |session| {
            opening::open(session, chat, branch, window).await
        })
    }

    fn fragment_log(&self) -> Option<&dyn FragmentLogStore> {
        Some(&self.0)
    }

    fn ref_log(&self) -> Option<&dyn RefLogStore> {
        Some(&self.0)
    }

    fn search(&self) -> Option<&dyn SearchStore> {
        self.0.facts.full_text.then_some(&self.0 as &dyn SearchStore)
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

    /// Closes the connections. A connection in use is closed when its operation ends. A pool of the
    /// caller stays open.
    async fn close(&self) -> Result<()> {
        self.0.watches.close().await;
        self.0.pool.close().await.map_err(|fault| fault.during("close"))
    }
}
