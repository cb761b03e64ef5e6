//! The store: the store traits, each call forwarded to its implementation.

use std::fmt;
use std::path::Path;

use async_trait::async_trait;
use context_core::base::{CheckpointName, FragmentId, limits};
use context_core::message::Placed;
use context_core::store::{
    BlobStore, Branch, BranchDeletion, ChainEnd, Chat, ChatPatch, ChatQuery, ChatSize, ChatSummary,
    CheckReport, Checkpoint, Commit, CommitOutcome, Created, Cursor, Erasure, FragmentStore,
    HistoryStore, Maintenance, MemoryRecordStore, NewChat, Page, Revision, StoreInfo,
    StoredFragment, StreamStore, TrajectoryStore, Vacuumed, Window,
};
use context_core::{
    BranchName, CancelSignal, Chain, ChatRef, Error, ErrorKind, MessageId, Result, Store,
    Timestamp, UserId,
};

use crate::config::RedisConfig;
use crate::server::{self, Server};
use crate::shared::Shared;
use crate::{
    check, fragments,
    history::{branches, chats, commit, listing, messages, read},
    upkeep::erase,
};

/// A store on a Redis server or cluster. Keep it in an `Arc` to share it between tasks.
pub struct RedisStore {
    shared: Shared,
    server: Server,
}

impl RedisStore {
    /// Connects to the server and reads its durability settings. Several processes may use the same
    /// store at once. A warning for the operator is logged once and is part of [`Store::info`].
    pub async fn open(config: RedisConfig) -> Result<Self> {
        config.check()?;
        let prefix = config.prefix.clone();
        let opened = async {
            let shared = Shared::open(&config).await?;
            let server = server::ask(&shared.connection).await?;
            Ok(Self { shared, server })
        };
        opened
            .await
            .map_err(|fault: crate::error::Fault| fault.during("open").with("prefix", prefix))
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("durability", &self.server.durability)
            .finish_non_exhaustive()
    }
}

impl Store for RedisStore {
    fn info(&self) -> StoreInfo {
        StoreInfo::new("redis", self.server.durability, true).warning(self.server.warning)
    }

    fn history(&self) -> &dyn HistoryStore {
        &self.shared
    }

    fn fragments(&self) -> &dyn FragmentStore {
        &self.shared
    }

    fn blobs(&self) -> Option<&dyn BlobStore> {
        Some(&self.shared)
    }

    fn streams(&self) -> Option<&dyn StreamStore> {
        Some(&self.shared)
    }

    fn trajectories(&self) -> Option<&dyn TrajectoryStore> {
        Some(&self.shared)
    }

    fn memories(&self) -> Option<&dyn MemoryRecordStore> {
        Some(&self.shared)
    }

    fn maintenance(&self) -> Option<&dyn Maintenance> {
        Some(&self.shared)
    }
}

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
        branches::set_checkpoint(self, chat, checkpoint)
            .await
            .map_err(|fault| fault.during("set_checkpoint"))
    }

    async fn checkpoints(&self, chat: &ChatRef) -> Result<Vec<Checkpoint>> {
        branches::checkpoints(self, chat).await.map_err(|fault| fault.during("checkpoints"))
    }

    async fn delete_checkpoint(&self, chat: &ChatRef, name: &CheckpointName) -> Result<bool> {
        branches::delete_checkpoint(self, chat, name)
            .await
            .map_err(|fault| fault.during("delete_checkpoint"))
    }

    async fn chain(&self, chat: &ChatRef, end: &ChainEnd, window: &Window) -> Result<Chain> {
        read::chain(self, chat, end, window).await.map_err(|fault| fault.during("chain"))
    }

    async fn messages(&self, chat: &ChatRef, ids: &[MessageId]) -> Result<Vec<Option<Placed>>> {
        messages::messages(self, chat, ids).await.map_err(|fault| fault.during("messages"))
    }

    async fn all_messages(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Placed>> {
        messages::all(self, chat, limit, after).await.map_err(|fault| fault.during("all_messages"))
    }

    async fn revisions(&self, chat: &ChatRef, message: &MessageId) -> Result<Vec<Revision>> {
        messages::revisions(self, chat, message).await.map_err(|fault| fault.during("revisions"))
    }
}

#[async_trait]
impl FragmentStore for Shared {
    async fn fragments(&self, chat: &ChatRef) -> Result<Vec<StoredFragment>> {
        fragments::list(self, chat).await.map_err(|fault| fault.during("fragments"))
    }

    async fn put_fragments(
        &self,
        chat: &ChatRef,
        fragments: &[StoredFragment],
        at: Timestamp,
    ) -> Result<()> {
        fragments::put_all(self, chat, fragments, at)
            .await
            .map_err(|fault| fault.during("put_fragments"))
    }

    async fn remove_fragment(&self, chat: &ChatRef, id: &FragmentId) -> Result<bool> {
        fragments::remove(self, chat, id).await.map_err(|fault| fault.during("remove_fragment"))
    }
}

#[async_trait]
impl Maintenance for Shared {
    async fn check(&self, cancel: &CancelSignal) -> Result<CheckReport> {
        check::check(self, cancel).await.map_err(|fault| fault.during("check"))
    }

    async fn users(&self, limit: usize, after: Option<&Cursor>) -> Result<Page<UserId>> {
        limits::check_page("users", limit)?;
        listing::users(self, limit, after).await.map_err(|fault| fault.during("users"))
    }

    async fn erase_user(&self, user: &UserId, cancel: &CancelSignal) -> Result<Erasure> {
        limits::check_id("erase_user", "user", user.as_str())?;
        erase::erase_user(self, user, cancel).await.map_err(|fault| fault.during("erase_user"))
    }

    async fn vacuum(&self) -> Result<Vacuumed> {
        let message =
            "the server gives memory back by itself; its log is rewritten with BGREWRITEAOF";
        Err(Error::new(ErrorKind::Unsupported, "vacuum", message))
    }

    async fn backup(&self, _to: &Path) -> Result<()> {
        let message =
            "the server makes the backup: BGSAVE writes its snapshot, redis-cli --rdb fetches one";
        Err(Error::new(ErrorKind::Unsupported, "backup", message))
    }
}
