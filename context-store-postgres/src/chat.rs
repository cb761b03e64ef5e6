//! A chat as several parts of the store need it: access of a user to a chat, its row, its branches.

pub(crate) mod access;
pub(crate) mod branches;
pub(crate) mod rows;
