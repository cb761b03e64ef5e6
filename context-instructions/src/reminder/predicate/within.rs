//! Predicates about what happened lately.

use super::{Kind, Predicate, ReminderError};
use crate::reminder::recent::{Event, Recent};

impl Predicate {
    /// Holds if this tool was called lately.
    pub fn tool_called_within(tool: impl AsRef<str>, recent: Recent) -> Self {
        Self::within(Event::ToolCalled(Some(tool.as_ref().into())), recent)
    }

    /// Holds if any tool was called lately.
    pub fn any_tool_called_within(recent: Recent) -> Self {
        Self::within(Event::ToolCalled(None), recent)
    }

    /// Holds if a call of this tool failed lately.
    pub fn tool_failed_within(tool: impl AsRef<str>, recent: Recent) -> Self {
        Self::within(Event::ToolFailed(Some(tool.as_ref().into())), recent)
    }

    /// Holds if a call of any tool failed lately.
    pub fn any_tool_failed_within(recent: Recent) -> Self {
        Self::within(Event::ToolFailed(None), recent)
    }

    /// Holds if a reminder of this [id](super::super::ReminderBuilder::id) fired lately. Its
    /// negation limits how often the reminder fires.
    ///
    /// ```
    /// use context_instructions::{Predicate, Recent, reminder};
    ///
    /// let rested = !Predicate::reminded_within("tests", Recent::Turns(5));
    /// let tests = reminder("Run the tests.")
    ///     .id("tests")
    ///     .when(Predicate::tool_called("edit_file").and(rested))
    ///     .build()?;
    /// # Ok::<_, context_instructions::ReminderError>(())
    /// ```
    pub fn reminded_within(id: impl AsRef<str>, recent: Recent) -> Self {
        let id = id.as_ref();
        match id.trim().is_empty() {
            true => Kind::Invalid(ReminderError::EmptyId).into(),
            false => Self::within(Event::Reminded(id.into()), recent),
        }
    }

    fn within(event: Event, recent: Recent) -> Self {
        match recent.is_empty() {
            true => Kind::Invalid(ReminderError::ZeroCount("within")).into(),
            false => Kind::Within(event, recent).into(),
        }
    }
}
