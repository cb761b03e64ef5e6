//! Chats and their messages: writing, reading, branches, checkpoints, lists.

pub(crate) mod append;
mod branch_read;
pub(crate) mod branches;
pub(crate) mod chats;
pub(crate) mod checkpoints;
pub(crate) mod commit;
pub(crate) mod facts;
pub(crate) mod listing;
pub(crate) mod messages;
pub(crate) mod opening;
pub(crate) mod read;
pub(crate) mod ref_log;
pub(crate) mod runs;
