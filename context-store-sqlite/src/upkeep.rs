//! What is done to a store as a whole: backing up, erasing a user, pruning.

pub(crate) mod backup;
pub(crate) mod erase;
pub(crate) mod prune;
