//! The required abilities of a store, as far as a store of blobs has them: chats exist, and have no
//! messages.

use async_trait::async_trait;
use context_core::base::{CheckpointName, FragmentId};
use context_core::message::PlacedNode;
use context_core::store::{
    Branch, BranchDeletion, ChainEnd, Chat, ChatPatch, ChatQuery, ChatSize, ChatSummary,
    Checkpoint, Commit, CommitOutcome, Created, Cursor, FragmentStore, HistoryStore, NewChat, Page,
    Revision, StoredFragment, Window,
};
use context_core::{BranchName, Chain, ChatRef, Error, ErrorKind, MessageId, Result, Timestamp};

use crate::objects::Objects;

/// Returns the error of every call about what a store of blobs does not have.
fn unsupported<T>(operation: &'static str) -> Result<T> {
    let message = "a store of blobs has no messages: put it beside a store that has, as a part of a split store";
    Err(Error::new(ErrorKind::Unsupported, operation, message))
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl HistoryStore for Objects {
    async fn create_chat(&self, new: NewChat) -> Result<Created> {
        self.create(new).await
    }

    async fn chat(&self, chat: &ChatRef) -> Result<Option<Chat>> {
        self.find_chat(chat).await
    }

    async fn list_chats(&self, query: &ChatQuery) -> Result<Page<ChatSummary>> {
        self.list(query).await
    }

    async fn update_chat(&self, _: &ChatRef, _: &ChatPatch, _: Timestamp) -> Result<Chat> {
        unsupported("update_chat")
    }

    async fn delete_chat(&self, chat: &ChatRef, idle_since: Option<Timestamp>) -> Result<bool> {
        self.delete(chat, idle_since).await
    }

    async fn chat_size(&self, _: &ChatRef) -> Result<ChatSize> {
        unsupported("chat_size")
    }

    async fn commit(&self, _: Commit) -> Result<CommitOutcome> {
        unsupported("commit")
    }

    async fn branches(&self, _: &ChatRef) -> Result<Vec<Branch>> {
        unsupported("branches")
    }

    async fn activate_branch(&self, _: &ChatRef, _: &BranchName, _: Timestamp) -> Result<()> {
        unsupported("activate_branch")
    }

    async fn rename_branch(
        &self,
        _: &ChatRef,
        _: &BranchName,
        _: &BranchName,
        _: Timestamp,
    ) -> Result<()> {
        unsupported("rename_branch")
    }

    async fn delete_branch(
        &self,
        _: &ChatRef,
        _: &BranchName,
        _: Option<&MessageId>,
        _: Timestamp,
    ) -> Result<BranchDeletion> {
        unsupported("delete_branch")
    }

    async fn set_checkpoint(
        &self,
        _: &ChatRef,
        _: &CheckpointName,
        _: &MessageId,
        _: Timestamp,
    ) -> Result<Checkpoint> {
        unsupported("set_checkpoint")
    }

    async fn checkpoints(&self, _: &ChatRef) -> Result<Vec<Checkpoint>> {
        unsupported("checkpoints")
    }

    async fn delete_checkpoint(
        &self,
        _: &ChatRef,
        _: &CheckpointName,
        _: Timestamp,
    ) -> Result<bool> {
        unsupported("delete_checkpoint")
    }

    async fn chain(&self, _: &ChatRef, _: &ChainEnd, _: &Window) -> Result<Chain> {
        unsupported("chain")
    }

    async fn messages(&self, _: &ChatRef, _: &[MessageId]) -> Result<Vec<Option<PlacedNode>>> {
        unsupported("messages")
    }

    async fn all_messages(
        &self,
        _: &ChatRef,
        _: usize,
        _: Option<&Cursor>,
    ) -> Result<Page<PlacedNode>> {
        unsupported("all_messages")
    }

    async fn revisions(&self, _: &ChatRef, _: &MessageId) -> Result<Vec<Revision>> {
        unsupported("revisions")
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl FragmentStore for Objects {
    async fn fragments(&self, _: &ChatRef) -> Result<Vec<StoredFragment>> {
        unsupported("fragments")
    }

    async fn put_fragments(&self, _: &ChatRef, _: &[StoredFragment], _: Timestamp) -> Result<()> {
        unsupported("put_fragments")
    }

    async fn remove_fragment(&self, _: &ChatRef, _: &FragmentId, _: Timestamp) -> Result<bool> {
        unsupported("remove_fragment")
    }
}
