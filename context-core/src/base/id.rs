//! Names of things, one type each, so that a chat can never be passed where a message is meant.
//!
//! An id is any text its owner likes; nothing here makes one up
//! ([`IdGenerator`](crate::IdGenerator) does) and nothing orders by one (order is by position).
//! Length and emptiness are checked where something is about to be written, by
//! [`limits`](crate::base::limits), so that every store refuses the same ids with the same words.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl From<&$name> for $name {
            fn from(id: &$name) -> Self {
                id.clone()
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                &*self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                &*self.0 == *other
            }
        }
    };
}

id! {
    /// Who owns a chat. Every read and write names one; another user's chat does not exist.
    UserId
}
id! {
    /// One conversation, unique among the chats of its user.
    ChatId
}
id! {
    /// One message, unique in its chat.
    MessageId
}
id! {
    /// One persisted context fragment, unique in its chat.
    FragmentId
}
id! {
    /// A branch of a chat: a named pointer to a head.
    BranchName
}
id! {
    /// A checkpoint of a chat: a named pointer to a message.
    CheckpointName
}
id! {
    /// Makes a commit safe to repeat, see [`Commit::key`](crate::store::Commit::key).
    CommitKey
}

id! {
    /// A run of rounds of one user: what trajectories are gathered by.
    SessionId
}
id! {
    /// One memory, unique in its scope.
    MemoryId
}
id! {
    /// An answer in flight, unique in its chat.
    StreamId
}
id! {
    /// Who writes a stream: a name that nobody else uses.
    StreamWriter
}

impl From<FragmentId> for MessageId {
    fn from(id: FragmentId) -> Self {
        Self(id.0)
    }
}

impl From<MessageId> for FragmentId {
    fn from(id: MessageId) -> Self {
        Self(id.0)
    }
}

impl BranchName {
    /// The branch every chat starts with.
    pub fn main() -> Self {
        Self::from("main")
    }

    /// The name of version `k` of this branch: `main` becomes `main-v2`, `main-v3` and so on.
    #[must_use]
    pub fn version(&self, k: u32) -> Self {
        Self::from(format!("{self}-v{k}"))
    }
}

/// A chat of a user: what every operation on a chat is scoped by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ChatRef {
    /// The owner.
    pub user: UserId,
    /// The chat.
    pub chat: ChatId,
}

impl ChatRef {
    /// Names a chat of a user.
    pub fn new(user: impl Into<UserId>, chat: impl Into<ChatId>) -> Self {
        Self { user: user.into(), chat: chat.into() }
    }
}

impl<U: Into<UserId>, C: Into<ChatId>> From<(U, C)> for ChatRef {
    /// Names a chat by its user and its id, in this order.
    fn from((user, chat): (U, C)) -> Self {
        Self::new(user, chat)
    }
}

impl From<&ChatRef> for ChatRef {
    fn from(chat: &ChatRef) -> Self {
        chat.clone()
    }
}
