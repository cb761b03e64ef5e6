//! Chats and their messages: writing, reading, branches, checkpoints, lists.

pub(crate) mod append;
pub(crate) mod asked;
pub(crate) mod branches;
pub(crate) mod change;
pub(crate) mod chats;
pub(crate) mod commit;
pub(crate) mod fields;
pub(crate) mod listing;
pub(crate) mod look;
pub(crate) mod messages;
pub(crate) mod read;
pub(crate) mod runs;
pub(crate) mod shape;
