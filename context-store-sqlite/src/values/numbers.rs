//! Counts and lengths as SQLite integers.

use crate::error::{Fault, Result};

/// Converts a count from the file to `u64`.
pub(crate) fn count(stored: i64) -> Result<u64> {
    u64::try_from(stored).map_err(|_| Fault::Corrupt("a count is negative", None))
}

/// Converts a count that is NULL if its source differs from its checksum.
pub(crate) fn agreed(stored: Option<i64>) -> Result<u64> {
    count(stored.ok_or(Fault::Corrupt("branches of a chat differ from their checksums", None))?)
}

/// Converts a length in memory to an SQLite integer.
pub(crate) fn signed(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}
