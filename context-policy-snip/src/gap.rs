//! The message that says that messages were left out.

use std::ops::Range;
use std::sync::Arc;

use context_core::message::Origin;
use context_core::{Json, Message};

/// The metadata key of a gap that says how many turns were left out. The
/// record of its origin is the number of messages.
const TURNS: &str = "gap_turns";

/// The numbers of turns and messages that were left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GapCount {
    pub(crate) turns: u64,
    pub(crate) messages: u64,
}

impl GapCount {
    /// Counts messages. A gap among them counts as the messages it stands for.
    pub(crate) fn of(messages: &[Arc<Message>]) -> Self {
        messages.iter().fold(Self::default(), |sum, message| sum.plus(Self::one(message)))
    }

    /// Counts the messages of several runs.
    pub(crate) fn of_runs(messages: &[Arc<Message>], runs: &[Range<usize>]) -> Self {
        let counts = runs.iter().map(|run| Self::of(&messages[run.clone()]));
        counts.fold(Self::default(), Self::plus)
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            turns: self.turns.saturating_add(other.turns),
            messages: self.messages.saturating_add(other.messages),
        }
    }

    fn one(message: &Message) -> Self {
        let number = |json: Option<&Json>| json.and_then(|json| json.parse::<u64>().ok());
        match message.is_gap() {
            true => Self {
                turns: number(message.metadata.get(TURNS)).unwrap_or(0),
                messages: number(message.origin_record()).unwrap_or(1),
            },
            false => Self { turns: u64::from(message.is_request()), messages: 1 },
        }
    }

    /// Returns the message of the gap.
    pub(crate) fn to_message(self) -> Message {
        let json = |number: u64| Json::from(i64::try_from(number).unwrap_or(i64::MAX));
        let mut message = Message::from(format!("[{self} in the middle were left out]"));
        if (self.turns, self.messages) == (0, 1) {
            message = Message::from("[1 message in the middle was left out]");
        }
        message = message.with_origin_record(Origin::Gap, json(self.messages));
        message.metadata.insert(TURNS, json(self.turns));
        message
    }
}

impl std::fmt::Display for GapCount {
    /// Writes `12 turns (34 messages)`, or only the messages if no turn begins among them.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        let Self { turns, messages } = *self;
        match turns {
            0 => write!(f, "{messages} message{}", plural(messages)),
            _ => {
                write!(f, "{turns} turn{} ({messages} message{})", plural(turns), plural(messages))
            }
        }
    }
}
