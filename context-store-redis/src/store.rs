//! The store: the traits of the seam, each call handed to where it is done.

use std::fmt;

use context_core::Result;

use crate::config::RedisConfig;
use crate::connection::Connection;
use crate::keys::Keys;

/// A store on a Redis server or cluster. Keep it behind an `Arc`; every task may use it.
pub struct RedisStore(Shared);

/// What every part of the store needs.
pub(crate) struct Shared {
    pub(crate) connection: Connection,
    pub(crate) keys: Keys,
}

impl RedisStore {
    /// Connects to the server. Several processes may use the same store at once.
    pub async fn open(config: RedisConfig) -> Result<Self> {
        config.check()?;
        let connection = Connection::open(&config).await.map_err(|fault| fault.during("open"))?;
        Ok(Self(Shared { connection, keys: Keys::new(&config.prefix) }))
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").finish_non_exhaustive()
    }
}
