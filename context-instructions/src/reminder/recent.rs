//! The recency of tool calls, failures and reminders.

use std::sync::Arc;
use std::time::Duration;

use context_core::Timestamp;

/// A stretch of the conversation that ends now, for predicates about what happened lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Recent {
    /// The last turns; the current turn is the first of them.
    Turns(u64),
    /// The last messages of any role, without placeholders; the newest is the first of them.
    Messages(u64),
    /// The time until now, counted from the times of the messages.
    Time(Duration),
}

impl Recent {
    /// Whether nothing can have happened in it.
    pub(super) fn is_empty(self) -> bool {
        match self {
            Self::Turns(n) | Self::Messages(n) => n == 0,
            Self::Time(time) => time.is_zero(),
        }
    }

    /// Whether `then` is within the stretch that ends at `now`.
    pub(super) fn includes(self, then: Occurrence, now: Occurrence) -> bool {
        match self {
            Self::Turns(n) => now.turn.saturating_sub(then.turn) < n,
            Self::Messages(n) => now.message.saturating_sub(then.message) < n,
            Self::Time(time) => {
                let age = now.at.as_micros().saturating_sub(then.at.as_micros());
                Duration::from_micros(u64::try_from(age).unwrap_or(0)) <= time
            }
        }
    }
}

/// Something that happens in a conversation. Without a tool, it is about any tool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    ToolCalled(Option<Arc<str>>),
    ToolFailed(Option<Arc<str>>),
    Reminded(Arc<str>),
}

/// The position of an event: the counts of turns and messages up to it, and its time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Occurrence {
    pub(super) turn: u64,
    pub(super) message: u64,
    pub(super) at: Timestamp,
}
