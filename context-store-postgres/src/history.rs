//! Chats and their messages: writing, reading, branches, checkpoints, lists, the index of words,
//! and the removal of messages that nothing reaches.

pub(crate) mod append;
pub(crate) mod branch_lengths;
pub(crate) mod branches;
pub(crate) mod chats;
pub(crate) mod checkpoints;
pub(crate) mod commit;
pub(crate) mod listing;
pub(crate) mod messages;
pub(crate) mod news;
pub(crate) mod opening;
pub(crate) mod prune;
pub(crate) mod read;
pub(crate) mod ref_log;
pub(crate) mod words;
