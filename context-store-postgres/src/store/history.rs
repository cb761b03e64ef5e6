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

use crate::chat::rows as chat_rows;
use crate::connections::{Flush, Work, work};
use crate::history::{
    append, branches, chats, checkpoints, commit, listing, messages, news, read, ref_log,
};
use crate::store::Shared;

#[async_trait]
impl HistoryStore for Shared {
    async fn create_chat(&self, new: NewChat) -> Result<Created> {
        new.check()?;
        let user = new.chat.user.clone();
        work!(self.pool, "create_chat", Work::Write, &user, |session| chats::create(session, new)
            .await)
    }

    async fn chat(&self, chat: &ChatRef) -> Result<Option<Chat>> {
        work!(self.pool, "chat", Work::Read, &chat.user, |session| {
            Ok(chat_rows::read(session, chat).await?.map(|(_, chat)| chat))
        })
    }

    async fn list_chats(&self, query: &ChatQuery) -> Result<Page<ChatSummary>> {
        query.check()?;
        let work = if query.metadata.is_empty() { Work::Read } else { Work::Snapshot };
        work!(self.pool, "list_chats", work, &query.user, |session| listing::list(session, query)
            .await)
    }

    async fn update_chat(&self, chat: &ChatRef, patch: &ChatPatch, at: Timestamp) -> Result<Chat> {
        limits::check_chat("update_chat", chat)?;
        work!(self.pool, "update_chat", Work::Write, &chat.user, |session| {
            chats::update(session, chat, patch, at).await
        })
    }

    async fn delete_chat(&self, chat: &ChatRef, idle_since: Option<Timestamp>) -> Result<bool> {
        let _change = self.watches.change(Topic::chat(chat));
        work!(self.pool, "delete_chat", Work::Write, &chat.user, |session| {
            chats::delete(session, chat, idle_since).await
        })
    }

    async fn chat_size(&self, chat: &ChatRef) -> Result<ChatSize> {
        work!(self.pool, "chat_size", Work::Read, &chat.user, |session| chats::size(session, chat)
            .await)
    }

    async fn rename_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        to: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        work!(self.pool, "rename_branch", Work::Write, &chat.user, |session| {
            branches::rename(session, chat, branch, to, at).await
        })
    }

    async fn delete_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        expected: Option<&MessageId>,
        at: Timestamp,
    ) -> Result<BranchDeletion> {
        work!(self.pool, "delete_branch", Work::Write, &chat.user, |session| {
            branches::delete(session, chat, branch, expected, at).await
        })
    }

    async fn commit(&self, commit: Commit) -> Result<CommitOutcome> {
        commit.check()?;
        self.facts.strongest.check_commit(&commit)?;
        let full_text = self.facts.full_text;
        let appended = self
            .pool
            .within_timeout(append::append(
                &self.pool,
                &self.appends,
                &self.branch_lengths,
                full_text,
                &commit,
            ))
            .await;
        if let Some(committed) = appended.map_err(|fault| fault.during("commit"))? {
            return Ok(CommitOutcome::Applied(committed));
        }
        let work = Work::Commit(Flush::of(commit.durability));
        work!(self.pool, "commit", work, &commit.chat.user, |session| {
            commit::commit(session, full_text, &commit).await
        })
    }

    async fn branches(&self, chat: &ChatRef) -> Result<Vec<Branch>> {
        work!(self.pool, "branches", Work::Read, &chat.user, |session| branches::branches(
            session, chat
        )
        .await)
    }

    async fn activate_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        work!(self.pool, "activate_branch", Work::Write, &chat.user, |session| {
            branches::activate(session, chat, branch, at).await
        })
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
        work!(self.pool, "set_checkpoint", Work::Write, &chat.user, |session| {
            checkpoints::set(session, chat, checkpoint).await
        })
    }

    async fn checkpoints(&self, chat: &ChatRef) -> Result<Vec<Checkpoint>> {
        work!(self.pool, "checkpoints", Work::Read, &chat.user, |session| {
            checkpoints::list(session, "checkpoints", chat).await
        })
    }

    async fn delete_checkpoint(
        &self,
        chat: &ChatRef,
        name: &CheckpointName,
        at: Timestamp,
    ) -> Result<bool> {
        work!(self.pool, "delete_checkpoint", Work::Write, &chat.user, |session| {
            checkpoints::delete(session, chat, name, at).await
        })
    }

    async fn chain(&self, chat: &ChatRef, end: &ChainEnd, window: &Window) -> Result<Chain> {
        let unchanged = self
            .pool
            .within_timeout(news::unchanged(&self.pool, &self.looks, chat, end, window))
            .await;
        if let Some(unchanged) = unchanged.map_err(|fault| fault.during("chain"))? {
            return Ok(unchanged);
        }
        work!(self.pool, "chain", Work::Read, &chat.user, |session| read::chain(
            session, chat, end, window
        )
        .await)
    }

    async fn messages(&self, chat: &ChatRef, ids: &[MessageId]) -> Result<Vec<Option<PlacedNode>>> {
        work!(self.pool, "messages", Work::Snapshot, &chat.user, |session| {
            messages::messages(session, chat, ids).await
        })
    }

    async fn all_messages(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<PlacedNode>> {
        work!(self.pool, "all_messages", Work::Snapshot, &chat.user, |session| {
            messages::all_messages(session, chat, limit, after).await
        })
    }

    async fn revisions(&self, chat: &ChatRef, message: &MessageId) -> Result<Vec<Revision>> {
        work!(self.pool, "revisions", Work::Read, &chat.user, |session| {
            messages::revisions(session, chat, message).await
        })
    }
}

#[async_trait]
impl RefLogStore for Shared {
    async fn ref_log(&self, chat: &ChatRef) -> Result<RefLog> {
        work!(self.pool, "ref_log", Work::Snapshot, &chat.user, |session| {
            ref_log::list(session, chat).await
        })
    }

    async fn clear_ref_log(&self, chat: &ChatRef) -> Result<u64> {
        work!(self.pool, "clear_ref_log", Work::Write, &chat.user, |session| {
            ref_log::clear(session, chat).await
        })
    }
}
