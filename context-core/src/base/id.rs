//! Typed ids, so that a chat id cannot be passed where a message id is expected.
//!
//! An id is any text that its owner chooses. This crate generates no ids
//! ([`IdGenerator`](crate::IdGenerator) does) and never orders by them (order is by position).
//! Length and emptiness are checked before writes, by [`limits`](crate::base::limits), so that
//! every store refuses the same ids with the same messages.

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
            /// Returns the id as text.
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
    /// The owner of a chat. Every read and write names a user; chats of other users do not exist
    /// for it.
    UserId
}
id! {
    /// The id of a conversation, unique among the chats of its user.
    ChatId
}
id! {
    /// The id of a message, unique in its chat.
    MessageId
}
id! {
    /// The id of a persisted context fragment, unique in its chat.
    FragmentId
}
id! {
    /// The name of a branch, a named pointer to a head.
    BranchName
}
id! {
    /// The name of a checkpoint, a named pointer to a message.
    CheckpointName
}
id! {
    /// The idempotency key of a commit; see [`Commit::key`](crate::store::Commit::key).
    CommitKey
}

id! {
    /// The id of a session, the sequence of rounds that forms the trajectories of a user's run.
    SessionId
}
id! {
    /// The id of a memory, unique in its scope.
    MemoryId
}
id! {
    /// The id of a stream, an answer in flight, unique in its chat.
    StreamId
}
id! {
    /// The id of a snapshot of a workspace, chosen by the implementation that took it.
    SnapshotId
}
id! {
    /// The name of the owner of a lease, which no other program or task uses.
    LeaseOwner
}
id! {
    /// The name of a stream's writer, which no other writer uses.
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
    /// Returns the name of the branch that every chat starts with.
    pub fn main() -> Self {
        Self::from("main")
    }

    /// Returns the name of version `k` of this branch: `main` becomes `main-v2`, `main-v3` and so
    /// on. A branch that is such a version itself counts on: `main-v2` becomes `main-v3` too.
    #[must_use]
    pub fn version(&self, k: u32) -> Self {
        let name = self.as_str();
        let is_number = |end: &str| {
            !end.is_empty()
                && !end.starts_with('0')
                && end.bytes().all(|byte| byte.is_ascii_digit())
        };
        let stem = match name.rsplit_once("-v") {
            Some((stem, end)) if !stem.is_empty() && is_number(end) => stem,
            _ => name,
        };
        Self::from(format!("{stem}-v{k}"))
    }
}

/// A chat of a user, the scope of every operation on a chat.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ChatRef {
    /// The owner.
    pub user: UserId,
    /// The chat.
    pub chat: ChatId,
}

impl ChatRef {
    /// Creates a reference to a chat of a user.
    pub fn new(user: impl Into<UserId>, chat: impl Into<ChatId>) -> Self {
        Self { user: user.into(), chat: chat.into() }
    }
}

impl<U: Into<UserId>, C: Into<ChatId>> From<(U, C)> for ChatRef {
    /// Creates a reference from user and chat id, in this order.
    fn from((user, chat): (U, C)) -> Self {
        Self::new(user, chat)
    }
}

impl From<&ChatRef> for ChatRef {
    fn from(chat: &ChatRef) -> Self {
        chat.clone()
    }
}
