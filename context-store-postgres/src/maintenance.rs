//! Operations on a whole store: erasing a user, vacuuming.

pub(crate) mod erase;
