//! The state of a chat's window, as of the last prepared request.

use std::fmt;

use context_core::model::Budget;
use context_core::runtime::Breakdown;
use context_core::{ChatRef, Timestamp};
use serde::Serialize;

use super::DefaultContextRuntime;
use super::session::lock;

/// The contents of a chat's window by part, as of the last prepared request. Its display form is
/// for a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ContextStatus {
    /// The model of the request. Empty if none was named.
    pub model: String,
    /// The window and the reserve for the answer, in tokens.
    pub budget: Budget,
    /// The tokens of the request by part.
    pub breakdown: Breakdown,
    /// The number of messages that were sent.
    pub messages: usize,
    /// The time until which the provider should have the request in its prompt cache, if it is not
    /// used again. `None` if it is not cached, or not known.
    pub cached_until: Option<Timestamp>,
}

impl ContextStatus {
    /// Returns the tokens that are left for further input.
    pub fn left(&self) -> u64 {
        self.budget.input().saturating_sub(self.breakdown.total().tokens())
    }
}

impl fmt::Display for ContextStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = self.breakdown.total().tokens();
        let percent = self.budget.ratio(used) * 100.0;
        writeln!(
            f,
            "Window: {} tokens, of which {} are reserved for the answer.",
            self.budget.window, self.budget.reserve
        )?;
        writeln!(f, "Filled: {used} tokens ({percent:.0} %) in {} messages.", self.messages)?;
        let Breakdown { system, instructions, tools, checkpoint, history, recall, .. } =
            &self.breakdown;
        let parts = [
            ("system prompt", system),
            ("instructions", instructions),
            ("tools", tools),
            ("summary of the earlier conversation", checkpoint),
            ("conversation", history),
            ("memories", recall),
        ];
        for (name, count) in parts.into_iter().filter(|(_, count)| count.tokens() > 0) {
            writeln!(f, "- {name}: {}", count.tokens())?;
        }
        write!(f, "Left: {} tokens.", self.left())
    }
}

impl DefaultContextRuntime {
    /// Returns what fills the window of a chat, as of the last prepared request. `None` before the
    /// first one of this process, and for a user that is not served.
    pub fn status(&self, chat: &ChatRef) -> Option<ContextStatus> {
        let session = self.known_session(chat)?;
        let session = lock(&session);
        let sent = session.sent.as_ref()?;
        Some(ContextStatus {
            model: sent.model.clone(),
            budget: sent.budget,
            breakdown: sent.breakdown,
            messages: sent.messages,
            cached_until: sent.cached_until,
        })
    }

    /// Makes the next prepared call of a chat compact its history, whatever its size, such as when
    /// a user or the model itself asks for it. The stages that summarise run, or, if there are
    /// none, all that do not truncate; their target is 60 percent of what the request has. A
    /// summary heeds the instructions; they may be empty. Nothing happens for a user that is not
    /// served.
    pub fn request_compaction(&self, chat: &ChatRef, instructions: impl Into<String>) {
        if let Some(session) = self.known_session(chat) {
            lock(&session).cuts.requested = Some(instructions.into());
        }
    }
}
