//! The traits of the seam over one value per chat. What a call does to a chat is [`ChatState`]'s
//! business; here is only which chat it is, and that it exists.

use std::sync::Arc;

use async_trait::async_trait;

use super::StateStore;
use crate::{
    Branch, BranchDeletion, BranchName, Chain, ChainEnd, Chat, ChatPatch, ChatQuery, ChatRef,
    ChatSize, ChatState, ChatSummary, Checkpoint, CheckpointName, Commit, CommitOutcome, Created,
    Cursor, Error, FragmentId, FragmentStore, HistoryStore, MessageId, NewChat, Page, Placed,
    Result, Revision, SearchHit, SearchQuery, SearchStore, StoredFragment, Timestamp, Window,
    limits,
};

/// A chat to look at.
async fn find(
    store: &impl StateStore,
    operation: &'static str,
    chat: &ChatRef,
) -> Result<Arc<ChatState>> {
    store.state(chat).await?.ok_or_else(|| absent(operation, chat))
}

/// Changes a chat that exists.
async fn write<T: Send + 'static>(
    store: &impl StateStore,
    operation: &'static str,
    chat: &ChatRef,
    change: impl FnOnce(&mut ChatState) -> Result<T> + Send + 'static,
) -> Result<T> {
    let name = chat.clone();
    let change = move |state: &mut Option<ChatState>, _: &mut u64| {
        change(state.as_mut().ok_or_else(|| absent(operation, &name))?)
    };
    store.change(chat, change).await
}

fn absent(operation: &'static str, chat: &ChatRef) -> Error {
    Error::not_found(operation, "chat", &chat.chat)
}

#[async_trait]
impl<S: StateStore> HistoryStore for S {
    async fn create_chat(&self, new: NewChat) -> Result<Created> {
        limits::check_new_chat(&new)?;
        let chat = new.chat.clone();
        let create = |state: &mut Option<ChatState>, created: &mut u64| {
            if let Some(state) = state {
                return Ok(Created::Existing(state.chat().clone()));
            }
            *created += 1;
            let state = state.insert(ChatState::new(Chat::new(new), *created));
            Ok(Created::New(state.chat().clone()))
        };
        self.change(&chat, create).await
    }

    async fn chat(&self, chat: &ChatRef) -> Result<Option<Chat>> {
        Ok(self.state(chat).await?.map(|state| state.chat().clone()))
    }

    async fn list_chats(&self, query: &ChatQuery) -> Result<Page<ChatSummary>> {
        query.check()?;
        ChatState::list(self.states(Some(&query.user)).await?.iter().map(Arc::as_ref), query)
    }

    async fn update_chat(&self, chat: &ChatRef, patch: &ChatPatch, at: Timestamp) -> Result<Chat> {
        limits::check_chat("update_chat", chat)?;
        let patch = patch.clone();
        write(self, "update_chat", chat, move |state| state.update(&patch, at)).await
    }

    async fn delete_chat(&self, chat: &ChatRef, idle_since: Option<Timestamp>) -> Result<bool> {
        let idle =
            move |state: &mut ChatState| idle_since.is_none_or(|at| state.chat().updated_at <= at);
        self.change(chat, move |state, _| Ok(state.take_if(idle).is_some())).await
    }

    async fn chat_size(&self, chat: &ChatRef) -> Result<ChatSize> {
        Ok(find(self, "chat_size", chat).await?.size())
    }

    async fn commit(&self, commit: Commit) -> Result<CommitOutcome> {
        limits::check_commit(&commit)?;
        let chat = commit.chat.clone();
        write(self, "commit", &chat, move |state| state.commit(commit)).await
    }

    async fn branches(&self, chat: &ChatRef) -> Result<Vec<Branch>> {
        Ok(find(self, "branches", chat).await?.branches())
    }

    async fn activate_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        let branch = branch.clone();
        write(self, "activate_branch", chat, move |state| state.activate_branch(&branch, at)).await
    }

    async fn rename_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        to: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        let (branch, to) = (branch.clone(), to.clone());
        write(self, "rename_branch", chat, move |state| state.rename_branch(&branch, &to, at)).await
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
        write(self, "delete_branch", chat, delete).await
    }

    async fn set_checkpoint(
        &self,
        chat: &ChatRef,
        name: &CheckpointName,
        message: &MessageId,
        at: Timestamp,
    ) -> Result<Checkpoint> {
        let (name, message) = (name.clone(), message.clone());
        write(self, "set_checkpoint", chat, move |state| state.set_checkpoint(&name, &message, at))
            .await
    }

    async fn checkpoints(&self, chat: &ChatRef) -> Result<Vec<Checkpoint>> {
        Ok(find(self, "checkpoints", chat).await?.checkpoints())
    }

    async fn delete_checkpoint(&self, chat: &ChatRef, name: &CheckpointName) -> Result<bool> {
        let name = name.clone();
        write(self, "delete_checkpoint", chat, move |state| Ok(state.delete_checkpoint(&name)))
            .await
    }

    async fn chain(&self, chat: &ChatRef, end: &ChainEnd, window: &Window) -> Result<Chain> {
        find(self, "chain", chat).await?.chain(end, window)
    }

    async fn messages(&self, chat: &ChatRef, ids: &[MessageId]) -> Result<Vec<Option<Placed>>> {
        Ok(find(self, "messages", chat).await?.messages(ids))
    }

    async fn all_messages(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Placed>> {
        find(self, "all_messages", chat).await?.all_messages(limit, after)
    }

    async fn revisions(&self, chat: &ChatRef, message: &MessageId) -> Result<Vec<Revision>> {
        Ok(find(self, "revisions", chat).await?.revisions(message))
    }
}

#[async_trait]
impl<S: StateStore> FragmentStore for S {
    async fn fragments(&self, chat: &ChatRef) -> Result<Vec<StoredFragment>> {
        Ok(find(self, "fragments", chat).await?.fragments().to_vec())
    }

    async fn put_fragments(
        &self,
        chat: &ChatRef,
        fragments: &[StoredFragment],
        at: Timestamp,
    ) -> Result<()> {
        let fragments = fragments.to_vec();
        write(self, "put_fragments", chat, move |state| state.put_fragments(&fragments, at)).await
    }

    async fn remove_fragment(&self, chat: &ChatRef, id: &FragmentId) -> Result<bool> {
        let id = id.clone();
        write(self, "remove_fragment", chat, move |state| Ok(state.remove_fragment(&id))).await
    }
}

/// Without an index: a search reads every message of its scope.
#[async_trait]
impl<S: StateStore> SearchStore for S {
    async fn search(&self, query: &SearchQuery) -> Result<Page<SearchHit>> {
        query.check()?;
        ChatState::search(self.states(Some(&query.user)).await?.iter().map(Arc::as_ref), query)
    }
}
