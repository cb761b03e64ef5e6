//! Looking after a store as a whole.

use std::fmt;
use std::path::Path;

use async_trait::async_trait;
use serde::Serialize;

use crate::base::shown::clean;
use crate::store::{Cursor, Page};
use crate::{CancelSignal, ChatRef, Error, ErrorKind, Result, UserId};

/// One thing that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// Where, if it is about one chat.
    pub chat: Option<ChatRef>,
    /// About what: a message, a branch, a table.
    pub about: String,
    /// What is wrong.
    pub problem: String,
}

impl Finding {
    /// Something wrong with `about`.
    pub fn new(
        chat: Option<&ChatRef>,
        about: impl fmt::Display,
        problem: impl Into<String>,
    ) -> Self {
        Self { chat: chat.cloned(), about: about.to_string(), problem: problem.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(chat) = &self.chat {
            write!(f, "{}/{} ", clean(chat.user.as_str()), clean(chat.chat.as_str()))?;
        }
        write!(f, "{}: {}", clean(&self.about), clean(&self.problem))
    }
}

/// What a check looked at and found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CheckReport {
    /// Chats looked at.
    pub chats: u64,
    /// Messages looked at.
    pub messages: u64,
    /// Blobs looked at.
    pub blobs: u64,
    /// Streams looked at.
    pub streams: u64,
    /// Rounds of trajectories looked at.
    pub rounds: u64,
    /// Records of memories looked at.
    pub memories: u64,
    /// What is wrong; empty if all is well.
    pub findings: Vec<Finding>,
}

/// What was erased of a user, and what is left: proof by reading back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[must_use]
#[non_exhaustive]
pub struct Erasure {
    /// Chats that were erased.
    pub chats: u64,
    /// Messages that were erased, on all branches.
    pub messages: u64,
    /// Blobs that were erased.
    pub blobs: u64,
    /// Streams that were erased.
    pub streams: u64,
    /// Rounds of trajectories that were erased.
    pub rounds: u64,
    /// Records of memories that were erased.
    pub memories: u64,
    /// Records of this user, of every kind and in every index, that a search of the whole store
    /// found afterwards. Anything but 0 was written while the user was being erased: erase again.
    pub remaining: u64,
}

impl Erasure {
    /// What was erased, and what was found afterwards.
    pub fn new(chats: u64, messages: u64, remaining: u64) -> Self {
        Self { chats, messages, blobs: 0, streams: 0, rounds: 0, memories: 0, remaining }
    }
}

/// What giving back space has brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Vacuumed {
    /// Bytes the store took before.
    pub before: u64,
    /// Bytes it takes now.
    pub after: u64,
}

impl Vacuumed {
    /// Sizes before and after, in bytes.
    pub fn new(before: u64, after: u64) -> Self {
        Self { before, after }
    }
}

/// Work on a store as a whole, for its operator: not scoped by the user who asks.
#[async_trait]
pub trait Maintenance: Send + Sync {
    /// Checks every invariant: of the backend's own files, of the layout, of indexes, of every
    /// chat's graph ([`check_chat_graph`]), that blobs are what their names say and are referred to
    /// as often as they say, that streams have the chunks they say, that rounds of trajectories are
    /// graphs, and that memories are found by their words. Changes nothing. Asks `cancel` between
    /// chats.
    async fn check(&self, cancel: &CancelSignal) -> Result<CheckReport>;

    /// Erases a user: every chat with all that belongs to it, every round of a trajectory, every
    /// memory, and every trace in the store's files that it can clear (freed pages, logs, indexes).
    /// Then reads back. Asks `cancel` between chats; what was erased until then stays erased.
    async fn erase_user(&self, user: &UserId, cancel: &CancelSignal) -> Result<Erasure>;

    /// Whoever has a chat, a round of a trajectory or a memory, ordered by id, page by page
    /// (`limit` from 1 to [`limits::MAX_PAGE`](crate::base::limits::MAX_PAGE)).
    /// [`Unsupported`](ErrorKind::Unsupported) where the backend cannot tell.
    async fn users(&self, limit: usize, after: Option<&Cursor>) -> Result<Page<UserId>> {
        let _ = (limit, after);
        Err(Error::new(ErrorKind::Unsupported, "users", "this store does not list its users"))
    }

    /// Gives space that is not used back to the system, and clears what was deleted from it.
    /// [`Unsupported`](ErrorKind::Unsupported) where the backend does this itself or cannot.
    async fn vacuum(&self) -> Result<Vacuumed> {
        Err(Error::new(ErrorKind::Unsupported, "vacuum", "this store has nothing to vacuum"))
    }

    /// Writes one consistent state of the whole store to a new file, while it is in use. The file
    /// is a store that can be opened. [`Invalid`](ErrorKind::Invalid) if the file exists;
    /// [`Unsupported`](ErrorKind::Unsupported) where backups are made by other means.
    async fn backup(&self, to: &Path) -> Result<()> {
        let _ = to;
        Err(Error::new(ErrorKind::Unsupported, "backup", "this store is not backed up into a file"))
    }
}
