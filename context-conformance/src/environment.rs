//! A predictable clock and predictable ids for tests.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use context_core::{Clock, IdGenerator, Timestamp};

/// A clock that stands still until it is advanced.
///
/// ```
/// use context_conformance::FixedClock;
/// use context_core::{Clock, Timestamp};
///
/// let clock = FixedClock::at(1_000);
/// assert_eq!(clock.now(), clock.now());
/// clock.advance(5);
/// assert_eq!(clock.now(), Timestamp::from_micros(1_005));
/// ```
#[derive(Debug, Default)]
pub struct FixedClock(AtomicI64);

impl FixedClock {
    /// Returns a clock that shows `micros` microseconds since 1970.
    pub fn at(micros: i64) -> Self {
        Self(AtomicI64::new(micros))
    }

    /// Moves the clock forward by `micros` microseconds, or back if negative.
    pub fn advance(&self, micros: i64) {
        self.0.fetch_add(micros, Ordering::Relaxed);
    }

    /// Moves the clock forward by one microsecond and returns the new time. No two calls return the
    /// same time.
    pub fn tick(&self) -> Timestamp {
        Timestamp::from_micros(self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::Relaxed))
    }
}

/// A generator of sequential ids: `id-1`, `id-2`, and so on. Ids are unique per generator only.
///
/// ```
/// use context_conformance::SequenceIds;
/// use context_core::IdGenerator;
///
/// let ids = SequenceIds::new("m");
/// assert_eq!([ids.next_id(), ids.next_id()], ["m-1", "m-2"]);
/// ```
#[derive(Debug)]
pub struct SequenceIds {
    prefix: String,
    last: AtomicU64,
}

impl SequenceIds {
    /// Generates ids of the form `<prefix>-<n>`.
    pub fn new(prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), last: AtomicU64::new(0) }
    }
}

impl Default for SequenceIds {
    fn default() -> Self {
        Self::new("id")
    }
}

impl IdGenerator for SequenceIds {
    fn next_id(&self) -> String {
        format!("{}-{}", self.prefix, self.last.fetch_add(1, Ordering::Relaxed) + 1)
    }
}
