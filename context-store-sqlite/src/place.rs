//! The place of a message: one integer made of the number of its branch and its number there.

use crate::error::{Fault, Result};

const BITS: u32 = 32;

/// Returns the place of the `own`th message of a branch, counted from 1. Number 0 is the place
/// before the first message.
pub(crate) fn place(branch: i64, own: i64) -> i64 {
    (branch << BITS) + own
}

/// Returns the branch of a place.
pub(crate) fn branch_of(place: i64) -> i64 {
    place >> BITS
}

/// Returns the number of the message within its branch.
pub(crate) fn own_of(place: i64) -> i64 {
    place & ((1 << BITS) - 1)
}

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
