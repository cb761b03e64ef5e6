//! Operations on a whole store: listing its users, erasing a user.

pub(crate) mod erase;
pub(crate) mod users;
