//! The situation in which a reminder is asked whether it speaks.

use std::borrow::Cow;
use std::time::Duration;

use context_core::Timestamp;

use super::{ConversationSummary, ReminderTarget, ToolActivity};

/// The situation in which a reminder is asked whether it speaks, and what it says.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    summary: &'a ConversationSummary,
    target: ReminderTarget,
    now: Timestamp,
    usage: Option<u64>,
}

impl<'a> Situation<'a> {
    /// A situation: of a conversation up to the message in question, where something would be said,
    /// and when. `usage` is the total of tokens used, where somebody keeps one.
    pub fn new(
        summary: &'a ConversationSummary,
        target: ReminderTarget,
        now: Timestamp,
        usage: Option<u64>,
    ) -> Self {
        Self { summary, target, now, usage }
    }

    /// The conversation up to here, with what is about to be saved.
    pub fn summary(&self) -> &'a ConversationSummary {
        self.summary
    }

    /// Where the reminder would be said.
    pub fn target(&self) -> ReminderTarget {
        self.target
    }

    /// Now.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The number of the current turn; the first one is 1.
    pub fn turn(&self) -> u64 {
        self.summary.turns()
    }

    /// What tools did since a reminder of this target could last have been said: in the whole last
    /// reply for one to the user, in the newest step for the others.
    pub fn news(&self) -> &'a ToolActivity {
        match self.target {
            ReminderTarget::User => self.summary.reply(),
            ReminderTarget::ToolOutput | ReminderTarget::Steer => self.summary.step(),
        }
    }

    /// How long ago the last message before the current turn was said; nothing in the first turn.
    pub fn elapsed(&self) -> Option<Duration> {
        let micros = self.now.as_micros().saturating_sub(self.summary.before_turn()?.as_micros());
        Some(Duration::from_micros(u64::try_from(micros).unwrap_or(0)))
    }

    /// How many tokens were used: the total that the caller gave, else what the messages say.
    pub fn usage_tokens(&self) -> u64 {
        self.usage.unwrap_or_else(|| self.summary.usage_tokens())
    }

    /// The text of what the user said last, without reminders.
    pub fn user_text(&self) -> Cow<'a, str> {
        self.summary.last_user().map_or(Cow::Borrowed(""), |message| message.plain_text())
    }

    /// The text of the last message in which the model said any.
    pub fn assistant_text(&self) -> Cow<'a, str> {
        self.summary.last_assistant().map_or(Cow::Borrowed(""), |message| message.plain_text())
    }
}
