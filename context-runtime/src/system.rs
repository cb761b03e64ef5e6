//! The host environment: its clock and fresh ids.
//!
//! The only place in the library that reads a clock or a random source. Both are defaults of
//! [`ContextEngine::builder`](crate::ContextEngine::builder) and can be replaced there.

use std::time::{SystemTime, UNIX_EPOCH};

use context_core::{Clock, IdGenerator, Timestamp};
use uuid::Uuid;

/// The host's wall clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A clock before 1970 or after the year 294,000 is a broken host, and no reason to fail a
        // save.
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(elapsed.as_micros()).unwrap_or(i64::MAX))
    }
}

/// UUIDs of version 7 (RFC 9562): unique across processes, and new ones sort after old ones, which
/// keeps a store's index of ids compact. Nothing relies on that order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uuid7Ids;

impl IdGenerator for Uuid7Ids {
    fn next_id(&self) -> String {
        Uuid::now_v7().to_string()
    }
}
