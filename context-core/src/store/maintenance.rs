//! Maintenance of a store as a whole.

use std::fmt;
use std::path::Path;

use async_trait::async_trait;
use serde::Serialize;

use crate::base::display::clean;
use crate::store::{Cursor, Page};
use crate::{CancelSignal, ChatRef, Error, ErrorKind, Result, Timestamp, UserId};

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The chat, if the finding is about one chat.
    pub chat: Option<ChatRef>,
    /// The subject: a message, a branch, a table.
    pub about: String,
    /// A description of the problem.
    pub problem: String,
}

impl Finding {
    /// Creates a finding about `about`.
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

/// The result of a check: counts of the examined items, and the violated invariants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CheckReport {
    /// Number of chats examined.
    pub chats: u64,
    /// Number of messages examined.
    pub messages: u64,
    /// Number of blobs examined.
    pub blobs: u64,
    /// Number of streams examined.
    pub streams: u64,
    /// Number of trajectory rounds examined.
    pub rounds: u64,
    /// Number of memory records examined.
    pub memories: u64,
    /// The violated invariants. Empty for a sound store.
    pub findings: Vec<Finding>,
}

/// The result of erasing a user: counts of the erased items, and of the records that a second read
/// found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[must_use]
#[non_exhaustive]
pub struct Erasure {
    /// Number of erased chats.
    pub chats: u64,
    /// Number of erased messages, on all branches.
    pub messages: u64,
    /// Number of erased blobs.
    pub blobs: u64,
    /// Number of erased streams.
    pub streams: u64,
    /// Number of erased trajectory rounds.
    pub rounds: u64,
    /// Number of erased memory records.
    pub memories: u64,
    /// Number of records of this user, of every kind and in every index, that a scan of the whole
    /// store found afterwards. If it is not 0, records were written during the erasure: erase
    /// again.
    pub remaining: u64,
}

impl Erasure {
    /// Creates the result for these chats, messages and remaining records.
    pub fn new(chats: u64, messages: u64, remaining: u64) -> Self {
        Self { chats, messages, blobs: 0, streams: 0, rounds: 0, memories: 0, remaining }
    }
}

/// The result of a vacuum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Vacuumed {
    /// Size of the store before, in bytes.
    pub before: u64,
    /// Size of the store now, in bytes.
    pub after: u64,
}

impl Vacuumed {
    /// Creates a result from the sizes before and after, in bytes.
    pub fn new(before: u64, after: u64) -> Self {
        Self { before, after }
    }
}

/// Facts about the backend of a store, for its operator. `None` means unknown: the backend has no
/// such fact, or does not tell it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StoreFacts {
    /// The name and version of the engine or server, such as `PostgreSQL 17.2`.
    pub engine: Option<String>,
    /// Size in bytes: of the file, of the tables, or of the memory that the server uses.
    pub bytes: Option<u64>,
    /// The part of `bytes` that [`Maintenance::vacuum`] would free. `None` if only a vacuum tells.
    pub unused: Option<u64>,
    /// The present time of the server, if there is one.
    pub time: Option<Timestamp>,
}

/// Operations on a store as a whole, for its operator. They are not scoped to a user.
#[async_trait]
pub trait Maintenance: Send + Sync {
    /// Checks every invariant: the backend's own files, the schema, indexes, every chat's graph
    /// (`check_chat_graph`), blob hashes and reference counts, chunk counts of streams, the
    /// graphs of trajectory rounds, and the word index of memories. Changes nothing. Checks
    /// `cancel` between chats and [reports](CancelSignal::report) what was checked to it.
    async fn check(&self, cancel: &CancelSignal) -> Result<CheckReport>;

    /// Erases a user: every chat with everything in it, every trajectory round, every memory, and
    /// every trace in the store's files that the store can clear (freed pages, logs, indexes). Then
    /// reads back. Checks `cancel` between chats and [reports](CancelSignal::report) the erased
    /// messages to it, and maybe rounds and memories; everything erased until then stays erased.
    async fn erase_user(&self, user: &UserId, cancel: &CancelSignal) -> Result<Erasure>;

    /// Lists the users that have a chat, a trajectory round or a memory, ordered by id, page by
    /// page (`limit` from 1 to [`limits::MAX_PAGE`](crate::base::limits::MAX_PAGE)).
    /// [`Unsupported`](ErrorKind::Unsupported) if the backend cannot list users.
    async fn users(&self, limit: usize, after: Option<&Cursor>) -> Result<Page<UserId>> {
        let _ = (limit, after);
        Err(Error::new(ErrorKind::Unsupported, "users", "this store does not list its users"))
    }

    /// Returns facts about the backend. Only reads, at a cost that does not grow with the chats. A
    /// fact that the backend refuses to tell is unknown, and not an error.
    async fn facts(&self) -> Result<StoreFacts> {
        Ok(StoreFacts::default())
    }

    /// Returns unused space to the system and clears deleted data from it.
    /// [`Unsupported`](ErrorKind::Unsupported) if the backend does this itself or cannot.
    async fn vacuum(&self) -> Result<Vacuumed> {
        Err(Error::new(ErrorKind::Unsupported, "vacuum", "this store has nothing to vacuum"))
    }

    /// Writes one consistent snapshot of the whole store to a new file, while the store is in use.
    /// The file can be opened as a store. [`Invalid`](ErrorKind::Invalid) if the file exists;
    /// [`Unsupported`](ErrorKind::Unsupported) if the backend has other means of backup.
    async fn backup(&self, to: &Path) -> Result<()> {
        let _ = to;
        Err(Error::new(ErrorKind::Unsupported, "backup", "this store is not backed up into a file"))
    }
}
