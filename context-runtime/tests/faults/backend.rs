//! The backends, and the ways to reach their stores: directly, through a proxy, from another
//! process.

use std::fmt;
use std::net::{SocketAddr, SocketAddrV4};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use context_core::{Result, Store};
use context_servers::{Fsync, Postgres, PostgresOptions, Redis, RedisOptions, ServerError};
use context_store_inmem::InMemoryStore;
use context_store_postgres::{PostgresConfig, PostgresStore};
use context_store_redis::{RedisConfig, RedisStore};
use context_store_sqlite::{SqliteConfig, SqliteStore};
use serde::{Deserialize, Serialize};

use crate::error::CellError;

/// The time a store waits for an answer, where the test expects that none comes.
const PATIENCE: Duration = Duration::from_millis(400);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Backend {
    Inmem,
    Sqlite,
    Postgres,
    Redis,
}

impl Backend {
    pub(crate) const ALL: [Self; 4] = [Self::Inmem, Self::Sqlite, Self::Postgres, Self::Redis];

    pub(crate) fn has_server(self) -> bool {
        matches!(self, Self::Postgres | Self::Redis)
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inmem => "inmem",
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Redis => "redis",
        })
    }
}

/// The location of a store, to open it in this process or another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum StoreLocation {
    File(String),
    /// A server, and the schema of the store.
    Postgres(SocketAddr, String),
    /// A server, and the prefix of the store.
    Redis(SocketAddr, String),
}

impl StoreLocation {
    /// Returns the same store at another address.
    pub(crate) fn through(&self, address: SocketAddr) -> Self {
        match self {
            Self::File(path) => Self::File(path.clone()),
            Self::Postgres(_, schema) => Self::Postgres(address, schema.clone()),
            Self::Redis(_, prefix) => Self::Redis(address, prefix.clone()),
        }
    }

    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::File(_) => None,
            Self::Postgres(address, _) | Self::Redis(address, _) => Some(*address),
        }
    }

    /// Opens a separate handle to the store. An impatient one gives up unanswered calls early.
    pub(crate) async fn open(&self, impatient: bool) -> Result<Arc<dyn Store>> {
        Ok(match self {
            Self::File(path) => Arc::new(SqliteStore::open(SqliteConfig::new(path)).await?),
            Self::Postgres(address, schema) => {
                let config =
                    PostgresConfig::from_url(&format!("postgres://ctx@{address}/postgres"))?;
                let config = config.schema(schema).connections(1);
                let config = if impatient {
                    config.operation_timeout(PATIENCE).connect_timeout(PATIENCE)
                } else {
                    config
                };
                Arc::new(PostgresStore::open(config).await?)
            }
            Self::Redis(address, prefix) => {
                let config = RedisConfig::new(format!("redis://{address}")).prefix(prefix);
                let config = if impatient {
                    config.response_timeout(PATIENCE).connection_timeout(PATIENCE)
                } else {
                    config
                };
                Arc::new(RedisStore::open(config).await?)
            }
        })
    }
}

/// The store of a cell: its location, and what must live as long.
pub(crate) enum CellStore {
    Inmem(InMemoryStore),
    PlacedNode(
        StoreLocation,
        #[expect(dead_code, reason = "the folder goes when it is dropped")]
        Option<tempfile::TempDir>,
    ),
}

impl CellStore {
    /// Creates an empty store, on a server that all cells share if it needs one.
    pub(crate) async fn new(backend: Backend) -> std::result::Result<Self, CellError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(match backend {
            Backend::Inmem => Self::Inmem(InMemoryStore::default()),
            Backend::Sqlite => {
                let folder = tempfile::tempdir()?;
                let path = folder.path().join("store.db").display().to_string();
                Self::PlacedNode(StoreLocation::File(path), Some(folder))
            }
            Backend::Postgres => Self::PlacedNode(
                StoreLocation::Postgres(SERVERS.postgres()?.into(), format!("faults_{n}")),
                None,
            ),
            Backend::Redis => Self::PlacedNode(
                StoreLocation::Redis(SERVERS.redis()?.into(), format!("faults-{n}:")),
                None,
            ),
        })
    }

    pub(crate) fn place(&self) -> Option<&StoreLocation> {
        match self {
            Self::Inmem(_) => None,
            Self::PlacedNode(place, _) => Some(place),
        }
    }

    /// Opens a separate handle.
    pub(crate) async fn open(&self) -> Result<Arc<dyn Store>> {
        match self {
            Self::Inmem(store) => Ok(Arc::new(store.clone())),
            Self::PlacedNode(place, _) => place.open(false).await,
        }
    }
}

/// The servers that cells share, each started on first use.
struct Servers {
    postgres: Mutex<Option<Postgres>>,
    redis: Mutex<Option<Redis>>,
}

static SERVERS: Servers = Servers { postgres: Mutex::new(None), redis: Mutex::new(None) };

impl Servers {
    fn postgres(&self) -> std::result::Result<SocketAddrV4, ServerError> {
        let mut server = self.postgres.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = &*server {
            return Ok(server.address());
        }
        let options = PostgresOptions::new().setting("max_connections", "200");
        Ok(server.insert(Postgres::start(options)?).address())
    }

    fn redis(&self) -> std::result::Result<SocketAddrV4, ServerError> {
        let mut server = self.redis.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = &*server {
            return Ok(server.address());
        }
        Ok(server.insert(Redis::start(RedisOptions::new())?).address())
    }
}

/// Stops the servers, since a static is never dropped.
pub(crate) fn stop_servers() {
    drop(SERVERS.postgres.lock().unwrap_or_else(PoisonError::into_inner).take());
    drop(SERVERS.redis.lock().unwrap_or_else(PoisonError::into_inner).take());
}

/// A server for a cell that kills it. What it acknowledges is written to disk.
pub(crate) enum KillableServer {
    Postgres(Postgres),
    Redis(Redis),
}

impl KillableServer {
    /// Starts one, or returns `None` for a backend without a server.
    pub(crate) fn start(backend: Backend) -> std::result::Result<Option<Self>, ServerError> {
        Ok(match backend {
            Backend::Postgres => {
                Some(Self::Postgres(Postgres::start(PostgresOptions::new().durable(true))?))
            }
            Backend::Redis => {
                Some(Self::Redis(Redis::start(RedisOptions::new().append_only(Fsync::Always))?))
            }
            Backend::Inmem | Backend::Sqlite => None,
        })
    }

    pub(crate) fn place(&self) -> StoreLocation {
        match self {
            Self::Postgres(server) => {
                StoreLocation::Postgres(server.address().into(), "faults".to_owned())
            }
            Self::Redis(server) => {
                StoreLocation::Redis(server.address().into(), "faults:".to_owned())
            }
        }
    }

    /// Kills it and starts it again at the same address.
    pub(crate) fn kill_and_restart(&mut self) -> std::result::Result<(), ServerError> {
        match self {
            Self::Postgres(server) => server.kill().and_then(|()| server.restart()),
            Self::Redis(server) => server.kill().and_then(|()| server.restart()),
        }
    }
}
