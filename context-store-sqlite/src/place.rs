//! Where a message is: one number that holds its branch and its number there.

use crate::error::{Fault, Result};

const BITS: u32 = 32;

/// The place of the `own`th message of a branch, from 1; 0 is the place before the first.
pub(crate) fn place(branch: i64, own: i64) -> i64 {
    (branch << BITS) + own
}

/// The branch a place is on.
pub(crate) fn branch_of(place: i64) -> i64 {
    place >> BITS
}

/// The how-manieth message of its branch is there.
pub(crate) fn own_of(place: i64) -> i64 {
    place & ((1 << BITS) - 1)
}

/// A count from the file as a `u64`.
pub(crate) fn count(stored: i64) -> Result<u64> {
    u64::try_from(stored).map_err(|_| Fault::Corrupt("a count is negative", None))
}

/// The same of one that is nothing if what it is counted from differs from its checksum.
pub(crate) fn agreed(stored: Option<i64>) -> Result<u64> {
    count(stored.ok_or(Fault::Corrupt("branches of a chat differ from their checksums", None))?)
}

/// A length in memory as SQLite counts.
pub(crate) fn signed(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}
