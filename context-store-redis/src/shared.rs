//! What every part of the store needs.

use std::sync::atomic::{AtomicU64, Ordering};

use context_core::Error;

use crate::config::RedisConfig;
use crate::connection::Connection;
use crate::error::Result;
use crate::keys::Keys;
use crate::layout;
use crate::seals;

/// How often a write is decided anew because others were first.
pub(crate) const ATTEMPTS: u32 = 64;

/// The most bytes of one commit: a server closes the connection on a command of a gigabyte.
const MAX_COMMIT_BYTES: usize = 512 << 20;

/// Refuses a commit that no server would read.
pub(crate) fn check_bytes(operation: &'static str, bytes: usize) -> Result<()> {
    if bytes <= MAX_COMMIT_BYTES {
        return Ok(());
    }
    let error = Error::invalid(operation, "too many bytes in one commit");
    Err(error.with("bytes", bytes).with("limit", MAX_COMMIT_BYTES).into())
}

/// Implements the traits apart from the store, so that `store.fragments()` can only mean one thing.
pub(crate) struct Shared {
    pub(crate) connection: Connection,
    pub(crate) keys: Keys,
    /// Milliseconds; 0 for ever.
    pub(crate) ttl: u64,
    /// The how-manieth handle of the store this is: makes its versions different from those of all
    /// others.
    handle: u64,
    writes: AtomicU64,
}

impl Shared {
    pub(crate) async fn open(config: &RedisConfig) -> Result<Self> {
        let connection = Connection::open(config).await?;
        let keys = Keys::new(&config.prefix);
        let handle = layout::open(&connection, &keys, config.create).await?;
        Ok(Self { connection, keys, ttl: config.ttl_millis(), handle, writes: AtomicU64::new(0) })
    }

    /// A version that no chat ever had.
    pub(crate) fn new_version(&self) -> Vec<u8> {
        let version = format!("{}.{}", self.handle, self.writes.fetch_add(1, Ordering::Relaxed));
        seals::summed("v", &version)
    }
}
