//! The required abilities of a store: chats, messages and fragments.

use async_trait::async_trait;

use crate::base::{CheckpointName, FragmentId};
use crate::message::{NodeKind, PlacedNode};
use crate::store::{
    Branch, BranchDeletion, Chat, ChatPatch, ChatQuery, ChatSize, ChatSummary, Checkpoint, Commit,
    CommitOutcome, Created, Cursor, NewChat, Page, Revision, StoredFragment,
};
use crate::{BranchName, Chain, ChatRef, MessageId, Result, Timestamp};

/// The end of a chain to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainEnd {
    /// The head of this branch.
    Branch(BranchName),
    /// This message, on any branch.
    Message(MessageId),
}

/// The part of a chain to read, counted backwards from its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Window {
    /// The whole chain.
    Whole,
    /// The last `n` nodes.
    Last(usize),
    /// The nodes from the last boundary on, including the boundary. The whole chain if there is no
    /// boundary.
    Boundary,
    /// As many of the last nodes as [weigh](crate::Node::weight) at most this much together, but at
    /// least one.
    Tokens(u64),
    /// The nodes after a message that was read before. The whole chain if the message is not on it,
    /// or if the chat's generation has changed since. [`Chain::skipped`] tells the cases apart: it
    /// is 0 only for the whole chain.
    After {
        /// The newest message that the caller has.
        message: MessageId,
        /// The [`Chain::generation`] of the earlier read.
        generation: u64,
    },
}

impl Window {
    /// Applies the window to a whole chain. For stores that cannot read a part of a chain.
    pub fn of(&self, chain: &Chain) -> Chain {
        let start = match self {
            Self::Whole => 0,
            Self::Last(n) => chain.len().saturating_sub(*n),
            Self::Boundary => {
                let from_end = chain.iter().rev().position(|node| node.kind == NodeKind::Boundary);
                from_end.map_or(0, |n| chain.len() - 1 - n)
            }
            Self::Tokens(budget) => {
                let mut left = *budget;
                let fitting = chain.iter().rev().take_while(|node| {
                    let fits = left.checked_sub(node.weight());
                    left = fits.unwrap_or(0);
                    fits.is_some()
                });
                chain.len() - fitting.count().max(1).min(chain.len())
            }
            Self::After { message, generation } if *generation == chain.generation() => {
                chain.position(message).map_or(0, |position| position + 1)
            }
            Self::After { .. } => 0,
        };
        if start == 0 { chain.clone() } else { chain.suffix(start) }
    }
}

/// Chats, their messages, branches and checkpoints. [`Store`](crate::Store) states the contract for
/// every call. A chat that does not exist is [`NotFound`](crate::ErrorKind::NotFound) for each call
/// that does not document otherwise, even if the call has nothing else to do.
#[async_trait]
pub trait HistoryStore: Send + Sync {
    /// Creates a chat with one empty branch, `main`, which is active. An existing chat is left
    /// unchanged.
    async fn create_chat(&self, new: NewChat) -> Result<Created>;

    /// Returns a chat of this user, if it exists.
    async fn chat(&self, chat: &ChatRef) -> Result<Option<Chat>>;

    /// Lists chats of one user, newest activity first, page by page. A chat that is written to
    /// between two pages may be listed twice or not at all. Every other chat is listed exactly
    /// once.
    async fn list_chats(&self, query: &ChatQuery) -> Result<Page<ChatSummary>>;

    /// Changes title and metadata in one read-modify-write transaction and returns the resulting
    /// chat. A chat that does not exist is [`NotFound`](crate::ErrorKind::NotFound).
    async fn update_chat(&self, chat: &ChatRef, patch: &ChatPatch, at: Timestamp) -> Result<Chat>;

    /// Deletes a chat and everything in it. Returns false if the chat did not exist, or if it was
    /// written to after `idle_since`. The condition protects writes that arrive between a
    /// clean-up's check and its deletion.
    async fn delete_chat(&self, chat: &ChatRef, idle_since: Option<Timestamp>) -> Result<bool>;

    /// Returns the size of a chat.
    async fn chat_size(&self, chat: &ChatRef) -> Result<ChatSize>;

    /// Writes a commit in one transaction: all of it or nothing.
    ///
    /// The conditions are checked in this order:
    ///
    /// 1. An [invalid](crate::store::Commit::check) commit is refused, and the chat must exist.
    /// 2. A known key decides: the outcome is [`Replayed`](CommitOutcome::Replayed) for equal
    ///    content, and other content is refused.
    /// 3. If all new messages are stored with equal content, in this order, after the same parent,
    ///    and on the chain of the named branch, the outcome is `Replayed`. If any of them is stored
    ///    otherwise, it is [`Exists`](CommitOutcome::Exists), also for a repeated
    ///    [`NextVersionOf`](crate::store::ForkName::NextVersionOf), which names no branch.
    /// 4. A commit that a [lease](crate::store::Lease::check_commit) excludes is refused.
    /// 5. A branch with another head than expected, or an exact name that is taken, is a
    ///    [`Conflict`](CommitOutcome::Conflict).
    ///
    /// A branch, message or fork point that does not exist is
    /// [`NotFound`](crate::ErrorKind::NotFound). New messages with
    /// [`Target::Stay`](crate::store::Target::Stay) are [`Invalid`](crate::ErrorKind::Invalid).
    async fn commit(&self, commit: Commit) -> Result<CommitOutcome>;

    /// Lists the branches in creation order.
    async fn branches(&self, chat: &ChatRef) -> Result<Vec<Branch>>;

    /// Makes a branch the active one. A branch that does not exist is
    /// [`NotFound`](crate::ErrorKind::NotFound).
    async fn activate_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        at: Timestamp,
    ) -> Result<()>;

    /// Renames a branch. The branch stays active or inactive and keeps its position in the list.
    /// [`Invalid`](crate::ErrorKind::Invalid) if another branch has the new name,
    /// [`NotFound`](crate::ErrorKind::NotFound) if the branch does not exist.
    async fn rename_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        to: &BranchName,
        at: Timestamp,
    ) -> Result<()>;

    /// Deletes a branch whose head is `expected`, together with the messages that no other branch
    /// and no checkpoint reaches, and their revisions. Another head is a
    /// [`Conflict`](BranchDeletion::Conflict), even for the active branch. Deleting the active
    /// branch is [`Invalid`](crate::ErrorKind::Invalid): activate another branch first. A branch
    /// that does not exist is [`NotFound`](crate::ErrorKind::NotFound). Either error names the
    /// branch.
    async fn delete_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        expected: Option<&MessageId>,
        at: Timestamp,
    ) -> Result<BranchDeletion>;

    /// Sets a checkpoint to a message of the chat, moving an existing checkpoint. Messages that
    /// only its old position reached are deleted. A message that does not exist is
    /// [`NotFound`](crate::ErrorKind::NotFound).
    async fn set_checkpoint(
        &self,
        chat: &ChatRef,
        name: &CheckpointName,
        message: &MessageId,
        at: Timestamp,
    ) -> Result<Checkpoint>;

    /// Lists the checkpoints, ordered by name.
    async fn checkpoints(&self, chat: &ChatRef) -> Result<Vec<Checkpoint>>;

    /// Deletes a checkpoint and the messages that only it reached. Returns false if it did not
    /// exist.
    async fn delete_checkpoint(
        &self,
        chat: &ChatRef,
        name: &CheckpointName,
        at: Timestamp,
    ) -> Result<bool>;

    /// Reads a chain from its root to `end`, or the window at its end, as one consistent state.
    /// Returns everything that the window asks for or an error, never silently less. A branch
    /// without messages has an empty chain. The chain carries the chat's
    /// [generation](Chain::generation), so that a reader that caches it notices when a cached
    /// message differs from the stored one.
    async fn chain(&self, chat: &ChatRef, end: &ChainEnd, window: &Window) -> Result<Chain>;

    /// Returns messages by id, from any branch: one slot per id, in the order of the ids.
    async fn messages(&self, chat: &ChatRef, ids: &[MessageId]) -> Result<Vec<Option<PlacedNode>>>;

    /// Lists all messages of a chat, from all branches and checkpoints, page by page. A parent
    /// always comes before its children. `limit` is from 1 to
    /// [`limits::MAX_PAGE`](crate::base::limits::MAX_PAGE).
    async fn all_messages(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<PlacedNode>>;

    /// Lists the earlier revisions of a message, oldest first. Empty if the message was never
    /// amended or does not exist.
    async fn revisions(&self, chat: &ChatRef, message: &MessageId) -> Result<Vec<Revision>>;
}

/// Persisted context fragments of a chat.
#[async_trait]
pub trait FragmentStore: Send + Sync {
    /// Lists the fragments in the order in which they were first put.
    async fn fragments(&self, chat: &ChatRef) -> Result<Vec<StoredFragment>>;

    /// Stores fragments in one transaction. A fragment that
    /// [replaces](StoredFragment::is_replaced_by) a stored one takes its position; any other is
    /// appended.
    async fn put_fragments(
        &self,
        chat: &ChatRef,
        fragments: &[StoredFragment],
        at: Timestamp,
    ) -> Result<()>;

    /// Removes the fragment with this id. Returns false if it did not exist.
    async fn remove_fragment(&self, chat: &ChatRef, id: &FragmentId, at: Timestamp)
    -> Result<bool>;
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Encoded, Message, Node, Role};

    fn after(message: &str, generation: u64) -> Window {
        Window::After { message: message.into(), generation }
    }

    fn chain() -> Chain {
        let node = |i: u32| {
            let id = format!("m{i}");
            let at = Timestamp::default();
            match i {
                2 => Node::from_encoded(
                    id.into(),
                    NodeKind::Boundary,
                    at,
                    Encoded::new("cut", 1, ""),
                ),
                _ => Node::new(id, Message::text(Role::User, "x"), at),
            }
            .with_tokens(10)
        };
        Chain::from_nodes(0, (0..6).map(|i| Arc::new(node(i)))).with_generation(4)
    }

    #[track_caller]
    fn check(window: Window, skipped: u64) {
        let cut = window.of(&chain());
        assert_eq!((cut.skipped(), cut.len() as u64), (skipped, 6 - skipped), "{window:?}");
    }

    #[test]
    fn windows_say_how_much_they_left_out() {
        check(Window::Whole, 0);
        check(Window::Last(2), 4);
        check(Window::Last(9), 0);
        check(Window::Boundary, 2);
        check(Window::Tokens(35), 3);
        check(Window::Tokens(1), 5);
        check(after("m3", 4), 4);
        check(after("m5", 4), 6);
        check(after("elsewhere", 4), 0);
        check(after("m5", 3), 0);
        assert!(Window::Tokens(1).of(&Chain::default()).is_empty());
    }
}
