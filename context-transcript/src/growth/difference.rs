//! The reason why a tree is not the continuation of a chat.

use context_core::base::display::shown;
use context_core::{BranchName, MessageId};

/// The reason why a tree cannot be added to a chat. The chat is not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeDifference {
    /// The metadata of the chat differs, so the chat was made of something else.
    #[error("its metadata differs")]
    Metadata,
    /// The chat has a message with this id, but with other content or in another place.
    #[error("message {} differs", shown(.message))]
    Message {
        /// The id.
        message: MessageId,
    },
    /// The chat was continued after a message at which the tree continues differently.
    #[error("{}", continued(.branch, .message.as_ref()))]
    Continued {
        /// The branch of the chat.
        branch: BranchName,
        /// The last message of the tree on that branch. `None` if the branch has none.
        message: Option<MessageId>,
    },
}

fn continued(branch: &BranchName, message: Option<&MessageId>) -> String {
    let branch = shown(branch);
    match message {
        Some(message) => format!("branch {branch} was continued after message {}", shown(message)),
        None => format!("branch {branch} has other messages"),
    }
}
