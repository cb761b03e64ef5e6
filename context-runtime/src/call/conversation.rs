//! What a call may be given as its history.

use std::borrow::Cow;
use std::sync::Arc;

use context_core::history::Compacted;
use context_core::{ChatRef, Message, ModelRequest};

use crate::Resolved;

/// A conversation, oldest message first: what a [`ModelCall`](super::ModelCall) is given as its
/// history.
///
/// Messages by themselves are one, and so is whatever holds them: what a chat resolved, what a
/// compaction left.
pub trait Conversation: Sync {
    /// Its messages.
    fn messages(&self) -> Cow<'_, [Arc<Message>]>;

    /// The chat it is of, if it knows: a [`ModelCall`](super::ModelCall) refuses the history of
    /// another chat than its own.
    fn chat(&self) -> Option<&ChatRef> {
        None
    }
}

impl Conversation for [Arc<Message>] {
    fn messages(&self) -> Cow<'_, [Arc<Message>]> {
        Cow::Borrowed(self)
    }
}

impl<const N: usize> Conversation for [Arc<Message>; N] {
    fn messages(&self) -> Cow<'_, [Arc<Message>]> {
        Cow::Borrowed(self)
    }
}

impl Conversation for Vec<Arc<Message>> {
    fn messages(&self) -> Cow<'_, [Arc<Message>]> {
        Cow::Borrowed(self)
    }
}

impl Conversation for Compacted {
    fn messages(&self) -> Cow<'_, [Arc<Message>]> {
        Cow::Borrowed(&self.messages)
    }
}

impl Conversation for Resolved {
    /// Those that can be read, as in [`Resolved::request`].
    fn messages(&self) -> Cow<'_, [Arc<Message>]> {
        Cow::Owned(ModelRequest::of_chain(&self.messages).messages)
    }

    fn chat(&self) -> Option<&ChatRef> {
        Some(&self.chat)
    }
}
