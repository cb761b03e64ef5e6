//! The calls of the store. Writes are passed to the inner store, and their effect on cached chains
//! is applied: appended messages are added, and removed content is dropped.

use std::sync::Arc;

use context_core::store::{Commit, Committed, Target};
use context_core::{BranchName, Chain, ChatRef, MessageId, Node, Result, Store};

use super::Shared;
use super::chains::Key;
use crate::call::Call;
use crate::forward::forward;

impl Shared {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    /// Passes a call to the inner store.
    async fn make_call<T, W>(&self, _: Call<'_>, work: impl Fn() -> W) -> Result<T>
    where
        W: Future<Output = Result<T>>,
    {
        work().await
    }

    /// Adds appended messages to a cached chain.
    ///
    /// The entry stays correct if others have written in between. If the generation has changed,
    /// the next read finds out. If it has not, these messages follow the cached head in that
    /// generation.
    fn extend_cached(&self, appended: &AppendedMessages, committed: &Committed) {
        let behind = if appended.grafts { &committed.onto } else { &appended.behind };
        let key = Key::branch(&appended.chat, &appended.branch);
        let cached = behind.as_ref().and_then(|behind| self.chains.ending_with(&key, behind));
        let Some(cached) = cached else { return };
        let mut chain: Chain = cached;
        appended.nodes.iter().for_each(|node| chain.push(Arc::clone(node)));
        self.chains.put(&key, &chain);
    }
}

/// The messages of a commit that only appends to a branch.
struct AppendedMessages {
    chat: ChatRef,
    branch: BranchName,
    /// The head that the writer saw.
    behind: Option<MessageId>,
    /// Whether the messages follow the head that the store names instead.
    grafts: bool,
    nodes: Vec<Arc<Node>>,
}

impl AppendedMessages {
    fn of(commit: &Commit) -> Option<Self> {
        let (branch, behind, grafts) = match &commit.target {
            Target::Extend { branch, expected } => (branch, expected, false),
            Target::Graft { branch, seen } => (branch, seen, true),
            Target::Stay | Target::Fork { .. } => return None,
        };
        // A store may count revisions itself, so messages that come with a revision are read from
        // the store.
        let plain = commit.amendments.is_empty()
            && commit.redactions.is_empty()
            && !commit.nodes.is_empty()
            && commit.nodes.iter().all(|node| node.revision == 0);
        plain.then(|| Self {
            chat: commit.chat.clone(),
            branch: branch.clone(),
            behind: behind.clone(),
            grafts,
            nodes: commit.nodes.clone(),
        })
    }
}

forward! {
    HistoryStore for Shared:
        create_chat chat list_chats update_chat chat_size branches activate_branch rename_branch
            set_checkpoint checkpoints
        messages all_messages revisions;
    {
        async fn delete_chat(&self, chat: &ChatRef, idle_since: Option<Timestamp>) -> Result<bool> {
            let deleted = self.inner.history().delete_chat(chat, idle_since).await;
            self.chains.forget_chat(chat);
            deleted
        }

        async fn commit(&self, commit: Commit) -> Result<CommitOutcome> {
            let appended = AppendedMessages::of(&commit);
            let redacts = (!commit.redactions.is_empty()).then(|| commit.chat.clone());
            let outcome = self.inner.history().commit(commit).await;
            if let Some(chat) = &redacts {
                self.chains.forget_chat(chat);
            }
            if let (Ok(CommitOutcome::Applied(committed)), Some(appended)) = (&outcome, &appended) {
                self.extend_cached(appended, committed);
            }
            outcome
        }

        async fn delete_branch(
            &self,
            chat: &ChatRef,
            branch: &BranchName,
            expected: Option<&MessageId>,
            at: Timestamp,
        ) -> Result<BranchDeletion> {
            let deleted = self.inner.history().delete_branch(chat, branch, expected, at).await;
            self.chains.forget_chat(chat);
            deleted
        }

        async fn delete_checkpoint(
            &self,
            chat: &ChatRef,
            name: &CheckpointName,
            at: Timestamp,
        ) -> Result<bool> {
            let deleted = self.inner.history().delete_checkpoint(chat, name, at).await;
            self.chains.forget_chat(chat);
            deleted
        }

        async fn chain(&self, chat: &ChatRef, end: &ChainEnd, window: &Window) -> Result<Chain> {
            self.read(chat, end, window).await
        }
    }
}

forward! {
    Maintenance for Shared: check users facts vacuum backup;
    {
        async fn erase_user(&self, user: &UserId, cancel: &CancelSignal) -> Result<Erasure> {
            let erased = self.inner.require_maintenance()?.erase_user(user, cancel).await;
            self.chains.forget_user(user);
            erased
        }
    }
}
