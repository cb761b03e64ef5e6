//! Times before now.

use context_core::Timestamp;

/// So many ticks ago.
pub(super) fn earlier(now: Timestamp, back: usize) -> Timestamp {
    Timestamp::from_micros(now.as_micros() - back as i64)
}
