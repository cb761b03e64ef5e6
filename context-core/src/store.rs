//! The storage interface: the traits that a backend implements, and the guarantees that callers may
//! rely on.

mod blob;
mod chat;
mod commit;
mod durability;
mod fragment_log;
mod history;
mod lease;
mod maintenance;
mod memory;
mod opening;
mod ref_log;
mod search;
mod stream;
mod trajectory;
mod walk;

use std::fmt::Debug;

use async_trait::async_trait;

use crate::{BranchName, ChatRef, Result};

pub use blob::{Blob, BlobPrune, BlobStore, BlobsPruned, NewBlob};
pub use chat::{
    Chat, ChatPatch, ChatQuery, ChatSize, ChatSummary, Created, Cursor, NewChat, Page, TitleChange,
};
pub use commit::{
    Branch, BranchDeletion, Checkpoint, Commit, CommitOutcome, Committed, ForkName, Revision,
    StoredFragment, Target,
};
pub use durability::{Durability, DurabilityRefusal};
pub use fragment_log::{
    FragmentLog, FragmentLogStore, FragmentVersion, oldest_state, outdated_versions,
};
pub use history::{ChainEnd, FragmentStore, HistoryStore, Window};
pub use lease::{Lease, LeaseClaim, LeaseOutcome, LeaseRefusal, LeaseStore};
pub use maintenance::{CheckReport, Erasure, Finding, Maintenance, StoreFacts, Vacuumed};
pub use memory::{
    Bm25, MemoriesFound, MemoryExpected, MemoryFind, MemoryHit, MemoryList, MemoryOutcome,
    MemoryRecordStore, MemoryStats, MemoryWrite, MemoryWritten, check_memory_writes,
};
pub use opening::OpenedChat;
pub use ref_log::{RefChange, RefLog, RefLogEntry, RefLogStore};
pub use search::{SearchHit, SearchQuery, SearchScope, SearchStore, Snippet};
pub use stream::{
    AppendPosition, StoredStream, StreamAppend, StreamClaim, StreamEnd, StreamOutcome, StreamPart,
    StreamPrune, StreamState, StreamStore, StreamWatch, StreamsPruned,
};
pub use trajectory::{
    MessageNode, RecordOutcome, RoundCommit, RoundPrune, RoundQuery, RoundsPruned, TrajectoryStore,
};
pub use walk::{KeyOrder, PageWalk};

/// The properties of an opened store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreInfo {
    /// The name of the backend, such as `sqlite`.
    pub name: &'static str,
    /// The failures that an acknowledged write survives, as the store is configured.
    pub durability: Durability,
    /// The strongest durability that a [commit](Commit::durability) may ask for. Not less than
    /// `durability`.
    pub strongest: Durability,
    /// Whether several processes may use the same store at once.
    pub shared: bool,
    /// Whether content is encrypted before it reaches the backend. Such a store cannot search.
    pub encrypted: bool,
    /// One sentence that an operator should read before relying on the store.
    pub warning: Option<&'static str>,
}

impl StoreInfo {
    /// Creates the description of a store with this name, which gives every commit the same
    /// durability.
    pub fn new(name: &'static str, durability: Durability, shared: bool) -> Self {
        let strongest = durability;
        Self { name, durability, strongest, shared, encrypted: false, warning: None }
    }

    /// Sets the strongest durability that a commit may ask for.
    #[must_use]
    pub fn strongest(mut self, strongest: Durability) -> Self {
        self.strongest = strongest;
        self
    }

    /// Sets the warning for the operator.
    #[must_use]
    pub fn warning(mut self, warning: Option<&'static str>) -> Self {
        self.warning = warning;
        self
    }
}

/// A storage backend. A store bundles abilities, one trait each, split where the consistency
/// requirements change. [`HistoryStore`] and [`FragmentStore`] are required. Optional abilities are
/// returned as `Option<&dyn …>`, so that an announced ability is always an implemented one.
///
/// # Contract with implementors
///
/// * **Scope.** Every call names a user and a chat. A chat of another user does not exist:
///   [`ErrorKind::NotFound`] is the same for a foreign chat and for a missing one. Two users may
///   use the same chat id.
/// * **One transaction.** [`HistoryStore::commit`] writes all of a commit or nothing, and evaluates
///   its conditions and writes in one transaction. A future that is dropped half-way leaves all of
///   the commit or none of it.
/// * **Durable on return**, as far as [`StoreInfo::durability`] promises, or as far as the commit
///   [asks](Commit::durability). A commit that asks for more than [`StoreInfo::strongest`] is
///   refused with [`Durability::check_commit`].
/// * **Refuse before writing.** Call the checks in [`limits`](crate::base::limits) first. An error
///   has the right [`ErrorKind`](crate::ErrorKind) and says whether to retry. Neither errors nor
///   `Debug` output show secrets or content.
/// * **No clock, no id generation.** Timestamps and ids are arguments of the call.
/// * **Bodies are opaque bytes.** A body is returned exactly as it was written, whatever bytes it
///   holds.
///
/// # Contract with callers
///
/// * Conflicts are outcomes, not errors. Match on the outcome. A commit that a
///   [lease](crate::store::LeaseStore) excludes is an error: its writer must stop.
/// * Give a commit that may be repeated a [`key`](crate::store::Commit::key), or let it extend a
///   branch with new messages, whose ids make it idempotent, too.
/// * A handle is cheap to clone behind `Arc` and may be used from any number of tasks.
///
/// [`ErrorKind::NotFound`]: crate::ErrorKind::NotFound
///
/// # Where to begin
///
/// A backend that can keep one value per chat implements the three methods of `StateStore` and
/// derives the required abilities and search from it. `examples/custom-store` is a complete store
/// of this kind. A backend that keeps rows implements the traits themselves, as
/// `examples/custom-row-store` does. `context-conformance` tests either.
#[async_trait]
pub trait Store: Debug + Send + Sync + 'static {
    /// Returns the store's name and guarantees.
    fn info(&self) -> StoreInfo;

    /// Returns the ability for chats, messages, branches and checkpoints.
    fn history(&self) -> &dyn HistoryStore;

    /// Returns the ability for persisted context fragments.
    fn fragments(&self) -> &dyn FragmentStore;

    /// Reads what a turn begins with: the chat, its fragments, and the messages of a branch that
    /// the window asks for. The branch is the chat's active one unless it is named. Returns `None`
    /// for a chat that does not exist. A branch that does not exist is
    /// [`NotFound`](crate::ErrorKind::NotFound).
    ///
    /// Each of the three parts is consistent in itself; a write may come between two of them. The
    /// default makes one call for each. Override it where a call is a journey to a server.
    async fn open_chat(
        &self,
        chat: &ChatRef,
        branch: Option<&BranchName>,
        window: &Window,
    ) -> Result<Option<OpenedChat>> {
        OpenedChat::read(self, chat, branch, window).await
    }

    /// Returns the ability for earlier versions of persisted fragments, if the store has it.
    fn fragment_log(&self) -> Option<&dyn FragmentLogStore> {
        None
    }

    /// Returns the ability for the log of branches and checkpoints, if the store has it.
    fn ref_log(&self) -> Option<&dyn RefLogStore> {
        None
    }

    /// Returns the full-text search ability, if the store has it.
    fn search(&self) -> Option<&dyn SearchStore> {
        None
    }

    /// Returns the ability for blobs, which are too large for a message, if the store has it.
    fn blobs(&self) -> Option<&dyn BlobStore> {
        None
    }

    /// Returns the ability for streams of answers in flight, if the store has it.
    fn streams(&self) -> Option<&dyn StreamStore> {
        None
    }

    /// Returns the ability for leases of chats, if the store has it. A commit with a
    /// [lease](crate::store::Commit::lease) is refused by a store without it.
    fn leases(&self) -> Option<&dyn LeaseStore> {
        None
    }

    /// Returns the ability for trajectories of agent runs, if the store has it.
    fn trajectories(&self) -> Option<&dyn TrajectoryStore> {
        None
    }

    /// Returns the ability for memory records, if the store has it.
    fn memories(&self) -> Option<&dyn MemoryRecordStore> {
        None
    }

    /// Returns the maintenance ability for the store as a whole, if the store has it.
    fn maintenance(&self) -> Option<&dyn Maintenance> {
        None
    }

    /// Waits for calls in progress, then releases the store's external resources: connections,
    /// files, locks. Acknowledged writes are kept.
    ///
    /// Closes every clone of the handle. Later calls fail with an error that is not worth a retry.
    /// Closing again does nothing. The default does nothing: a store without external resources may
    /// go on working after it is closed.
    async fn close(&self) -> Result<()> {
        Ok(())
    }
}
