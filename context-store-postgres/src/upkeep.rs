//! What is done to a store as a whole: erasing a user, pruning.

pub(crate) mod erase;
pub(crate) mod prune;
