//! Forwards the calls of chats and messages.

use async_trait::async_trait;
use context_core::base::{CheckpointName, limits};
use context_core::message::PlacedNode;
use context_core::store::{
    Branch, BranchDeletion, ChainEnd, Chat, ChatPatch, ChatQuery, ChatSize, ChatSummary,
    Checkpoint, Commit, CommitOutcome, Created, Cursor, Durability, HistoryStore, NewChat, Page,
    RefLog, RefLogStore, Revision, Window,
};
use context_core::{BranchName, Chain, ChatRef, MessageId, Result, Timestamp};
use context_store_kit::watch::Topic;

use crate::chat;
use crate::connections::calls::{reading, writing};
use crate::history::{
    branches, chats, checkpoints, group_commit, listing, messages, read, ref_log,
};
use crate::store::Shared;

#[async_trait]
impl HistoryStore for Shared {
    async fn create_chat(&self, new: NewChat) -> Result<Created> {
        new.check()?;
        writing!(self, "create_chat", |writer| chats::create(writer, new).await)
    }

    async fn chat(&self, chat: &ChatRef) -> Result<Option<Chat>> {
        reading!(self, "chat", |reader| chat::rows::show(reader, chat).await)
    }

    async fn list_chats(&self, query: &ChatQuery) -> Result<Page<ChatSummary>> {
        query.check()?;
        reading!(self, "list_chats", |reader| listing::list(reader, query).await)
    }

    async fn update_chat(&self, chat: &ChatRef, patch: &ChatPatch, at: Timestamp) -> Result<Chat> {
        limits::check_chat("update_chat", chat)?;
        writing!(self, "update_chat", |writer| chats::update(writer, chat, patch, at).await)
    }

    async fn delete_chat(&self, chat: &ChatRef, idle_since: Option<Timestamp>) -> Result<bool> {
        let deleted =
            writing!(self, "delete_chat", |writer| chats::delete(writer, chat, idle_since).await)?;
        self.watches.wake_all(|| Topic::chat(chat));
        Ok(deleted)
    }

    async fn chat_size(&self, chat: &ChatRef) -> Result<ChatSize> {
        reading!(self, "chat_size", |reader| chats::size(reader, chat).await)
    }

    async fn rename_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        to: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        writing!(self, "rename_branch", |writer| branches::rename(writer, chat, branch, to, at)
            .await)
    }

    async fn delete_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        expected: Option<&MessageId>,
        at: Timestamp,
    ) -> Result<BranchDeletion> {
        writing!(self, "delete_branch", |writer| branches::delete(
            writer, chat, branch, expected, at
        )
        .await)
    }

    async fn commit(&self, commit: Commit) -> Result<CommitOutcome> {
        commit.check()?;
        Durability::PowerLoss.check_commit(&commit)?;
        let redacts = !commit.redactions.is_empty();
        let result = group_commit::commit(&self.connections, &self.queue, commit).await;
        if redacts && result.is_ok() {
            // Best effort: the commit is done, even if the log cannot be emptied now.
            let _ = self.connections.clear_log(false).await;
        }
        result.map_err(|fault| fault.during("commit"))
    }

    async fn branches(&self, chat: &ChatRef) -> Result<Vec<Branch>> {
        reading!(self, "branches", |reader| branches::branches(reader, chat).await)
    }

    async fn activate_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        writing!(self, "activate_branch", |writer| branches::activate(writer, chat, branch, at)
            .await)
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
        writing!(self, "set_checkpoint", |writer| checkpoints::set(writer, chat, checkpoint).await)
    }

    async fn checkpoints(&self, chat: &ChatRef) -> Result<Vec<Checkpoint>> {
        reading!(self, "checkpoints", |reader| checkpoints::list(reader, "checkpoints", chat).await)
    }

    async fn delete_checkpoint(
        &self,
        chat: &ChatRef,
        name: &CheckpointName,
        at: Timestamp,
    ) -> Result<bool> {
        writing!(self, "delete_checkpoint", |writer| {
            checkpoints::delete(writer, chat, name, at).await
        })
    }

    async fn chain(&self, chat: &ChatRef, end: &ChainEnd, window: &Window) -> Result<Chain> {
        reading!(self, "chain", |reader| read::chain(reader, chat, end, window).await)
    }

    async fn messages(&self, chat: &ChatRef, ids: &[MessageId]) -> Result<Vec<Option<PlacedNode>>> {
        reading!(self, "messages", |reader| messages::messages(reader, chat, ids).await)
    }

    async fn all_messages(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<PlacedNode>> {
        reading!(self, "all_messages", |reader| messages::all_messages(reader, chat, limit, after)
            .await)
    }

    async fn revisions(&self, chat: &ChatRef, message: &MessageId) -> Result<Vec<Revision>> {
        reading!(self, "revisions", |reader| messages::revisions(reader, chat, message).await)
    }
}

#[async_trait]
impl RefLogStore for Shared {
    async fn ref_log(&self, chat: &ChatRef) -> Result<RefLog> {
        reading!(self, "ref_log", |reader| ref_log::list(reader, chat).await)
    }

    async fn clear_ref_log(&self, chat: &ChatRef) -> Result<u64> {
        writing!(self, "clear_ref_log", |writer| ref_log::clear(writer, chat).await)
    }
}
