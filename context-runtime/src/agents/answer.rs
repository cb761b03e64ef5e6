//! The answer of a turn.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use context_core::{Message, MessageId};

use super::TurnReport;
use crate::call::INCOMPLETE;

/// The answer of a turn, as it is stored. Displayed as its text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TurnAnswer {
    /// The id of the turn: that of the question, and of the stream of a streamed turn.
    pub turn: MessageId,
    /// The id of the answer's message.
    pub id: MessageId,
    /// The message.
    pub message: Arc<Message>,
    /// What the turn used and did.
    pub report: TurnReport,
}

impl TurnAnswer {
    /// Returns the text.
    pub fn text(&self) -> Cow<'_, str> {
        self.message.plain_text()
    }

    /// Whether the answer broke off, and could not be had whole.
    pub fn is_incomplete(&self) -> bool {
        self.message.metadata.get(INCOMPLETE).is_some()
    }
}

impl fmt::Display for TurnAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}
