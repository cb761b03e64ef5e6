//! Rounds of trajectories: writing, reading, listing and removing them. The layout is described in
//! [`fields`](crate::rounds::fields).
//!
//! The rounds of a user are in one slot together with their two indexes, so a commit is one script.
//! An expired round leaves its index entries. Readers ignore them, and they are removed when the
//! rounds of the user are listed, or a few at a time when new rounds are begun.

pub(crate) mod encoding;
pub(crate) mod erase;
pub(crate) mod fields;
pub(crate) mod index;
pub(crate) mod names;
pub(crate) mod read;
pub(crate) mod write;
