//! Operations on a whole store: erasing a user, removing stale list entries.

pub(crate) mod erase;
pub(crate) mod sweep;
