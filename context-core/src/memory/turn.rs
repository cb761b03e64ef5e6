//! What a memory is told.

use std::fmt;
use std::sync::Arc;

use super::MemoryScope;
use crate::{Message, MessageId, Timestamp};

/// A message that was said. `Debug` shows its id and role, not what it says.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct CapturedMessage {
    /// Its id, unique in its session and the same each time it is told.
    pub id: MessageId,
    /// The message.
    pub message: Arc<Message>,
    /// When it was said; when the turn was told, if nobody knows.
    pub at: Option<Timestamp>,
    /// Who said it, if its role does not tell.
    pub speaker: Option<String>,
}

impl CapturedMessage {
    /// A message, said at some time by whoever has its role.
    pub fn new(id: impl Into<MessageId>, message: impl Into<Arc<Message>>) -> Self {
        Self { id: id.into(), message: message.into(), at: None, speaker: None }
    }

    /// Said then.
    #[must_use]
    pub fn at(mut self, at: Timestamp) -> Self {
        self.at = Some(at);
        self
    }

    /// Said by this person.
    #[must_use]
    pub fn speaker(mut self, speaker: impl Into<String>) -> Self {
        self.speaker = Some(speaker.into());
        self
    }
}

impl fmt::Debug for CapturedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CapturedMessage")
            .field("id", &self.id)
            .field("role", &self.message.role)
            .finish_non_exhaustive()
    }
}

/// A turn that ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CapturedTurn {
    /// Whose, as narrow as is known. Under which part of it memories are filed, and so from where
    /// they are visible, the provider says.
    pub scope: MemoryScope,
    /// Which turn.
    pub turn: String,
    /// When it was told.
    pub at: Timestamp,
    /// What was said since the last capture of this session, oldest first. Some of it may have been
    /// told before.
    pub messages: Vec<CapturedMessage>,
    /// Whether the turn failed.
    pub errored: bool,
}

impl CapturedTurn {
    /// A turn of these messages.
    pub fn new(
        scope: MemoryScope,
        turn: impl Into<String>,
        at: Timestamp,
        messages: Vec<CapturedMessage>,
    ) -> Self {
        Self { scope, turn: turn.into(), at, messages, errored: false }
    }
}
