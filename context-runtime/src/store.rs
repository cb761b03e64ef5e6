//! The storage seam, for whoever calls a store without the engine, or writes one.
//!
//! [`open`](crate::open) gives a [`Store`](crate::Store); its abilities are traits here:
//! [`HistoryStore`] and [`FragmentStore`] in every store, the others where the store has them.
//! [`Commit`] is the one way to write a chat, [`HistoryStore::chain`] the main way to read one.
//! Programs that keep to [`ContextEngine`](crate::ContextEngine) meet [`Checkpoint`], [`Node`] and
//! little else of this.

pub use context_core::base::{BlobId, CommitKey, MemoryId, StreamWriter};
pub use context_core::history::StoredBoundary;
pub use context_core::memory::{MemoriesForgotten, MemoryForget, MemorySource};
pub use context_core::memory::{MemoryRecord, MemoryVector, StoredMemory};
pub use context_core::message::{NodeKind, Placed};
pub use context_core::store::{
    Blob, BlobPrune, BlobStore, BlobsPruned, Branch, BranchDeletion, ChainEnd, Chat, ChatPatch,
    ChatQuery, ChatSize, ChatSummary, CheckReport, Checkpoint, Commit, CommitOutcome, Committed,
    Created, Cursor, Durability, Erasure, Finding, ForkName, FragmentStore, HistoryStore,
    Maintenance, MemoriesFound, MemoryExpected, MemoryFind, MemoryHit, MemoryList, MemoryOutcome,
    MemoryRecordStore, MemoryStats, MemoryWrite, MemoryWritten, MessageNode, NewBlob, NewChat,
    Page, PageWalk, RecordOutcome, Revision, RoundCommit, RoundPrune, RoundQuery, RoundsPruned,
    SearchHit, SearchQuery, SearchScope, SearchStore, Snippet, StoreInfo, StoredFragment,
    StoredStream, StreamAppend, StreamClaim, StreamEnd, StreamOutcome, StreamPart, StreamPrune,
    StreamState, StreamStore, StreamsPruned, Target, TrajectoryStore, Vacuumed, Window,
};
pub use context_core::{Chain, Node};
pub use context_store_kit::ChatState;

pub use crate::registry::{OpenMode, StoreFactory, StoreRegistry};
