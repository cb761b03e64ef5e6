//! Chats and their messages: commits, reads, branches, checkpoints, lists, and the index of words.

pub(crate) mod append;
pub(crate) mod branches;
pub(crate) mod chats;
pub(crate) mod checkpoints;
pub(crate) mod commit;
pub(crate) mod group_commit;
pub(crate) mod listing;
pub(crate) mod messages;
pub(crate) mod opening;
pub(crate) mod prune;
pub(crate) mod read;
pub(crate) mod ref_log;
pub(crate) mod unindexed;
pub(crate) mod words;
