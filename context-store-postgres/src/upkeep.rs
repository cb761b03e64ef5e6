//! Operations on a whole store: erasing a user, pruning.

pub(crate) mod erase;
pub(crate) mod prune;
