//! The storage seam: what a backend implements and what its callers may rely on.

mod blob;
mod chat;
mod commit;
mod history;
mod maintenance;
mod memory;
mod search;
mod stream;
mod trajectory;
mod walk;

use std::fmt::Debug;

use async_trait::async_trait;

use crate::Result;

pub use blob::{Blob, BlobPrune, BlobStore, BlobsPruned, NewBlob};
pub use chat::{Chat, ChatPatch, ChatQuery, ChatSize, ChatSummary, Created, Cursor, NewChat, Page};
pub use commit::{
    Branch, BranchDeletion, Checkpoint, Commit, CommitOutcome, Committed, ForkName, Revision,
    StoredFragment, Target,
};
pub use history::{ChainEnd, FragmentStore, HistoryStore, Window};
pub use maintenance::{CheckReport, Erasure, Finding, Maintenance, Vacuumed};
pub use memory::{
    Bm25, MemoriesFound, MemoryExpected, MemoryFind, MemoryHit, MemoryList, MemoryOutcome,
    MemoryRecordStore, MemoryStats, MemoryWrite, MemoryWritten, check_memory_writes,
};
pub use search::{SearchHit, SearchQuery, SearchScope, SearchStore, Snippet};
pub use stream::{
    AppendPlace, StoredStream, StreamAppend, StreamClaim, StreamEnd, StreamOutcome, StreamPart,
    StreamPrune, StreamState, StreamStore, StreamsPruned,
};
pub use trajectory::{
    MessageNode, RecordOutcome, RoundCommit, RoundPrune, RoundQuery, RoundsPruned, TrajectoryStore,
};
pub use walk::{KeyOrder, PageWalk};

/// What survives what, once a write has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Durability {
    /// Gone with the process.
    Process,
    /// Survives this process; the newest writes may go with the server that keeps them, if it
    /// crashes.
    Server,
    /// Survives a crash of the process, and of the server if there is one; the newest writes may go
    /// with a loss of power.
    ProcessCrash,
    /// Survives a loss of power.
    PowerLoss,
}

/// What a store says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreInfo {
    /// The backend, such as `sqlite`.
    pub name: &'static str,
    /// What survives what.
    pub durability: Durability,
    /// Whether several processes may use the same store at once.
    pub shared: bool,
    /// Whether what people said is encrypted before it reaches the backend. Such a store cannot
    /// search.
    pub encrypted: bool,
    /// What an operator should know before relying on it, one sentence.
    pub warning: Option<&'static str>,
}

impl StoreInfo {
    /// A store of this name.
    pub fn new(name: &'static str, durability: Durability, shared: bool) -> Self {
        Self { name, durability, shared, encrypted: false, warning: None }
    }

    /// With something an operator should know.
    #[must_use]
    pub fn warning(mut self, warning: Option<&'static str>) -> Self {
        self.warning = warning;
        self
    }
}

/// A backend: it bundles abilities, each a trait of its own, split where the need for consistency
/// changes. [`HistoryStore`] and [`FragmentStore`] are required; optional abilities are returned as
/// `Option<&dyn …>`, so that the flag *is* the implementation.
///
/// # Contract with implementors
///
/// * **Scope.** Every call names a user and a chat. A chat of another user does not exist:
///   [`ErrorKind::NotFound`] for the one is indistinguishable from that for the other. Two users
///   may use the same chat id.
/// * **One transaction.** [`HistoryStore::commit`] writes everything of a commit or nothing, and
///   checks and acts under one guard. A future that is dropped half-way leaves all of it or none of
///   it.
/// * **Durable when it returns**, as far as [`StoreInfo::durability`] says.
/// * **Refuse before writing.** Call [`limits`](crate::base::limits) first. An error is of the right
///   [`ErrorKind`](crate::ErrorKind), says whether to retry, and, like `Debug`, never
///   shows a secret or content.
/// * **No clock, no ids.** Times and ids come in with the call.
/// * **Bytes are bytes.** Bodies come back exactly as they went in, whatever they hold.
///
/// # Contract with callers
///
/// * Conflicts are outcomes, not errors: look at them.
/// * Give a commit that you may repeat a [`key`](crate::store::Commit::key), or let it extend a branch
///   with new messages, whose ids do the same.
/// * A handle is cheap to clone behind `Arc` and may be used from any number of tasks.
///
/// [`ErrorKind::NotFound`]: crate::ErrorKind::NotFound
///
/// # Where to begin
///
/// A backend that can keep one value per chat implements [`StateStore`], three calls, and has the
/// required abilities and search from that; `examples/custom-store` is such a store, whole. One
/// that keeps rows implements the traits themselves. `context-conformance` proves either.
#[async_trait]
pub trait Store: Debug + Send + Sync + 'static {
    /// What it is and what it promises.
    fn info(&self) -> StoreInfo;

    /// Chats, messages, branches, checkpoints.
    fn history(&self) -> &dyn HistoryStore;

    /// Persisted context fragments.
    fn fragments(&self) -> &dyn FragmentStore;

    /// Full-text search.
    fn search(&self) -> Option<&dyn SearchStore> {
        None
    }

    /// Bytes too large to stand in a message.
    fn blobs(&self) -> Option<&dyn BlobStore> {
        None
    }

    /// Answers in flight.
    fn streams(&self) -> Option<&dyn StreamStore> {
        None
    }

    /// What happened in runs of agents.
    fn trajectories(&self) -> Option<&dyn TrajectoryStore> {
        None
    }

    /// Records of memories.
    fn memories(&self) -> Option<&dyn MemoryRecordStore> {
        None
    }

    /// Looking after the store as a whole.
    fn maintenance(&self) -> Option<&dyn Maintenance> {
        None
    }

    /// Waits for calls that are under way, then gives back what the store holds of the outside:
    /// connections, files, locks. Everything that was acknowledged is kept.
    ///
    /// Every clone of the handle is closed with it. A later call fails with an error that is not
    /// worth a retry; closing again does nothing. A store that holds nothing of the outside has
    /// nothing to do here and may go on working, which is the default.
    async fn close(&self) -> Result<()> {
        Ok(())
    }
}
