//! The log of the references of a chat: what became of its branches and checkpoints.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::base::{CheckpointName, limits};
use crate::{BranchName, ChatRef, MessageId, Result, Timestamp};

/// The log of the references of a chat, as `git reflog` has one: an optional ability of a store.
///
/// A store with this ability adds an entry for each [`RefChange`], in the transaction that makes
/// the change. A call that changes no reference adds none, and neither does a commit that only
/// appends to a branch: the messages show where the branch was. The newest
/// [`limits::MAX_REF_CHANGES`] entries of a chat are kept, until they are cleared or the chat is
/// deleted.
#[async_trait]
pub trait RefLogStore: Send + Sync {
    /// Returns the log of a chat, as one consistent state. Empty for a chat whose references have
    /// not changed since the store keeps a log. A chat that does not exist is
    /// [`NotFound`](crate::ErrorKind::NotFound).
    async fn ref_log(&self, chat: &ChatRef) -> Result<RefLog>;

    /// Deletes all entries of the log of a chat, such as names that nobody shall read any longer.
    /// Branches and checkpoints stay. Returns the number of deleted entries. Space that the backend
    /// has freed is cleared by [`Maintenance::vacuum`](crate::store::Maintenance::vacuum). A chat
    /// that does not exist is [`NotFound`](crate::ErrorKind::NotFound).
    async fn clear_ref_log(&self, chat: &ChatRef) -> Result<u64>;
}

/// A change of a branch or a checkpoint, or the removal of content of messages. Names messages by
/// their ids, which may be those of messages that no longer exist, and never has content. The JSON
/// form is stable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RefChange {
    /// A commit created a branch. The branch `main`, with which a chat begins, is not logged.
    BranchCreated {
        /// The new branch.
        branch: BranchName,
        /// The message that the branch began after. `None` for a new root.
        from: Option<MessageId>,
    },
    /// Another branch became the active one.
    BranchActivated {
        /// The branch that was active.
        from: BranchName,
        /// The branch that became active.
        to: BranchName,
    },
    /// A branch got another name.
    BranchRenamed {
        /// The old name.
        from: BranchName,
        /// The new name.
        to: BranchName,
    },
    /// A branch was deleted.
    BranchDeleted {
        /// The deleted branch.
        branch: BranchName,
        /// The newest message of the branch. `None` for a branch without messages.
        head: Option<MessageId>,
        /// Number of messages that were deleted with the branch, because nothing else reached them.
        messages: u64,
    },
    /// A checkpoint was set, or moved to another message.
    CheckpointSet {
        /// The checkpoint.
        checkpoint: CheckpointName,
        /// The message that the checkpoint pointed to. `None` for a new checkpoint.
        from: Option<MessageId>,
        /// The message that the checkpoint points to.
        to: MessageId,
        /// Number of messages that were deleted, because only the old position reached them.
        messages: u64,
    },
    /// A checkpoint was deleted.
    CheckpointDeleted {
        /// The deleted checkpoint.
        checkpoint: CheckpointName,
        /// The message that the checkpoint pointed to.
        from: MessageId,
        /// Number of messages that were deleted, because only the checkpoint reached them.
        messages: u64,
    },
    /// A commit redacted messages: it replaced their content without keeping the old content. The
    /// rotation of encryption keys does so, too, with equal content.
    MessagesRedacted {
        /// Number of redacted messages.
        messages: u64,
    },
}

/// An entry of the log of references.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RefLogEntry {
    /// The number of the entry, from 1, among all that the chat had since the log was cleared.
    pub number: u64,
    /// The time of the call that made the change.
    pub at: Timestamp,
    /// The change.
    #[serde(flatten)]
    pub change: RefChange,
}

impl RefLogEntry {
    /// Creates an entry.
    pub fn new(number: u64, at: Timestamp, change: RefChange) -> Self {
        Self { number, at, change }
    }
}

/// The entries of the log of references that a store still has, in the order of the changes.
///
/// ```
/// use context_core::Timestamp;
/// use context_core::store::{RefChange, RefLog};
///
/// let mut log = RefLog::default();
/// let change = RefChange::BranchRenamed { from: "main".into(), to: "draft".into() };
/// log.push(Timestamp::from_micros(5), change.clone());
/// assert_eq!(log.entries()[0].number, 1);
/// assert_eq!(log.entries()[0].change, change);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RefLog {
    entries: Vec<RefLogEntry>,
}

impl RefLog {
    /// Creates a log from stored entries. `None` if their numbers do not follow each other, which
    /// means that an entry was lost.
    pub fn new(entries: Vec<RefLogEntry>) -> Option<Self> {
        let mut pairs = entries.iter().zip(entries.iter().skip(1));
        let whole = pairs.all(|(a, b)| a.number.checked_add(1) == Some(b.number));
        whole.then_some(Self { entries })
    }

    /// Returns the entries, oldest first.
    pub fn entries(&self) -> &[RefLogEntry] {
        &self.entries
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an entry, and drops those that are not kept any longer. For stores that keep a log as
    /// one value.
    pub fn push(&mut self, at: Timestamp, change: RefChange) {
        let number = self.entries.last().map_or(0, |entry| entry.number) + 1;
        self.entries.push(RefLogEntry::new(number, at, change));
        let outdated = number.saturating_sub(limits::MAX_REF_CHANGES);
        self.entries.retain(|entry| entry.number > outdated);
    }
}
