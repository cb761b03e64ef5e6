//! What code may not take from the world by itself: the time, and fresh ids.
//!
//! Both are injected, so that a run can be repeated to the byte. This crate holds no implementation that reads
//! a clock or a random source; the facade has them (`SystemClock`, `Uuid7Ids`), the conformance kit has fixed
//! ones.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Microseconds since 1970-01-01 UTC, the unit of every time in a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// A time from microseconds since 1970-01-01 UTC.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since 1970-01-01 UTC.
    pub const fn as_micros(self) -> i64 {
        self.0
    }
}

/// Tells the time. Implementors: never go backwards by more than the host's clock does; do not block.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// Makes fresh ids. Implementors: never return the same text twice, also not in two processes; the text is at
/// most [`limits::MAX_ID_BYTES`](crate::limits::MAX_ID_BYTES) long. Callers: do not read an order out of ids.
pub trait IdGenerator: fmt::Debug + Send + Sync + 'static {
    /// A fresh id.
    fn next_id(&self) -> String;
}
