//! Timestamps before now.

use context_core::Timestamp;

/// Returns the timestamp this many microseconds earlier.
pub(super) fn earlier(now: Timestamp, back: usize) -> Timestamp {
    Timestamp::from_micros(now.as_micros() - back as i64)
}
