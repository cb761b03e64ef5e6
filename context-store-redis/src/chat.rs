//! One chat: the fields of its hash, its branches, a consistent read of it, a change of it, and its
//! entry in the list of its user.
//!
//! The key of a chat's hash is made of the user and the chat, so no call reaches a chat of another
//! user.

pub(crate) mod change;
pub(crate) mod entries;
pub(crate) mod fields;
pub(crate) mod snapshot;
pub(crate) mod tree;
