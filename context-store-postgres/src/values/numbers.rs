//! Counts and lengths as PostgreSQL integers.

use crate::error::{Fault, Result};

/// Converts a count from the database to `u64`.
pub(crate) fn count(stored: i64) -> Result<u64> {
    u64::try_from(stored).map_err(|_| Fault::Corrupt("a count is negative", None))
}

/// Converts a length in memory to a PostgreSQL integer.
pub(crate) fn signed(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// Converts a count to a PostgreSQL integer.
pub(crate) fn signed_count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
