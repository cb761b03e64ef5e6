//! The history calls, each forwarded to its implementation.

use async_trait::async_trait;
use context_core::base::{CheckpointName, limits};
use context_core::message::PlacedNode;
use context_core::store::{
    Branch, BranchDeletion, ChainEnd, Chat, ChatPatch, ChatQuery, ChatSize, ChatSummary,
    Checkpoint, Commit, CommitOutcome, Created, Cursor, HistoryStore, NewChat, Page, RefLog,
    RefLogStore, Revision, Window,
};
use context_core::{BranchName, Chain, ChatRef, MessageId, Result, Timestamp};
use context_store_kit::watch::Topic;

use crate::connections::shared::Shared;
use crate::history::{branches, chats, checkpoints, commit, listing, messages, read, ref_log};

#[async_trait]
impl HistoryStore for Shared {
    async fn create_chat(&self, new: NewChat) -> Result<Created> {
        new.check()?;
        chats::create(self, new).await.map_err(|fault| fault.during("create_chat"))
    }

    async fn chat(&self, chat: &ChatRef) -> Result<Option<Chat>> {
        chats::find(self, chat).await.map_err(|fault| fault.during("chat"))
    }

    async fn list_chats(&self, query: &ChatQuery) -> Result<Page<ChatSummary>> {
        query.check()?;
        listing::list(self, query).await.map_err(|fault| fault.during("list_chats"))
    }

    async fn update_chat(&self, chat: &ChatRef, patch: &ChatPatch, at: Timestamp) -> Result<Chat> {
        limits::check_chat("update_chat", chat)?;
        chats::update(self, chat, patch, at).await.map_err(|fault| fault.during("update_chat"))
    }

    async fn delete_chat(&self, chat: &ChatRef, idle_since: Option<Timestamp>) -> Result<bool> {
        let _change = self.watches.change(Topic::chat(chat));
        let deleted = chats::delete(self, chat, idle_since).await;
        deleted.map(|messages| messages.is_some()).map_err(|fault| fault.during("delete_chat"))
    }

    async fn chat_size(&self, chat: &ChatRef) -> Result<ChatSize> {
        chats::size(self, chat).await.map_err(|fault| fault.during("chat_size"))
    }

    async fn commit(&self, commit: Commit) -> Result<CommitOutcome> {
        commit.check()?;
        commit::commit(self, &commit).await.map_err(|fault| fault.during("commit"))
    }

    async fn branches(&self, chat: &ChatRef) -> Result<Vec<Branch>> {
        branches::list(self, chat).await.map_err(|fault| fault.during("branches"))
    }

    async fn activate_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        branches::activate(self, chat, branch, at)
            .await
            .map_err(|fault| fault.during("activate_branch"))
    }

    async fn rename_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        to: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        branches::rename(self, chat, branch, to, at)
            .await
            .map_err(|fault| fault.during("rename_branch"))
    }

    async fn delete_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        expected: Option<&MessageId>,
        at: Timestamp,
    ) -> Result<BranchDeletion> {
        let deleted = branches::delete(self, chat, branch, expected, at).await;
        deleted.map_err(|fault| fault.during("delete_branch"))
    }

    async fn set_checkpoint(
        &self,
        chat: &ChatRef,
        name: &CheckpointName,
        message: &MessageId,
        at: Timestamp,
    ) -> Result<Checkpoint> {
        limits::check_id("set_checkpoint", "checkpoint", name.as_str())?;
        let checkpoint = Checkpoint::new(name.clone(), message.clone(), at);
        checkpoints::set(self, chat, checkpoint)
            .await
            .map_err(|fault| fault.during("set_checkpoint"))
    }

    async fn checkpoints(&self, chat: &ChatRef) -> Result<Vec<Checkpoint>> {
        checkpoints::list(self, chat).await.map_err(|fault| fault.during("checkpoints"))
    }

    async fn delete_checkpoint(
        &self,
        chat: &ChatRef,
        name: &CheckpointName,
        at: Timestamp,
    ) -> Result<bool> {
        checkpoints::delete(self, chat, name, at)
            .await
            .map_err(|fault| fault.during("delete_checkpoint"))
    }

    async fn chain(&self, chat: &ChatRef, end: &ChainEnd, window: &Window) -> Result<Chain> {
        read::chain(self, chat, end, window).await.map_err(|fault| fault.during("chain"))
    }

    async fn messages(&self, chat: &ChatRef, ids: &[MessageId]) -> Result<Vec<Option<PlacedNode>>> {
        messages::messages(self, chat, ids).await.map_err(|fault| fault.during("messages"))
    }

    async fn all_messages(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<PlacedNode>> {
        messages::all(self, chat, limit, after).await.map_err(|fault| fault.during("all_messages"))
    }

    async fn revisions(&self, chat: &ChatRef, message: &MessageId) -> Result<Vec<Revision>> {
        messages::revisions(self, chat, message).await.map_err(|fault| fault.during("revisions"))
    }
}

#[async_trait]
impl RefLogStore for Shared {
    async fn ref_log(&self, chat: &ChatRef) -> Result<RefLog> {
        ref_log::list(self, chat).await.map_err(|fault| fault.during("ref_log"))
    }

    async fn clear_ref_log(&self, chat: &ChatRef) -> Result<u64> {
        ref_log::clear(self, chat).await.map_err(|fault| fault.during("clear_ref_log"))
    }
}
