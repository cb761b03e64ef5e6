//! The records of a chat.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use context_core::store::{Branch, Chat, Checkpoint, Revision, StoredFragment};
use context_core::{MessageId, Node, Timestamp};

/// A record of a chat, in the order in which a [`ChatReader`](super::ChatReader) returns them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ChatRecord {
    /// The chat itself. The first record.
    Chat(Chat),
    /// A branch, in the order of creation.
    Branch(Branch),
    /// A checkpoint.
    Checkpoint(Checkpoint),
    /// A persisted fragment, in the order in which they were first stored.
    Fragment(StoredFragment),
    /// A blob of the chat.
    Blob(BlobRecord),
    /// A message. Its parent precedes it.
    Message(ChatMessageRecord),
    /// The end of the chat.
    End {
        /// The number of messages of the chat.
        messages: u64,
    },
}

/// The bytes of a blob. `Debug` shows their number, not their content.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlobRecord {
    /// The bytes.
    pub bytes: Bytes,
    /// The media type.
    pub media_type: Option<String>,
    /// The time at which the chat first stored them.
    pub created_at: Timestamp,
    /// The time at which the chat last used them.
    pub used_at: Timestamp,
}

impl BlobRecord {
    /// Creates a record of bytes and their metadata.
    pub fn new(
        bytes: impl Into<Bytes>,
        media_type: Option<String>,
        created_at: Timestamp,
        used_at: Timestamp,
    ) -> Self {
        Self { bytes: bytes.into(), media_type, created_at, used_at }
    }
}

impl fmt::Debug for BlobRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("BlobRecord");
        shown.field("bytes", &self.bytes.len()).field("media_type", &self.media_type);
        shown.field("created_at", &self.created_at).field("used_at", &self.used_at).finish()
    }
}

/// A message with its parent and its revisions.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChatMessageRecord {
    /// The current form of the message.
    pub node: Arc<Node>,
    /// The id of the parent. `None` for a root.
    pub parent: Option<MessageId>,
    /// The earlier revisions, oldest first.
    pub revisions: Vec<Revision>,
}

impl ChatMessageRecord {
    /// Creates a record of a message with its parent.
    pub fn new(
        node: impl Into<Arc<Node>>,
        parent: Option<MessageId>,
        revisions: Vec<Revision>,
    ) -> Self {
        Self { node: node.into(), parent, revisions }
    }

    /// Returns the message as first written, and then each form that replaced the one before.
    pub(super) fn history(&self) -> (Arc<Node>, Vec<Revision>) {
        let mut forms: Vec<_> =
            self.revisions.iter().map(|revision| Arc::clone(&revision.node)).collect();
        forms.push(Arc::clone(&self.node));
        let first = forms.remove(0);
        let times = self.revisions.iter().map(|revision| revision.replaced_at);
        (first, forms.into_iter().zip(times).map(|(node, at)| Revision::new(node, at)).collect())
    }
}
