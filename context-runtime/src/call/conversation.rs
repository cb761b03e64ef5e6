//! The histories that a call accepts.

use std::borrow::Cow;
use std::sync::Arc;

use context_core::history::Compacted;
use context_core::{ChatRef, Message, ModelRequest};

use crate::Resolved;

/// A conversation, oldest message first: the history that is passed to a
/// [`ModelCall`](super::ModelCall).
///
/// Implemented by messages themselves and by types that hold them, such as the result of a resolve
/// or of a compaction.
pub trait Conversation: Sync {
    /// Its messages.
    fn messages(&self) -> Cow<'_, [Arc<Message>]>;

    /// The chat of the conversation, if known. A [`ModelCall`](super::ModelCall) refuses the
    /// history of another chat than its own.
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
    /// The readable messages, as in [`Resolved::request`].
    fn messages(&self) -> Cow<'_, [Arc<Message>]> {
        Cow::Owned(ModelRequest::of_chain(&self.messages).messages)
    }

    fn chat(&self) -> Option<&ChatRef> {
        Some(&self.chat)
    }
}
