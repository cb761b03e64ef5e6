//! The contents of a damaged store, piece by piece, and what is lost of it.
//!
//! Whoever reads a damaged store hands the sound pieces and the losses to a [`SalvageSink`]. A
//! piece is complete and was compared with its checksums; a piece that is not sound is a [`Loss`].

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use context_core::base::display::clean;
use context_core::memory::{MemoryRecord, MemoryVector};
use context_core::store::{
    Branch, Chat, Checkpoint, NewBlob, Revision, StoredFragment, StoredStream,
};
use context_core::trajectory::RoundRecord;
use context_core::{ChatId, ChatRef, MessageId, Node, Result, Timestamp, UserId};
use serde::Serialize;

/// A sound piece of a damaged store.
///
/// Pieces of a chat follow its [`Chat`](Self::Chat), before the next chat, round or memory.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SalvagedPiece {
    /// A chat, before its pieces.
    Chat(Chat),
    /// A branch. Its head, if it has one, is a message of the chat that is sound.
    Branch(Branch),
    /// A checkpoint at a message that is sound.
    Checkpoint(Checkpoint),
    /// A persisted fragment.
    Fragment(StoredFragment),
    /// A blob of the chat, with the time of its last use.
    Blob(NewBlob, Timestamp),
    /// A message, after its parent.
    Message {
        /// The message.
        node: Arc<Node>,
        /// The parent. `None` for a root, and for a message whose parent is lost.
        parent: Option<MessageId>,
        /// The earlier revisions, oldest first.
        revisions: Vec<Revision>,
    },
    /// A stream of the chat, and its chunks from the first one on.
    Stream(StoredStream, Vec<Bytes>),
    /// A round of a trajectory.
    Round(Box<RoundRecord>),
    /// A memory record.
    Memory {
        /// The record.
        record: Box<MemoryRecord>,
        /// The words under which it is found, separated by spaces. `None` if they are not known.
        words: Option<String>,
        /// Its vector, if it has one.
        vector: Option<MemoryVector>,
    },
}

/// The kind of a thing that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LostKind {
    /// The whole store.
    Store,
    /// All data of a user, or a list of it.
    User,
    /// A chat, with everything in it.
    Chat,
    /// The title, the metadata or the active branch of a chat that is kept.
    ChatDetails,
    /// A branch, or the end of a branch.
    Branch,
    /// A checkpoint.
    Checkpoint,
    /// A persisted fragment.
    Fragment,
    /// A message.
    Message,
    /// Earlier revisions of a message that is kept.
    Revision,
    /// A blob.
    Blob,
    /// A stream, or the end of a stream.
    Stream,
    /// A round of a trajectory.
    Round,
    /// A memory record.
    Memory,
    /// The words or the vector of a memory record that is kept.
    MemoryIndex,
    /// A row of a table, or the rows of a page of the file, whose names are not known.
    Rows,
}

impl LostKind {
    /// Returns the name for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::User => "user",
            Self::Chat => "chat",
            Self::ChatDetails => "details",
            Self::Branch => "branch",
            Self::Checkpoint => "checkpoint",
            Self::Fragment => "fragment",
            Self::Message => "message",
            Self::Revision => "revisions of",
            Self::Blob => "blob",
            Self::Stream => "stream",
            Self::Round => "round",
            Self::Memory => "memory",
            Self::MemoryIndex => "words of memory",
            Self::Rows => "rows of",
        }
    }
}

/// A thing that is lost, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Loss {
    /// The kind of the thing.
    pub kind: LostKind,
    /// The user to whom it belongs, if that is known.
    pub user: Option<UserId>,
    /// The chat to which it belongs, if it belongs to one that is known.
    pub chat: Option<ChatId>,
    /// Its id or name, or, for rows, the table and the page. Empty if it is not known.
    pub name: String,
    /// The reason.
    pub why: String,
}

impl Loss {
    /// Creates a loss whose owner is not known.
    pub fn new(kind: LostKind, name: impl fmt::Display, why: impl Into<String>) -> Self {
        Self { kind, user: None, chat: None, name: name.to_string(), why: why.into() }
    }

    /// Sets the chat to which it belongs, and the user.
    #[must_use]
    pub fn of_chat(mut self, chat: &ChatRef) -> Self {
        self.chat = Some(chat.chat.clone());
        self.of_user(&chat.user)
    }

    /// Sets the reason.
    #[must_use]
    pub fn because(mut self, why: impl Into<String>) -> Self {
        self.why = why.into();
        self
    }

    /// Sets the user to whom it belongs.
    #[must_use]
    pub fn of_user(mut self, user: &UserId) -> Self {
        self.user = Some(user.clone());
        self
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(user) = &self.user {
            write!(f, "{}", clean(user.as_str()))?;
            if let Some(chat) = &self.chat {
                write!(f, "/{}", clean(chat.as_str()))?;
            }
            f.write_str(" ")?;
        }
        write!(f, "{}", self.kind.as_str())?;
        if !self.name.is_empty() {
            write!(f, " {}", clean(&self.name))?;
        }
        write!(f, ": {}", clean(&self.why))
    }
}

/// Takes the pieces of a damaged store.
#[async_trait]
pub trait SalvageSink: Send {
    /// Takes a sound piece. An error ends the salvage.
    async fn take(&mut self, piece: SalvagedPiece) -> Result<()>;

    /// Takes a loss.
    fn lose(&mut self, loss: Loss);
}
