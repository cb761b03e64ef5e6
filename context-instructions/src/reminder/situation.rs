//! The situation in which a predicate is evaluated.

use std::borrow::Cow;
use std::time::Duration;

use context_core::Timestamp;

use super::{ConversationSummary, ReminderTarget, ToolActivity};

/// The situation in which a predicate is evaluated and a reminder's text is made.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    summary: &'a ConversationSummary,
    target: ReminderTarget,
    now: Timestamp,
    usage: Option<u64>,
}

impl<'a> Situation<'a> {
    /// Creates a situation from a summary of the conversation up to the message in question, the
    /// target, and the current time. `usage` is the total of tokens used, if the caller keeps one.
    pub fn new(
        summary: &'a ConversationSummary,
        target: ReminderTarget,
        now: Timestamp,
        usage: Option<u64>,
    ) -> Self {
        Self { summary, target, now, usage }
    }

    /// Returns the summary of the conversation up to here, including the messages about to be
    /// saved.
    pub fn summary(&self) -> &'a ConversationSummary {
        self.summary
    }

    /// Returns the target of the reminder.
    pub fn target(&self) -> ReminderTarget {
        self.target
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns the number of the current turn; the first one is 1.
    pub fn turn(&self) -> u64 {
        self.summary.turns()
    }

    /// Returns the tool activity since a reminder of this target could last have fired: of the
    /// whole last reply for the target user, of the newest step for the others.
    pub fn news(&self) -> &'a ToolActivity {
        match self.target {
            ReminderTarget::User => self.summary.reply(),
            ReminderTarget::ToolOutput | ReminderTarget::Steer => self.summary.step(),
        }
    }

    /// Returns the time since the last message before the current turn; `None` in the first turn.
    pub fn elapsed(&self) -> Option<Duration> {
        let micros = self.now.as_micros().saturating_sub(self.summary.before_turn()?.as_micros());
        Some(Duration::from_micros(u64::try_from(micros).unwrap_or(0)))
    }

    /// Returns how many tokens were used: the total that the caller passed, otherwise the usage
    /// that the messages report.
    pub fn usage_tokens(&self) -> u64 {
        self.usage.unwrap_or_else(|| self.summary.usage_tokens())
    }

    /// Returns the text of the user's last message, without reminders.
    pub fn user_text(&self) -> Cow<'a, str> {
        self.summary.last_user().map_or(Cow::Borrowed(""), |message| message.plain_text())
    }

    /// Returns the text of the model's last message that has any text.
    pub fn assistant_text(&self) -> Cow<'a, str> {
        self.summary.last_assistant().map_or(Cow::Borrowed(""), |message| message.plain_text())
    }
}
