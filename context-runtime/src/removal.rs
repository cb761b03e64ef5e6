//! Permanent removal of content: redacting messages, deleting chats, erasing users, with everything
//! derived from them.
//!
//! A message leaves more than its own text: earlier revisions, boundaries that summarize it,
//! trajectory nodes that stand for it, memories that have it as their source, blobs of its spilled
//! outputs, the stream of its answer, and the title of its chat. Each function here removes all of
//! that and counts it in a [`RemovalReport`]. It then searches everything else of the user for the
//! same words. Copies that no link leads to, such as a copied chat, are not changed but
//! [reported](Remaining). Words of system messages are only searched for if these are redacted,
//! since many chats have the same.
//!
//! With [`RemovalOptions::dry_run`] the same functions only read: the report then has what
//! [would go](RemovalReport::items), and what would remain.
//!
//! Each call is idempotent. Repeating it completes a call that was interrupted: linked content is
//! removed first, and the content that holds the links last.
//!
//! Out of reach are the memory of other processes (a runtime's session, a memory's queue, an open
//! recorder), files outside the store (exports, backups, local trajectory files), and data kept by
//! model providers. A store that keeps deleted content in unused space of its files clears it with
//! [`Maintenance::vacuum`](crate::store::Maintenance::vacuum).
//!
//! ```
//! use context_runtime::removal::{Redaction, RemovalOptions, redact_messages};
//! use context_runtime::{Clock, ContextEngine, SystemClock, user};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = context_runtime::open("mem:").await?;
//! let mut chat = ContextEngine::builder(store.clone()).user("ada").chat("bank").open().await?;
//! chat.set([user("My account is 12 34 56 78 90").with_id("oops")]).save().await?;
//!
//! let options = RemovalOptions::at(SystemClock.now());
//! let (chat, ids) = (("ada", "bank").into(), ["oops".into()]);
//! let report = redact_messages(&*store, &chat, &ids, Redaction::Words, &options).await?;
//! assert_eq!(report.messages, 1);
//! assert!(report.is_complete()); // nothing else of the user's says the same
//! # Ok(())
//! # }
//! ```

mod chat;
mod copies;
mod memories;
mod messages;
mod plan;
pub(crate) mod reads;
mod references;
mod rounds;
mod texts;
mod user;
mod walk;

use std::fmt;

use context_core::{CancelSignal, ChatId, Timestamp, UserId};
use serde::Serialize;

pub use self::chat::delete_chat;
pub use self::memories::matching_memories;
pub(crate) use self::messages::REDACTED;
pub use self::messages::{Redaction, redact_messages};
pub(crate) use self::plan::RemovalPlan;
pub use self::plan::plan_deletion;
pub(crate) use self::references::delete_branch_at;
pub use self::references::{delete_branch, delete_checkpoint};
pub(crate) use self::texts::blobs_in;
pub use self::user::erase_user;

/// Options of a removal.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RemovalOptions {
    /// The current time.
    pub now: Timestamp,
    /// Whether all other data of the user is searched for copies. The plan of an erasure searches
    /// the data of all other users. Default: yes.
    pub find_copies: bool,
    /// Whether the removal is only planned: the same data is read, and nothing is written.
    /// Default: no.
    pub dry_run: bool,
    /// Cancels the removal between two steps. Repeating the call completes it.
    pub cancel: CancelSignal,
}

impl RemovalOptions {
    /// Returns options with this time that remove, find copies, and have no cancellation.
    pub fn at(now: Timestamp) -> Self {
        Self { now, find_copies: true, dry_run: false, cancel: CancelSignal::never() }
    }

    /// Sets whether copies are searched for.
    #[must_use]
    pub fn find_copies(mut self, find: bool) -> Self {
        self.find_copies = find;
        self
    }

    /// Sets whether the removal is only planned.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Sets the cancel signal, checked between steps.
    #[must_use]
    pub fn cancel(mut self, cancel: CancelSignal) -> Self {
        self.cancel = cancel;
        self
    }
}

/// The result of a removal: counts by kind, and remaining copies. In a dry run, what the result
/// would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RemovalReport {
    /// Deleted chats.
    pub chats: u64,
    /// Deleted branches. Those of deleted chats are counted too, except when a user is erased.
    pub branches: u64,
    /// Deleted checkpoints, counted as branches are.
    pub checkpoints: u64,
    /// Messages that were deleted or emptied.
    pub messages: u64,
    /// Earlier revisions of these messages, except when a user is erased.
    pub revisions: u64,
    /// Size of the messages and revisions in bytes, without indexes. 0 when a user is erased.
    pub bytes: u64,
    /// Boundaries whose text about the messages was removed.
    pub boundaries: u64,
    /// Chat titles that were taken from a message.
    pub titles: u64,
    /// Deleted rounds of trajectories.
    pub rounds: u64,
    /// Nodes of rounds that were emptied.
    pub nodes: u64,
    /// Deleted memory records.
    pub memories: u64,
    /// Context fragments that were stored with a deleted chat, without their earlier versions.
    pub fragments: u64,
    /// Blobs that the chat does not refer to any more.
    pub blobs: u64,
    /// Deleted streams.
    pub streams: u64,
    /// Records that should be gone and were found in the final check. They were written in the
    /// meantime; repeat the call if this is not 0.
    pub found: u64,
    /// Whether copies were searched for: in all data of the user, or in that of all other users if
    /// a user is erased.
    pub searched: bool,
    /// Items that still hold a copy, or may.
    pub remaining: Vec<Remaining>,
    /// In a dry run, the items that would go. Messages, branches, checkpoints and fragments of a
    /// chat that would go as a whole are only counted. Empty otherwise.
    pub items: Vec<RemovalItem>,
}

/// An item that would go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct RemovalItem {
    /// The kind of item, as [`RemovalReport::removed`] names it.
    pub kind: &'static str,
    /// The chat it belongs to, if any.
    pub chat: Option<ChatId>,
    /// Its name. For a node: the node, session and agent. Empty for an item that a chat has only
    /// one of.
    pub id: String,
    /// Its size in bytes, if it is known. For a message, with its earlier revisions.
    pub bytes: Option<u64>,
}

impl fmt::Display for RemovalItem {
    /// Formats the item like `stream s1 of chat trip`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        named(f, self.kind, &self.id, self.chat.as_ref())
    }
}

fn named(f: &mut fmt::Formatter<'_>, kind: &str, id: &str, chat: Option<&ChatId>) -> fmt::Result {
    // The name of a round begins with its kind.
    let is_round = id.strip_prefix(kind).is_some_and(|rest| rest.starts_with(' '));
    match (id, is_round) {
        ("", _) => f.write_str(kind)?,
        (_, true) => f.write_str(id)?,
        (_, false) => write!(f, "{kind} {id}")?,
    }
    chat.map_or(Ok(()), |chat| write!(f, " of chat {chat}"))
}

impl RemovalReport {
    fn sort_remaining(&mut self) {
        self.remaining.sort();
        self.remaining.dedup();
    }

    /// Whether no copy remains, as far as the store can tell.
    pub fn is_complete(&self) -> bool {
        self.found == 0 && self.remaining.is_empty()
    }

    /// Returns the number of removed items by kind, without kinds that have none.
    pub fn removed(&self) -> impl Iterator<Item = (u64, &'static str)> {
        self.counts().into_iter().filter(|(count, _)| *count > 0)
    }

    /// Returns the number of removed items of each kind.
    pub fn counts(&self) -> [(u64, &'static str); 13] {
        [
            (self.chats, "chat"),
            (self.branches, "branch"),
            (self.checkpoints, "checkpoint"),
            (self.messages, "message"),
            (self.revisions, "revision"),
            (self.boundaries, "boundary"),
            (self.titles, "title"),
            (self.rounds, "round"),
            (self.nodes, "node"),
            (self.memories, "memory"),
            (self.fragments, "fragment"),
            (self.blobs, "blob"),
            (self.streams, "stream"),
        ]
    }
}

/// An item that still holds a copy, or may.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Remaining {
    /// The kind of item.
    pub kind: RemainingKind,
    /// The user it belongs to, if it is another one than that of the removed content.
    pub user: Option<UserId>,
    /// The chat it belongs to, if any.
    pub chat: Option<ChatId>,
    /// Its name. For a node: session, agent, and the node. For a memory: its id and scope. Empty
    /// for an item that a chat has only one of.
    pub id: String,
    /// The reason why it is listed.
    pub reason: RemainingReason,
}

impl Remaining {
    fn new(
        kind: RemainingKind,
        chat: Option<&ChatId>,
        id: impl fmt::Display,
        reason: RemainingReason,
    ) -> Self {
        Self { kind, user: None, chat: chat.cloned(), id: id.to_string(), reason }
    }
}

impl fmt::Display for Remaining {
    /// Formats the item like `message m9 of chat copy: says the same`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        named(f, self.kind.as_str(), &self.id, self.chat.as_ref())?;
        // The name of a memory has its user.
        let user = self.user.iter().filter(|_| self.kind != RemainingKind::Memory);
        user.into_iter().try_for_each(|user| write!(f, " of user {user}"))?;
        write!(f, ": {}", self.reason.as_str())
    }
}

/// The kind of an item that holds a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RemainingKind {
    /// A chat as a whole.
    Chat,
    /// The title or the metadata of a chat.
    Title,
    /// A message, or an earlier revision of it.
    Message,
    /// A context fragment that is stored with a chat, or an earlier version of it, which
    /// [`clear_fragment_log`](crate::store::FragmentLogStore::clear_fragment_log) destroys.
    Fragment,
    /// A blob.
    Blob,
    /// A stream.
    Stream,
    /// The title or the queues of a round.
    Round,
    /// A node of a round.
    Node,
    /// A memory record.
    Memory,
}

impl RemainingKind {
    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Title => "title",
            Self::Message => "message",
            Self::Fragment => "fragment",
            Self::Blob => "blob",
            Self::Stream => "stream",
            Self::Round => "round",
            Self::Node => "node",
            Self::Memory => "memory",
        }
    }
}

/// The reason why an item is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RemainingReason {
    /// The item has eight consecutive words that were removed, or all words of a shorter text.
    SameWords,
    /// The removed content referred to it, and other content still does.
    Shared,
    /// The item is not text, or cannot be read.
    Unreadable,
    /// The item is open: a recorder that has it in memory may write it again.
    Open,
}

impl RemainingReason {
    /// Returns the reason as text for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SameWords => "says the same",
            Self::Shared => "something else refers to it",
            Self::Unreadable => "cannot be read as text, so it may hold a copy",
            Self::Open => "is open, so its recorder may write it again",
        }
    }
}
