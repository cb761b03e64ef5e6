//! Taking back what was said: redacting messages, deleting chats, erasing users, with all that was
//! made of it.
//!
//! A message leaves more than its own text: earlier revisions, boundaries that sum it up, nodes of
//! trajectories that stand for it, memories that have it as their source, blobs its outputs were
//! spilled to, the stream it was answered through, the title of its chat. Each call here takes all
//! of that, counts it in a [`RemovalReport`], and then looks through everything else the user has
//! for the same words: copies that no link leads to, such as a chat that was copied, are not
//! touched but [named](Remaining).
//!
//! Each call may be repeated, and one that broke off is finished by repeating it: what a link leads
//! to goes first, and what holds the links goes last.
//!
//! Not reached: what other processes hold in memory (a runtime's session, a memory's queue, an open
//! recorder), files outside the store (exports, backups, the local files of trajectories), and what
//! providers keep. A store that keeps deleted content in unused space of its files clears it with
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
mod rounds;
mod texts;
mod user;

use std::fmt;

use context_core::{CancelSignal, ChatId, Timestamp};
use serde::Serialize;

pub use self::chat::delete_chat;
pub(crate) use self::messages::REDACTED;
pub use self::messages::{Redaction, redact_messages};
pub use self::user::erase_user;

/// How a removal is done.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RemovalOptions {
    /// Now.
    pub now: Timestamp,
    /// Whether everything else the user has is read, to name what says the same. Default: yes.
    pub find_copies: bool,
    /// Ends the removal between two steps. Repeating the call finishes it.
    pub cancel: CancelSignal,
}

impl RemovalOptions {
    /// A removal at this time that names copies and is not cancelled.
    pub fn at(now: Timestamp) -> Self {
        Self { now, find_copies: true, cancel: CancelSignal::never() }
    }

    /// Whether copies are looked for.
    #[must_use]
    pub fn find_copies(mut self, find: bool) -> Self {
        self.find_copies = find;
        self
    }

    /// What ends it between two steps.
    #[must_use]
    pub fn cancel(mut self, cancel: CancelSignal) -> Self {
        self.cancel = cancel;
        self
    }
}

/// What was removed, by kind, and what still holds a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RemovalReport {
    /// Chats that are gone.
    pub chats: u64,
    /// Messages that are gone, or hold nothing any more.
    pub messages: u64,
    /// Boundaries that say nothing of the messages any more.
    pub boundaries: u64,
    /// Titles of chats that were taken from a message.
    pub titles: u64,
    /// Rounds of trajectories that are gone.
    pub rounds: u64,
    /// Nodes of rounds that stay and hold nothing any more.
    pub nodes: u64,
    /// Records of memories that are gone.
    pub memories: u64,
    /// Blobs that the chat does not refer to any more.
    pub blobs: u64,
    /// Streams that are gone.
    pub streams: u64,
    /// Records that were to go and were found when all was read back. Anything but 0 was written
    /// meanwhile: repeat the call.
    pub found: u64,
    /// What still holds a copy, or may.
    pub remaining: Vec<Remaining>,
}

impl RemovalReport {
    /// Whether nothing is left, as far as the store can tell.
    pub fn is_complete(&self) -> bool {
        self.found == 0 && self.remaining.is_empty()
    }

    /// How many of each kind are gone, the kinds of which there are none left out.
    pub fn removed(&self) -> impl Iterator<Item = (u64, &'static str)> {
        let counts = [
            (self.chats, "chat"),
            (self.messages, "message"),
            (self.boundaries, "boundary"),
            (self.titles, "title"),
            (self.rounds, "round"),
            (self.nodes, "node"),
            (self.memories, "memory"),
            (self.blobs, "blob"),
            (self.streams, "stream"),
        ];
        counts.into_iter().filter(|(count, _)| *count > 0)
    }
}

/// A place that still holds a copy, or may.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Remaining {
    /// What it is.
    pub kind: RemainingKind,
    /// The chat it is in, if it is in one.
    pub chat: Option<ChatId>,
    /// Its name. Of a node: session, agent, and the node. Empty for what a chat has one of.
    pub id: String,
    /// Why it is named.
    pub reason: RemainingReason,
}

impl Remaining {
    fn new(
        kind: RemainingKind,
        chat: Option<&ChatId>,
        id: impl fmt::Display,
        reason: RemainingReason,
    ) -> Self {
        Self { kind, chat: chat.cloned(), id: id.to_string(), reason }
    }
}

impl fmt::Display for Remaining {
    /// `message m9 of chat copy: says the same`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.as_str())?;
        if !self.id.is_empty() {
            write!(f, " {}", self.id)?;
        }
        if let Some(chat) = &self.chat {
            write!(f, " of chat {chat}")?;
        }
        write!(f, ": {}", self.reason.as_str())
    }
}

/// What holds a copy.
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
    /// A context fragment that is kept with a chat.
    Fragment,
    /// A blob.
    Blob,
    /// A stream.
    Stream,
    /// The title or the queues of a round.
    Round,
    /// A node of a round.
    Node,
    /// A record of a memory.
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

/// Why something is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RemainingReason {
    /// It has eight words in a row that were removed, or all words of a shorter text.
    SameWords,
    /// It was referred to by what was removed, and is by something else.
    Shared,
    /// It is no text, or cannot be read.
    Unreadable,
    /// It is open: a recorder that has it in memory may write it again.
    Open,
}

impl RemainingReason {
    /// What people read.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SameWords => "says the same",
            Self::Shared => "something else refers to it",
            Self::Unreadable => "cannot be read as text, so it may hold a copy",
            Self::Open => "is open, so its recorder may write it again",
        }
    }
}
