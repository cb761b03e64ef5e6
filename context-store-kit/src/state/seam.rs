//! The storage traits, implemented over one value per chat. [`ChatState`] implements the calls;
//! this module only finds the chat and checks that it exists.

use std::sync::Arc;

use async_trait::async_trait;

use super::{StateBacked, StateStore};
use crate::ChatState;
use context_core::base::{CheckpointName, FragmentId, limits};
use context_core::message::PlacedNode;
use context_core::store::{
    Branch, BranchDeletion, ChainEnd, Chat, ChatPatch, ChatQuery, ChatSize, ChatSummary,
    Checkpoint, Commit, CommitOutcome, Created, Cursor, Durability, FragmentLog, FragmentLogStore,
    FragmentStore, HistoryStore, Lease, LeaseClaim, LeaseOutcome, LeaseStore, NewChat, Page,
    RefLog, RefLogStore, Revision, SearchHit, SearchQuery, SearchStore, StoredFragment, Window,
};
use context_core::{BranchName, Chain, ChatRef, Error, MessageId, Result, Timestamp, UserId};

/// Reads a chat that must exist.
async fn find(
    store: &impl StateStore,
    operation: &'static str,
    chat: &ChatRef,
) -> Result<Arc<ChatState>> {
    store.state(chat).await?.ok_or_else(|| chat_not_found(operation, chat))
}

/// Changes a chat that must exist.
async fn write<T: Send + 'static>(
    store: &impl StateStore,
    operation: &'static str,
    chat: &ChatRef,
    change: impl FnOnce(&mut ChatState) -> Result<T> + Send + 'static,
) -> Result<T> {
    let name = chat.clone();
    let change = move |state: &mut Option<ChatState>, _: &mut u64| {
        change(state.as_mut().ok_or_else(|| chat_not_found(operation, &name))?)
    };
    store.change(chat, change).await
}

fn chat_not_found(operation: &'static str, chat: &ChatRef) -> Error {
    Error::not_found(operation, "chat", &chat.chat)
}

#[async_trait]
impl<S: StateStore> StateStore for Arc<S> {
    async fn state(&self, chat: &ChatRef) -> Result<Option<Arc<ChatState>>> {
        (**self).state(chat).await
    }

    async fn states(&self, user: Option<&UserId>) -> Result<Vec<Arc<ChatState>>> {
        (**self).states(user).await
    }

    async fn change<T, F>(&self, chat: &ChatRef, change: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Option<ChatState>, &mut u64) -> Result<T> + Send + 'static,
    {
        (**self).change(chat, change).await
    }

    fn strongest(&self) -> Durability {
        (**self).strongest()
    }
}

#[async_trait]
impl<S: StateStore> HistoryStore for StateBacked<S> {
    async fn create_chat(&self, new: NewChat) -> Result<Created> {
        new.check()?;
        let chat = new.chat.clone();
        let create = |state: &mut Option<ChatState>, created: &mut u64| {
            if let Some(state) = state {
                return Ok(Created::Existing(state.chat().clone()));
            }
            *created += 1;
            let state = state.insert(ChatState::new(Chat::new(new), *created));
            Ok(Created::New(state.chat().clone()))
        };
        self.0.change(&chat, create).await
    }

    async fn chat(&self, chat: &ChatRef) -> Result<Option<Chat>> {
        Ok(self.0.state(chat).await?.map(|state| state.chat().clone()))
    }

    async fn list_chats(&self, query: &ChatQuery) -> Result<Page<ChatSummary>> {
        query.check()?;
        ChatState::list(self.0.states(Some(&query.user)).await?.iter().map(Arc::as_ref), query)
    }

    async fn update_chat(&self, chat: &ChatRef, patch: &ChatPatch, at: Timestamp) -> Result<Chat> {
        limits::check_chat("update_chat", chat)?;
        let patch = patch.clone();
        write(&self.0, "update_chat", chat, move |state| state.update(&patch, at)).await
    }

    async fn delete_chat(&self, chat: &ChatRef, idle_since: Option<Timestamp>) -> Result<bool> {
        let idle =
            move |state: &mut ChatState| idle_since.is_none_or(|at| state.chat().updated_at <= at);
        self.0.change(chat, move |state, _| Ok(state.take_if(idle).is_some())).await
    }

    async fn chat_size(&self, chat: &ChatRef) -> Result<ChatSize> {
        Ok(find(&self.0, "chat_size", chat).await?.size())
    }

    async fn commit(&self, commit: Commit) -> Result<CommitOutcome> {
        commit.check()?;
        self.0.strongest().check_commit(&commit)?;
        let chat = commit.chat.clone();
        write(&self.0, "commit", &chat, move |state| state.commit(commit)).await
    }

    async fn branches(&self, chat: &ChatRef) -> Result<Vec<Branch>> {
        Ok(find(&self.0, "branches", chat).await?.branches())
    }

    async fn activate_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        let branch = branch.clone();
        write(&self.0, "activate_branch", chat, move |state| state.activate_branch(&branch, at))
            .await
    }

    async fn rename_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        to: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        let (branch, to) = (branch.clone(), to.clone());
        write(&self.0, "rename_branch", chat, move |state| state.rename_branch(&branch, &to, at))
            .await
    }

    async fn delete_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        expected: Option<&MessageId>,
        at: Timestamp,
    ) -> Result<BranchDeletion> {
        let (branch, expected) = (branch.clone(), expected.cloned());
        let delete =
            move |state: &mut ChatState| state.delete_branch(&branch, expected.as_ref(), at);
        write(&self.0, "delete_branch", chat, delete).await
    }

    async fn set_checkpoint(
        &self,
        chat: &ChatRef,
        name: &CheckpointName,
        message: &MessageId,
        at: Timestamp,
    ) -> Result<Checkpoint> {
        let (name, message) = (name.clone(), message.clone());
        write(&self.0, "set_checkpoint", chat, move |state| {
            state.set_checkpoint(&name, &message, at)
        })
        .await
    }

    async fn checkpoints(&self, chat: &ChatRef) -> Result<Vec<Checkpoint>> {
        Ok(find(&self.0, "checkpoints", chat).await?.checkpoints())
    }

    async fn delete_checkpoint(
        &self,
        chat: &ChatRef,
        name: &CheckpointName,
        at: Timestamp,
    ) -> Result<bool> {
        let name = name.clone();
        let delete = move |state: &mut ChatState| Ok(state.delete_checkpoint(&name, at));
        write(&self.0, "delete_checkpoint", chat, delete).await
    }

    async fn chain(&self, chat: &ChatRef, end: &ChainEnd, window: &Window) -> Result<Chain> {
        find(&self.0, "chain", chat).await?.chain(end, window)
    }

    async fn messages(&self, chat: &ChatRef, ids: &[MessageId]) -> Result<Vec<Option<PlacedNode>>> {
        Ok(find(&self.0, "messages", chat).await?.messages(ids))
    }

    async fn all_messages(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<PlacedNode>> {
        find(&self.0, "all_messages", chat).await?.all_messages(limit, after)
    }

    async fn revisions(&self, chat: &ChatRef, message: &MessageId) -> Result<Vec<Revision>> {
        Ok(find(&self.0, "revisions", chat).await?.revisions(message))
    }
}

#[async_trait]
impl<S: StateStore> FragmentStore for StateBacked<S> {
    async fn fragments(&self, chat: &ChatRef) -> Result<Vec<StoredFragment>> {
        Ok(find(&self.0, "fragments", chat).await?.fragments().to_vec())
    }

    async fn put_fragments(
        &self,
        chat: &ChatRef,
        fragments: &[StoredFragment],
        at: Timestamp,
    ) -> Result<()> {
        let fragments = fragments.to_vec();
        write(&self.0, "put_fragments", chat, move |state| state.put_fragments(&fragments, at))
            .await
    }

    async fn remove_fragment(
        &self,
        chat: &ChatRef,
        id: &FragmentId,
        at: Timestamp,
    ) -> Result<bool> {
        let id = id.clone();
        write(&self.0, "remove_fragment", chat, move |state| Ok(state.remove_fragment(&id, at)))
            .await
    }
}

#[async_trait]
impl<S: StateStore> FragmentLogStore for StateBacked<S> {
    async fn fragment_log(&self, chat: &ChatRef) -> Result<FragmentLog> {
        Ok(find(&self.0, "fragment_log", chat).await?.fragment_log().clone())
    }

    async fn clear_fragment_log(&self, chat: &ChatRef) -> Result<u64> {
        write(&self.0, "clear_fragment_log", chat, |state| Ok(state.clear_fragment_log())).await
    }
}

#[async_trait]
impl<S: StateStore> RefLogStore for StateBacked<S> {
    async fn ref_log(&self, chat: &ChatRef) -> Result<RefLog> {
        Ok(find(&self.0, "ref_log", chat).await?.ref_log().clone())
    }

    async fn clear_ref_log(&self, chat: &ChatRef) -> Result<u64> {
        write(&self.0, "clear_ref_log", chat, |state| Ok(state.clear_ref_log())).await
    }
}

#[async_trait]
impl<S: StateStore> LeaseStore for StateBacked<S> {
    async fn take_lease(&self, chat: &ChatRef, claim: &LeaseClaim) -> Result<LeaseOutcome> {
        claim.check(chat)?;
        let claim = claim.clone();
        write(&self.0, "take_lease", chat, move |state| Ok(state.take_lease(&claim))).await
    }

    async fn release_lease(&self, chat: &ChatRef, number: u64, at: Timestamp) -> Result<bool> {
        write(&self.0, "release_lease", chat, move |state| Ok(state.release_lease(number, at)))
            .await
    }

    async fn lease(&self, chat: &ChatRef) -> Result<Option<Lease>> {
        Ok(find(&self.0, "lease", chat).await?.lease().cloned())
    }
}

/// There is no index: a search reads every message of its scope.
#[async_trait]
impl<S: StateStore> SearchStore for StateBacked<S> {
    async fn search(&self, query: &SearchQuery) -> Result<Page<SearchHit>> {
        query.check()?;
        ChatState::search(self.0.states(Some(&query.user)).await?.iter().map(Arc::as_ref), query)
    }
}
