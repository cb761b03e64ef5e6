//! What is done to a store as a whole: erasing a user, sweeping lists.

pub(crate) mod erase;
pub(crate) mod sweep;
