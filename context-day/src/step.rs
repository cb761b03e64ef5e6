//! The steps of a day, as data.

use std::fmt;

use context_simulator::ProviderFault;
use context_simulator::faults::{Fault, Operation};

use crate::scene::{ChatSlot, USERS, UserSlot};

/// The reply of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reply {
    /// A text of this many words.
    Text {
        /// The number of words.
        words: usize,
    },
    /// Calls of tools, side by side.
    Calls {
        /// The number of calls.
        calls: usize,
    },
}

/// An event of the day. A step that makes no sense in its place does nothing, so that any selection
/// of steps is a day too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DayStep {
    /// A user asks something, which begins a turn.
    Ask {
        /// The chat.
        chat: ChatSlot,
        /// The number of words.
        words: usize,
        /// Whether a picture goes with them.
        picture: bool,
    },
    /// An open turn proceeds by one request. Open calls get their results first.
    Proceed {
        /// The chat.
        chat: ChatSlot,
        /// The reply to the request.
        reply: Reply,
        /// The fault of the provider.
        fault: Option<ProviderFault>,
        /// Whether the reply arrives as events.
        events: bool,
        /// The words of each tool result.
        result_words: usize,
        /// Whether the last call gets no result.
        unanswered: bool,
    },
    /// The first open call of a turn is given to a sub-agent.
    SubAgent {
        /// The chat.
        chat: ChatSlot,
        /// Whether it knows what its parent knows.
        fork: bool,
    },
    /// A turn is cancelled.
    Cancel(ChatSlot),
    /// A turn is left open, to be resumed.
    Suspend(ChatSlot),
    /// A turn is dropped.
    Abandon(ChatSlot),
    /// The newest turn is resumed.
    Resume(ChatSlot),
    /// The chat goes back by some messages.
    Rewind {
        /// The chat.
        chat: ChatSlot,
        /// The number of messages.
        back: usize,
    },
    /// A branch is made at the head.
    Branch(ChatSlot),
    /// The chat moves to another branch.
    Switch {
        /// The chat.
        chat: ChatSlot,
        /// The number of the branch.
        branch: usize,
    },
    /// A checkpoint is set.
    Checkpoint(ChatSlot),
    /// The chat goes back to its checkpoint.
    Restore(ChatSlot),
    /// The chat is copied.
    Fork(ChatSlot),
    /// A message is redacted.
    Redact {
        /// The chat.
        chat: ChatSlot,
        /// The number of messages behind it.
        back: usize,
    },
    /// The chat is continued with another provider.
    ChangeProvider(ChatSlot),
    /// The chat is deleted.
    Delete(ChatSlot),
    /// A fact of a user is stored.
    Remember(UserSlot),
    /// A program with a loop of its own records a round.
    Round(UserSlot),
    /// A user searches messages and memories for a word of another user.
    Search {
        /// The user who searches.
        user: UserSlot,
        /// The user whose words are searched for.
        about: UserSlot,
    },
    /// Old chats, blobs and streams of a user are removed.
    Retain {
        /// The user.
        user: UserSlot,
        /// The number of chats that stay.
        chats: usize,
    },
    /// A user is erased.
    Erase(UserSlot),
    /// The store fails at its next call of this kind.
    StoreFault {
        /// The call.
        operation: Operation,
        /// The fault.
        fault: Fault,
    },
    /// The process ends and another one begins.
    Restart {
        /// Whether it ends without a shutdown.
        crash: bool,
    },
    /// Time passes, for summaries that are being written too.
    Wait {
        /// The number of seconds.
        seconds: u64,
    },
    /// The store is checked.
    Check,
}

impl DayStep {
    /// Returns the chat of a step that is about one.
    pub fn chat(&self) -> Option<ChatSlot> {
        match *self {
            Self::Ask { chat, .. }
            | Self::Proceed { chat, .. }
            | Self::SubAgent { chat, .. }
            | Self::Cancel(chat)
            | Self::Suspend(chat)
            | Self::Abandon(chat)
            | Self::Resume(chat)
            | Self::Rewind { chat, .. }
            | Self::Branch(chat)
            | Self::Switch { chat, .. }
            | Self::Checkpoint(chat)
            | Self::Restore(chat)
            | Self::Fork(chat)
            | Self::Redact { chat, .. }
            | Self::ChangeProvider(chat)
            | Self::Delete(chat) => Some(chat),
            _ => None,
        }
    }

    /// Returns the user of a step that is about one.
    pub fn user(&self) -> Option<UserSlot> {
        match *self {
            Self::Remember(user)
            | Self::Round(user)
            | Self::Search { user, .. }
            | Self::Retain { user, .. }
            | Self::Erase(user) => Some(user),
            _ => self.chat().map(|chat| chat.user),
        }
    }
}

impl fmt::Display for DayStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |user: &UserSlot| USERS.get(*user).copied().unwrap_or_default();
        match self {
            Self::Ask { chat, words, picture } => {
                let with = if *picture { " and a picture" } else { "" };
                write!(f, "{} asks in {}: {words} words{with}", chat.user_name(), chat.chat_name())
            }
            Self::Proceed { chat, reply, fault, events, result_words, unanswered } => {
                write!(f, "the agent of {chat} sends a request and gets ")?;
                match reply {
                    Reply::Text { words } => write!(f, "{words} words")?,
                    Reply::Calls { calls } => write!(f, "{calls} calls")?,
                }
                if *events {
                    f.write_str(" as events")?;
                }
                if let Some(fault) = fault {
                    write!(f, ", but {fault:?}")?;
                }
                write!(f, "; results of {result_words} words")?;
                f.write_str(if *unanswered { ", one missing" } else { "" })
            }
            Self::SubAgent { chat, fork: true } => write!(f, "a fork of {chat} runs a call"),
            Self::SubAgent { chat, fork: false } => write!(f, "a helper of {chat} runs a call"),
            Self::Cancel(chat) => write!(f, "the turn of {chat} is cancelled"),
            Self::Suspend(chat) => write!(f, "the turn of {chat} is suspended"),
            Self::Abandon(chat) => write!(f, "the turn of {chat} is dropped"),
            Self::Resume(chat) => write!(f, "the turn of {chat} is resumed"),
            Self::Rewind { chat, back } => write!(f, "{chat} goes back by {back} messages"),
            Self::Branch(chat) => write!(f, "{chat} gets a branch"),
            Self::Switch { chat, branch } => write!(f, "{chat} moves to branch {branch}"),
            Self::Checkpoint(chat) => write!(f, "{chat} gets a checkpoint"),
            Self::Restore(chat) => write!(f, "{chat} goes back to its checkpoint"),
            Self::Fork(chat) => write!(f, "{chat} is copied"),
            Self::Redact { chat, back } => {
                write!(f, "the message of {chat} {back} before the last is redacted")
            }
            Self::ChangeProvider(chat) => write!(f, "{chat} changes to the next provider"),
            Self::Delete(chat) => write!(f, "{chat} is deleted"),
            Self::Remember(user) => write!(f, "a fact of {} is stored", name(user)),
            Self::Round(user) => write!(f, "a program of {} records a round", name(user)),
            Self::Search { user, about } => {
                write!(f, "{} searches for a word of {}", name(user), name(about))
            }
            Self::Retain { user, chats } => {
                write!(f, "{chats} chats of {} are retained", name(user))
            }
            Self::Erase(user) => write!(f, "{} is erased", name(user)),
            Self::StoreFault { operation, fault } => {
                write!(f, "the next {} of the store fails: {fault:?}", operation.as_str())
            }
            Self::Restart { crash: true } => f.write_str("the process dies, and another begins"),
            Self::Restart { crash: false } => f.write_str("the process ends, and another begins"),
            Self::Wait { seconds } => write!(f, "{seconds} seconds pass"),
            Self::Check => f.write_str("the store is checked"),
        }
    }
}
