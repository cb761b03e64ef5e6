//! What a chat is made of, one piece at a time.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use context_core::store::{Branch, Chat, Checkpoint, Revision, StoredFragment};
use context_core::{MessageId, Node, Timestamp};

/// A piece of a chat, in the order a [`ChatReader`](super::ChatReader) gives them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ChatRecord {
    /// The chat; the first one.
    Chat(Chat),
    /// A branch, in the order they were created.
    Branch(Branch),
    /// A checkpoint.
    Checkpoint(Checkpoint),
    /// A persisted fragment, in the order they were first put.
    Fragment(StoredFragment),
    /// Bytes that are kept beside the messages.
    Blob(BlobRecord),
    /// A message; its parent has come before it.
    Message(MessageRecord),
    /// The end, and how many messages there were.
    End {
        /// Number of messages that were deleted.
        messages: u64,
    },
}

/// Bytes that a chat keeps. `Debug` shows how many, not which.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlobRecord {
    /// The bytes.
    pub bytes: Bytes,
    /// What they are.
    pub media_type: Option<String>,
    /// When the chat first put them.
    pub created_at: Timestamp,
    /// When it last used them.
    pub used_at: Timestamp,
}

impl BlobRecord {
    /// Bytes and what the chat knows of them.
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

/// A message with its place and its past.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MessageRecord {
    /// The message as it is.
    pub node: Arc<Node>,
    /// The id of the parent. `None` for a root.
    pub parent: Option<MessageId>,
    /// The earlier revisions, oldest first.
    pub revisions: Vec<Revision>,
}

impl MessageRecord {
    /// A message behind another.
    pub fn new(
        node: impl Into<Arc<Node>>,
        parent: Option<MessageId>,
        revisions: Vec<Revision>,
    ) -> Self {
        Self { node: node.into(), parent, revisions }
    }

    /// The message as it was first written, and then each form that replaced the one before it.
    pub(super) fn history(&self) -> (Arc<Node>, Vec<Revision>) {
        let mut forms: Vec<_> =
            self.revisions.iter().map(|revision| Arc::clone(&revision.node)).collect();
        forms.push(Arc::clone(&self.node));
        let first = forms.remove(0);
        let times = self.revisions.iter().map(|revision| revision.replaced_at);
        (first, forms.into_iter().zip(times).map(|(node, at)| Revision::new(node, at)).collect())
    }
}
