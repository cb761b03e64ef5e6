//! What a chat is made of, one piece at a time.

use std::sync::Arc;

use context_core::{Branch, Chat, Checkpoint, MessageId, Node, Revision, StoredFragment};

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
    /// A message; its parent has come before it.
    Message(MessageRecord),
    /// The end, and how many messages there were.
    End {
        /// How many.
        messages: u64,
    },
}

/// A message with its place and its past.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MessageRecord {
    /// The message as it is.
    pub node: Arc<Node>,
    /// What it follows; nothing for a root.
    pub parent: Option<MessageId>,
    /// What it was before it was amended, oldest first.
    pub revisions: Vec<Revision>,
}

impl MessageRecord {
    /// A message behind another.
    pub fn new(node: impl Into<Arc<Node>>, parent: Option<MessageId>, revisions: Vec<Revision>) -> Self {
        Self { node: node.into(), parent, revisions }
    }

    /// The message as it was first written, and then each form that replaced the one before it.
    pub(super) fn history(&self) -> (Arc<Node>, Vec<Revision>) {
        let mut forms: Vec<_> = self.revisions.iter().map(|revision| Arc::clone(&revision.node)).collect();
        forms.push(Arc::clone(&self.node));
        let first = forms.remove(0);
        let times = self.revisions.iter().map(|revision| revision.replaced_at);
        (first, forms.into_iter().zip(times).map(|(node, at)| Revision::new(node, at)).collect())
    }
}
