//! The state that all calls of a store handle share, and the limits of a commit and its attempts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use context_core::{ChatRef, Error};
use context_store_kit::BoundedMap;
use context_store_kit::watch::SharedWatches;

use crate::checksums;
use crate::config::RedisConfig;
use crate::connections::Connection;
use crate::connections::flush::Flushes;
use crate::connections::publications::Publications;
use crate::connections::server::ServerRating;
use crate::error::Result;
use crate::keys::Keys;

/// The number of times a write is decided again because another write was first.
pub(crate) const ATTEMPTS: u32 = 64;

/// The maximum number of bytes of one commit. A server closes the connection on a command of a
/// gigabyte.
const MAX_COMMIT_BYTES: usize = 512 << 20;

/// Rejects a commit that no server would read.
pub(crate) fn check_bytes(operation: &'static str, bytes: usize) -> Result<()> {
    if bytes <= MAX_COMMIT_BYTES {
        return Ok(());
    }
    let error =
        Error::invalid(operation, "the commit has more bytes than the limit for one commit");
    Err(error.with("bytes", bytes).with("limit", MAX_COMMIT_BYTES).into())
}

/// The shared state. It implements the store traits in place of the store, so that
/// `store.fragments()` is not ambiguous.
pub(crate) struct Shared {
    pub(crate) connection: Connection,
    pub(crate) keys: Keys,
    /// In milliseconds, 0 for no expiry.
    pub(crate) ttl: u64,
    pub(crate) server: ServerRating,
    pub(crate) flushes: Flushes,
    pub(crate) watches: SharedWatches<Publications>,
    pub(crate) first_blocks: FirstBlocks,
    /// The number of this handle of the store, which makes its versions unique.
    handle: u64,
    writes: AtomicU64,
}

impl Shared {
    /// Returns the state of the handle with this number, and of servers with these settings and
    /// runs.
    pub(crate) fn new(
        connection: Connection,
        config: RedisConfig,
        handle: u64,
        (server, runs): (ServerRating, Vec<String>),
    ) -> Self {
        let (keys, ttl) = (Keys::new(&config.prefix), config.ttl_millis());
        let publications = Publications::new(connection.clone(), &config, &keys);
        let watches = SharedWatches::new(publications);
        let flushes = Flushes::new(config, runs);
        let (first_blocks, writes) = (FirstBlocks::default(), AtomicU64::new(0));
        Self { connection, keys, ttl, server, flushes, watches, first_blocks, handle, writes }
    }

    /// Returns a version that no chat ever had.
    pub(crate) fn new_version(&self) -> Vec<u8> {
        let version = format!("{}.{}", self.handle, self.writes.fetch_add(1, Ordering::Relaxed));
        checksums::summed("v", &version)
    }
}

/// The chats whose first block of messages was read in vain, as far as this handle has seen: the
/// window begins behind it, or the branch is on another piece. The next read asks for it only when
/// it is needed.
#[derive(Default)]
pub(crate) struct FirstBlocks(Mutex<BoundedMap<ChatRef, ()>>);

impl FirstBlocks {
    /// Whether the first block of a chat is likely to be needed.
    pub(crate) fn are_needed(&self, chat: &ChatRef) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(chat).is_none()
    }

    /// Remembers that the first block of a chat was not needed.
    pub(crate) fn skip(&self, chat: &ChatRef) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).learn(chat.clone(), ());
    }
}
