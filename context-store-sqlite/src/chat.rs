//! One chat: finding a chat of a user, its row, its branches, and the runs and tails of its
//! messages.

pub(crate) mod access;
pub(crate) mod branches;
pub(crate) mod rows;
pub(crate) mod runs;
pub(crate) mod tails;
