//! Operations on a whole store: backing up, erasing a user, pruning.

pub(crate) mod backup;
pub(crate) mod erase;
pub(crate) mod prune;
