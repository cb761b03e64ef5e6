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
    pub(crate) blocks: KnownBlocks,
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
        let (blocks, writes) = (KnownBlocks::default(), AtomicU64::new(0));
        Self { connection, keys, ttl, server, flushes, watches, blocks, handle, writes }
    }

    /// Returns a version that no chat ever had.
    pub(crate) fn new_version(&self) -> Vec<u8> {
        let version = format!("{}.{}", self.handle, self.writes.fetch_add(1, Ordering::Relaxed));
        checksums::summed("v", &version)
    }
}

/// The first and the last block of messages that were last read of a chat, by their first
/// positions.
/// A guess at what the next read needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockRange {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl BlockRange {
    /// The first block, which is all that a short chat has.
    const SHORT: Self = Self { first: 1, last: 1 };
    /// No block: the script reads the chat.
    pub(crate) const NONE: Self = Self { first: 1, last: 0 };
}

/// The blocks that this handle has last read of chats that are not short.
#[derive(Default)]
pub(crate) struct KnownBlocks(Mutex<BoundedMap<ChatRef, BlockRange>>);

impl KnownBlocks {
    pub(crate) fn of(&self, chat: &ChatRef) -> BlockRange {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(chat).copied().unwrap_or(BlockRange::SHORT)
    }

    pub(crate) fn learn(&self, chat: &ChatRef, blocks: BlockRange) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.get(chat).unwrap_or(&BlockRange::SHORT) != &blocks {
            known.learn(chat.clone(), blocks);
        }
    }
}
