//! The place of a message: one integer made of the number of its branch and its number there.

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
