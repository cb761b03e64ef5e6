//! The people, chats and providers of a simulated day.

use std::fmt;

/// A user, by number.
pub type UserSlot = usize;

/// The users.
pub const USERS: [&str; 3] = ["alice", "bob", "carol"];
/// The names of each user's chats. They are the same for all users. Only a fork creates the last.
pub const CHATS: [&str; 4] = ["desk", "trip", "book", "copy"];

/// A chat of a user, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChatSlot {
    /// The user.
    pub user: UserSlot,
    /// The number of the chat among [`CHATS`].
    pub chat: usize,
}

impl ChatSlot {
    /// Returns the name of the user.
    pub fn user_name(self) -> &'static str {
        USERS.get(self.user).copied().unwrap_or_default()
    }

    /// Returns the name of the chat.
    pub fn chat_name(self) -> &'static str {
        CHATS.get(self.chat).copied().unwrap_or_default()
    }
}

impl fmt::Display for ChatSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}'s {}", self.user_name(), self.chat_name())
    }
}

/// A provider of the day and the settings of the agents that ask it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vendor {
    /// The name of the wire form.
    pub(crate) codec: &'static str,
    /// The name of the model, which has a known price.
    pub(crate) model: &'static str,
    /// The percentage of the agents' token counts that the provider counts.
    pub(crate) counts: u64,
    /// Whether summaries are written while turns go on.
    pub(crate) ahead: bool,
    /// Whether memories are recalled and captured.
    pub(crate) memory: bool,
}

/// The providers.
pub(crate) const VENDORS: [Vendor; 4] = [
    Vendor {
        codec: "anthropic",
        model: "claude-sonnet-4-5",
        counts: 100,
        ahead: true,
        memory: true,
    },
    Vendor { codec: "openai", model: "gpt-4o", counts: 112, ahead: false, memory: false },
    Vendor { codec: "openai-responses", model: "gpt-5.2", counts: 100, ahead: false, memory: true },
    Vendor { codec: "gemini", model: "gemini-2.5-pro", counts: 100, ahead: true, memory: false },
];

/// The window of every model, in tokens.
pub(crate) const WINDOW: u64 = 8_000;
/// The part of the window that agents leave free.
pub(crate) const RESERVE: u64 = 800;
/// The most tokens of an answer.
pub(crate) const MAX_OUTPUT: u64 = 600;
