//! Operations on a whole store: backup, erasing a user, and vacuum.

pub(crate) mod backup;
pub(crate) mod erase;
