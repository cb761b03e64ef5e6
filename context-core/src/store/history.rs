//! What a store must be able to do with chats, messages and fragments.

use async_trait::async_trait;

use crate::base::{CheckpointName, FragmentId};
use crate::message::{NodeKind, Placed};
use crate::store::{
    Branch, BranchDeletion, Chat, ChatPatch, ChatQuery, ChatSize, ChatSummary, Checkpoint, Commit,
    CommitOutcome, Created, Cursor, NewChat, Page, Revision, StoredFragment,
};
use crate::{BranchName, Chain, ChatRef, MessageId, Result, Timestamp};

/// Where a chain ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainEnd {
    /// At the head of this branch.
    Branch(BranchName),
    /// At this message, of any branch.
    Message(MessageId),
}

/// How much of a chain is read, from its end backwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Window {
    /// All of it.
    Whole,
    /// The last nodes.
    Last(usize),
    /// From the last boundary on, including it; all if there is none.
    Boundary,
    /// As many of the last nodes as [weigh](crate::Node::weight) at most this together, but at
    /// least one.
    Tokens(u64),
    /// What follows a message that was read before. All of the chain if the message is not on it,
    /// or if the chat is of another edition by now; [`Chain::skipped`] tells: it is 0 only then.
    After {
        /// The newest message the caller has.
        message: MessageId,
        /// What [`Chain::edition`] was when the caller read it.
        edition: u64,
    },
}

impl Window {
    /// The window of a whole chain. For stores that cannot read less.
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
            Self::After { message, edition } if *edition == chain.edition() => {
                chain.position(message).map_or(0, |position| position + 1)
            }
            Self::After { .. } => 0,
        };
        if start == 0 { chain.clone() } else { chain.suffix(start) }
    }
}

/// Chats, their messages, branches and checkpoints. See [`Store`](crate::Store) for the contract
/// that holds for every call. A chat that does not exist is
/// [`NotFound`](crate::ErrorKind::NotFound) for each call that says nothing else of it, also if
/// there is nothing else to do.
#[async_trait]
pub trait HistoryStore: Send + Sync {
    /// Creates a chat with one empty branch, `main`, which is active. A chat that exists is left
    /// unchanged.
    async fn create_chat(&self, new: NewChat) -> Result<Created>;

    /// A chat of this user; nothing if there is none.
    async fn chat(&self, chat: &ChatRef) -> Result<Option<Chat>>;

    /// Lists chats of one user, newest activity first, page by page. A chat that is written to
    /// while somebody pages may be seen twice or not at all; all others exactly once.
    async fn list_chats(&self, query: &ChatQuery) -> Result<Page<ChatSummary>>;

    /// Changes title and metadata in one transaction that reads and writes, and returns the chat as
    /// it is then. A chat that does not exist is [`NotFound`](crate::ErrorKind::NotFound).
    async fn update_chat(&self, chat: &ChatRef, patch: &ChatPatch, at: Timestamp) -> Result<Chat>;

    /// Deletes a chat and everything in it. False if there was none, or if it was written to after
    /// `idle_since`: so a clean-up that looks before it deletes does not take what came in between.
    async fn delete_chat(&self, chat: &ChatRef, idle_since: Option<Timestamp>) -> Result<bool>;

    /// How much a chat holds.
    async fn chat_size(&self, chat: &ChatRef) -> Result<ChatSize>;

    /// Writes a commit: all of it or nothing, decided and done under one guard.
    ///
    /// In this order: [`Commit::check`](crate::store::Commit::check); the chat must exist; a
    /// known key decides [`Replayed`](CommitOutcome::Replayed) (or refuses other content); new
    /// messages that are all stored, with equal content, in this order, behind the same parent and
    /// on the chain of the branch that is named, are `Replayed`; if any of them is stored otherwise
    /// the outcome is [`Exists`](CommitOutcome::Exists), also for a repeated
    /// [`NextVersionOf`](crate::store::ForkName::NextVersionOf), which names no branch; a branch that is
    /// not where it is expected is a [`Conflict`](CommitOutcome::Conflict). A branch, message or
    /// fork place that does not exist is [`NotFound`](crate::ErrorKind::NotFound); new messages
    /// with [`Target::Stay`](crate::store::Target::Stay) are [`Invalid`](crate::ErrorKind::Invalid).
    async fn commit(&self, commit: Commit) -> Result<CommitOutcome>;

    /// The branches, in the order they were created.
    async fn branches(&self, chat: &ChatRef) -> Result<Vec<Branch>>;

    /// Makes a branch the active one. A branch that does not exist is
    /// [`NotFound`](crate::ErrorKind::NotFound).
    async fn activate_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        at: Timestamp,
    ) -> Result<()>;

    /// Renames a branch, which stays what it is otherwise: active or not, and in its place in the
    /// list. [`Invalid`](crate::ErrorKind::Invalid) if another branch has the new name,
    /// [`NotFound`](crate::ErrorKind::NotFound) if there is no such branch.
    async fn rename_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        to: &BranchName,
        at: Timestamp,
    ) -> Result<()>;

    /// Deletes a branch that is where the caller saw it, and with it the messages that no other
    /// branch and no checkpoint reaches, their revisions included. A branch that is elsewhere is a
    /// [`Conflict`](BranchDeletion::Conflict), also if it is the active one. The active branch is
    /// [`Invalid`](crate::ErrorKind::Invalid) to delete, make another one active first; one that
    /// does not exist is [`NotFound`](crate::ErrorKind::NotFound). Either error names the branch.
    async fn delete_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        expected: Option<&MessageId>,
        at: Timestamp,
    ) -> Result<BranchDeletion>;

    /// Points a checkpoint at a message of the chat, moving it if it exists; messages that only it
    /// reached where it was are deleted. A message that is not there is
    /// [`NotFound`](crate::ErrorKind::NotFound).
    async fn set_checkpoint(
        &self,
        chat: &ChatRef,
        name: &CheckpointName,
        message: &MessageId,
        at: Timestamp,
    ) -> Result<Checkpoint>;

    /// The checkpoints, by name.
    async fn checkpoints(&self, chat: &ChatRef) -> Result<Vec<Checkpoint>>;

    /// Deletes a checkpoint, and messages that only it still reached. False if there was none.
    async fn delete_checkpoint(&self, chat: &ChatRef, name: &CheckpointName) -> Result<bool>;

    /// Reads a chain from a root to `end`, or the end of it, as one consistent state. What the
    /// window asks for or an error, never silently less. A branch without messages has an empty
    /// chain. The chain says which [edition](Chain::edition) of the chat it is, so that a reader
    /// that keeps it finds out when a message it has is no longer what is stored.
    async fn chain(&self, chat: &ChatRef, end: &ChainEnd, window: &Window) -> Result<Chain>;

    /// Messages by id, of any branch: one slot per id, in order.
    async fn messages(&self, chat: &ChatRef, ids: &[MessageId]) -> Result<Vec<Option<Placed>>>;

    /// All messages of a chat, of all branches and checkpoints, page by page; a parent always comes
    /// before its children. `limit` is from 1 to [`limits::MAX_PAGE`](crate::base::limits::MAX_PAGE).
    async fn all_messages(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Placed>>;

    /// What a message was before it was amended, oldest first; empty if it never was, and if the
    /// chat has no such message.
    async fn revisions(&self, chat: &ChatRef, message: &MessageId) -> Result<Vec<Revision>>;
}

/// Context fragments that are kept with a chat.
#[async_trait]
pub trait FragmentStore: Send + Sync {
    /// The fragments, in the order they were first put.
    async fn fragments(&self, chat: &ChatRef) -> Result<Vec<StoredFragment>>;

    /// Keeps fragments: one that [replaces](StoredFragment::is_replaced_by) another takes its
    /// place, any other goes to the end. One transaction.
    async fn put_fragments(
        &self,
        chat: &ChatRef,
        fragments: &[StoredFragment],
        at: Timestamp,
    ) -> Result<()>;

    /// Forgets the fragment of this id. False if there was none.
    async fn remove_fragment(&self, chat: &ChatRef, id: &FragmentId) -> Result<bool>;
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Encoded, Message, Node, Role};

    fn after(message: &str, edition: u64) -> Window {
        Window::After { message: message.into(), edition }
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
        Chain::from_nodes(0, (0..6).map(|i| Arc::new(node(i)))).with_edition(4)
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
