//! The store: the store traits, each call forwarded to its implementation.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use async_trait::async_trait;
use bytes::Bytes;
use context_core::base::{BlobId, CheckpointName, FragmentId, StreamId, limits};
use context_core::message::Placed;
use context_core::store::{
    Blob, BlobPrune, BlobStore, BlobsPruned, Branch, BranchDeletion, ChainEnd, Chat, ChatPatch,
    ChatQuery, ChatSize, ChatSummary, CheckReport, Checkpoint, Commit, CommitOutcome, Created,
    Cursor, Durability, Erasure, FragmentStore, HistoryStore, Maintenance, MemoryRecordStore,
    NewBlob, NewChat, Page, Revision, SearchHit, SearchQuery, SearchStore, StoreInfo,
    StoredFragment, StoredStream, StreamAppend, StreamClaim, StreamOutcome, StreamPart,
    StreamPrune, StreamStore, StreamsPruned, TrajectoryStore, Vacuumed, Window,
};
use context_core::{
    BranchName, CancelSignal, Chain, ChatRef, MessageId, Result, Store, Timestamp, UserId,
};
use sqlx::Connection;

use crate::calls::{reading, writing};
use crate::config::SqliteConfig;
use crate::connections::Connections;
use crate::error::Fault;
use crate::scope::chat_no;
use crate::tally::{OfChat, Seen};
use crate::{
    blobs, check, fragments,
    history::{branches, chat_rows, chats, checkpoints, group, listing, messages, read},
    search, sql, streams,
    upkeep::{backup, erase},
};

/// A store in one SQLite file. Keep it in an `Arc` to share it between tasks.
pub struct SqliteStore(Shared);

/// The shared state. It implements the store traits in place of [`SqliteStore`], so that
/// `store.fragments()` is not ambiguous.
pub(crate) struct Shared {
    pub(crate) connections: Connections,
    /// The appends that wait for the writer.
    queue: group::Queue,
    durability: Durability,
}

impl SqliteStore {
    /// Opens a store and upgrades its schema. Several processes may open the same file at once.
    ///
    /// Returns [`ErrorKind::Unsupported`](context_core::ErrorKind::Unsupported) if a newer program
    /// wrote the file, or if the file is not a store. Such a file is not changed. Returns
    /// [`ErrorKind::NotFound`](context_core::ErrorKind::NotFound) if the file does not exist and
    /// must not be created.
    pub async fn open(config: SqliteConfig) -> Result<Self> {
        config.check()?;
        let connections = Connections::open(&config)
            .await
            .map_err(|fault| fault.during("open").with("path", config.path.display()))?;
        Ok(Self(Shared {
            connections,
            queue: group::Queue::default(),
            durability: config.durability,
        }))
    }

    #[cfg(test)]
    pub(crate) fn into_connections(self) -> Connections {
        self.0.connections
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("durability", &self.0.durability)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn info(&self) -> StoreInfo {
        StoreInfo::new("sqlite", self.0.durability, true)
    }

    fn history(&self) -> &dyn HistoryStore {
        &self.0
    }

    fn fragments(&self) -> &dyn FragmentStore {
        &self.0
    }

    fn search(&self) -> Option<&dyn SearchStore> {
        self.0.connections.full_text.then_some(&self.0 as &dyn SearchStore)
    }

    fn blobs(&self) -> Option<&dyn BlobStore> {
        Some(&self.0)
    }

    fn streams(&self) -> Option<&dyn StreamStore> {
        Some(&self.0)
    }

    fn trajectories(&self) -> Option<&dyn TrajectoryStore> {
        Some(&self.0)
    }

    fn memories(&self) -> Option<&dyn MemoryRecordStore> {
        Some(&self.0)
    }

    fn maintenance(&self) -> Option<&dyn Maintenance> {
        Some(&self.0)
    }

    /// Moves the write-ahead log into the file, so that no `-wal` and `-shm` files remain, unless
    /// another handle has the file open. Without this call, the same happens in the background
    /// after the store is dropped.
    async fn close(&self) -> Result<()> {
        self.0.connections.close().await.map_err(|fault| fault.during("close"))
    }
}

#[async_trait]
impl HistoryStore for Shared {
    async fn create_chat(&self, new: NewChat) -> Result<Created> {
        new.check()?;
        writing!(self, "create_chat", |writer| chats::create(writer, new).await)
    }

    async fn chat(&self, chat: &ChatRef) -> Result<Option<Chat>> {
        reading!(self, "chat", |reader| chat_rows::show(reader, chat).await)
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
        writing!(self, "delete_chat", |writer| chats::delete(writer, chat, idle_since).await)
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
        let redacts = !commit.redactions.is_empty();
        let result = group::commit(&self.connections, &self.queue, commit).await;
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

    async fn delete_checkpoint(&self, chat: &ChatRef, name: &CheckpointName) -> Result<bool> {
        writing!(self, "delete_checkpoint", |writer| checkpoints::delete(writer, chat, name).await)
    }

    async fn chain(&self, chat: &ChatRef, end: &ChainEnd, window: &Window) -> Result<Chain> {
        reading!(self, "chain", |reader| read::chain(reader, chat, end, window).await)
    }

    async fn messages(&self, chat: &ChatRef, ids: &[MessageId]) -> Result<Vec<Option<Placed>>> {
        reading!(self, "messages", |reader| messages::messages(reader, chat, ids).await)
    }

    async fn all_messages(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Placed>> {
        reading!(self, "all_messages", |reader| messages::all_messages(reader, chat, limit, after)
            .await)
    }

    async fn revisions(&self, chat: &ChatRef, message: &MessageId) -> Result<Vec<Revision>> {
        reading!(self, "revisions", |reader| messages::revisions(reader, chat, message).await)
    }
}

#[async_trait]
impl FragmentStore for Shared {
    async fn fragments(&self, chat: &ChatRef) -> Result<Vec<StoredFragment>> {
        reading!(self, "fragments", |reader| {
            let mut transaction = reader.begin().await?;
            let no = chat_no(&mut transaction, "fragments", chat).await?;
            let fragments = fragments::list(&mut transaction, no).await?;
            OfChat::Fragments.compare(&mut transaction, no, Seen::All(fragments.len())).await?;
            transaction.commit().await?;
            Ok(fragments.into_iter().map(|(_, fragment)| fragment).collect())
        })
    }

    async fn put_fragments(
        &self,
        chat: &ChatRef,
        fragments: &[StoredFragment],
        at: Timestamp,
    ) -> Result<()> {
        const OPERATION: &str = "put_fragments";
        fragments.iter().try_for_each(|fragment| fragment.check(OPERATION))?;
        writing!(self, "put_fragments", |writer| {
            let mut transaction = writer.begin().await?;
            let no = chat_no(&mut transaction, OPERATION, chat).await?;
            fragments::put(&mut transaction, no, fragments).await?;
            chat_rows::touch(&mut transaction, no, at).await?;
            transaction.commit().await?;
            Ok(())
        })
    }

    async fn remove_fragment(&self, chat: &ChatRef, id: &FragmentId) -> Result<bool> {
        writing!(self, "remove_fragment", |writer| {
            let no = chat_no(&mut writer.connection, "remove_fragment", chat).await?;
            let remove = sqlx::query(sql::REMOVE_FRAGMENT).bind(no).bind(id.as_str());
            Ok(remove.execute(&mut writer.connection).await?.rows_affected() > 0)
        })
    }
}

#[async_trait]
impl SearchStore for Shared {
    async fn search(&self, query: &SearchQuery) -> Result<Page<SearchHit>> {
        query.check()?;
        reading!(self, "search", |reader| search::search(reader, query).await)
    }
}

#[async_trait]
impl BlobStore for Shared {
    async fn put_blob(&self, chat: &ChatRef, blob: NewBlob) -> Result<Blob> {
        blob.check(chat)?;
        // Hashing takes time, so the id is computed before the writer is requested.
        let id = BlobId::of(&blob.bytes);
        writing!(self, "put_blob", |writer| blobs::put(writer, chat, id, blob).await)
    }

    async fn blob(&self, chat: &ChatRef, id: &BlobId) -> Result<Option<Blob>> {
        reading!(self, "blob", |reader| blobs::find(reader, chat, id).await)
    }

    async fn read_blob(
        &self,
        chat: &ChatRef,
        id: &BlobId,
        range: Range<u64>,
        at: Option<Timestamp>,
    ) -> Result<Option<Bytes>> {
        if let Some(at) = at
            && !self.connections.reads_only()
        {
            // The time of use is updated before the read, so that the blob is not pruned as unused
            // meanwhile.
            writing!(self, "read_blob", |writer| blobs::touch(writer, chat, id, at).await)?;
        }
        reading!(self, "read_blob", |reader| blobs::read(reader, chat, id, range.clone()).await)
    }

    async fn blobs(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Blob>> {
        reading!(self, "blobs", |reader| blobs::list(reader, chat, limit, after).await)
    }

    async fn remove_blob(&self, chat: &ChatRef, id: &BlobId) -> Result<BlobsPruned> {
        writing!(self, "remove_blob", |writer| blobs::remove(writer, chat, id).await)
    }

    async fn prune_blobs(&self, prune: &BlobPrune) -> Result<BlobsPruned> {
        prune.check()?;
        writing!(self, "prune_blobs", |writer| blobs::prune(writer, prune).await)
    }
}

#[async_trait]
impl StreamStore for Shared {
    async fn create_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> Result<StreamOutcome> {
        limits::check_stream("create_stream", chat, id)?;
        writing!(self, "create_stream", |writer| streams::create(writer, chat, id, at).await)
    }

    async fn claim_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        claim: &StreamClaim,
    ) -> Result<StreamOutcome> {
        claim.check(chat, id)?;
        writing!(self, "claim_stream", |writer| streams::claim(writer, chat, id, claim).await)
    }

    async fn append_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        append: StreamAppend,
    ) -> Result<StreamOutcome> {
        append.check(chat, id)?;
        writing!(self, "append_stream", |writer| streams::append(writer, chat, id, &append).await)
    }

    async fn cancel_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> Result<StoredStream> {
        writing!(self, "cancel_stream", |writer| streams::cancel(writer, chat, id, at).await)
    }

    async fn reopen_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        run: u32,
        at: Timestamp,
    ) -> Result<StreamOutcome> {
        writing!(self, "reopen_stream", |writer| streams::reopen(writer, chat, id, run, at).await)
    }

    async fn stream(&self, chat: &ChatRef, id: &StreamId) -> Result<Option<StoredStream>> {
        reading!(self, "stream", |reader| streams::stream(reader, chat, id).await)
    }

    async fn read_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        offset: u64,
        limit: usize,
    ) -> Result<Option<StreamPart>> {
        limits::check_page("read_stream", limit)?;
        reading!(self, "read_stream", |reader| streams::read(reader, chat, id, offset, limit).await)
    }

    async fn streams(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<StoredStream>> {
        reading!(self, "streams", |reader| streams::list(reader, chat, limit, after).await)
    }

    async fn remove_stream(&self, chat: &ChatRef, id: &StreamId) -> Result<bool> {
        writing!(self, "remove_stream", |writer| streams::remove(writer, chat, id).await)
    }

    async fn prune_streams(&self, prune: &StreamPrune) -> Result<StreamsPruned> {
        prune.check()?;
        writing!(self, "prune_streams", |writer| streams::prune(writer, prune).await)
    }
}

#[async_trait]
impl Maintenance for Shared {
    async fn check(&self, cancel: &CancelSignal) -> Result<CheckReport> {
        reading!(self, "check", |reader| check::check(reader, self.connections.full_text, cancel)
            .await)
    }

    async fn users(&self, limit: usize, after: Option<&Cursor>) -> Result<Page<UserId>> {
        limits::check_page("users", limit)?;
        reading!(self, "users", |reader| listing::users(reader, limit, after).await)
    }

    async fn erase_user(&self, user: &UserId, cancel: &CancelSignal) -> Result<Erasure> {
        limits::check_id("erase_user", "user", user.as_str())?;
        let erased = erase::erase_user(&self.connections, user, cancel).await;
        erased.map_err(|fault| fault.during("erase_user"))
    }

    async fn vacuum(&self) -> Result<Vacuumed> {
        erase::vacuum(&self.connections).await.map_err(|fault| fault.during("vacuum"))
    }

    async fn backup(&self, to: &Path) -> Result<()> {
        let copied = backup::backup(&self.connections, to).await;
        copied.map_err(|fault| fault.during("backup").with("path", to.display()))
    }
}
