//! The turns that a memory captures.

use std::fmt;
use std::sync::Arc;

use super::MemoryScope;
use crate::{Message, MessageId, Timestamp};

/// A message of a captured turn. `Debug` shows its id and role, not its content.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct CapturedMessage {
    /// The id, unique in the session and the same in each capture.
    pub id: MessageId,
    /// The message.
    pub message: Arc<Message>,
    /// The time of the message. `None`: the time of the capture.
    pub at: Option<Timestamp>,
    /// The speaker, if the role does not identify one.
    pub speaker: Option<String>,
}

impl CapturedMessage {
    /// Creates a message without a time and a speaker.
    pub fn new(id: impl Into<MessageId>, message: impl Into<Arc<Message>>) -> Self {
        Self { id: id.into(), message: message.into(), at: None, speaker: None }
    }

    /// Sets the time.
    #[must_use]
    pub fn at(mut self, at: Timestamp) -> Self {
        self.at = Some(at);
        self
    }

    /// Sets the speaker.
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
    /// The scope of the turn, as narrow as is known. The provider chooses the part of it under
    /// which memories are stored, and so from where they are visible.
    pub scope: MemoryScope,
    /// The id of the turn.
    pub turn: String,
    /// The time of the capture.
    pub at: Timestamp,
    /// The messages since the last capture of this session, oldest first. Some of them may have
    /// been captured before.
    pub messages: Vec<CapturedMessage>,
    /// Whether the turn failed.
    pub errored: bool,
}

impl CapturedTurn {
    /// Creates a successful turn from messages.
    pub fn new(
        scope: MemoryScope,
        turn: impl Into<String>,
        at: Timestamp,
        messages: Vec<CapturedMessage>,
    ) -> Self {
        Self { scope, turn: turn.into(), at, messages, errored: false }
    }
}
