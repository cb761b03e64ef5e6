//! The store traits, for programs that call a store without the engine, and for implementors.
//!
//! [`open`](crate::open) returns a [`Store`](crate::Store). Its abilities are traits in this
//! module: every store has [`HistoryStore`] and [`FragmentStore`], and some have the others.
//! [`Commit`] is the only way to write a chat, and [`HistoryStore::chain`] the main way to read
//! one. Programs that use [`ContextEngine`](crate::ContextEngine) rarely need more of this module
//! than [`Checkpoint`] and [`Node`].

pub use context_core::base::{BlobId, CommitKey, LeaseOwner, MemoryId, StreamWriter};
pub use context_core::history::StoredBoundary;
pub use context_core::memory::{MemoriesForgotten, MemoryForget, MemorySource};
pub use context_core::memory::{MemoryRecord, MemoryVector, StoredMemory};
pub use context_core::message::{NodeKind, PlacedNode};
pub use context_core::store::{
    Blob, BlobPrune, BlobStore, BlobsPruned, Branch, BranchDeletion, ChainEnd, Chat, ChatPatch,
    ChatQuery, ChatSize, ChatSummary, CheckReport, Checkpoint, Commit, CommitOutcome, Committed,
    Created, Cursor, Durability, DurabilityRefusal, Erasure, Finding, ForkName, FragmentLog,
    FragmentLogStore, FragmentStore, FragmentVersion, HistoryStore, Lease, LeaseClaim,
    LeaseOutcome, LeaseRefusal, LeaseStore, Maintenance, MemoriesFound, MemoryExpected, MemoryFind,
    MemoryHit, MemoryList, MemoryOutcome, MemoryRecordStore, MemoryStats, MemoryWrite,
    MemoryWritten, MessageNode, NewBlob, NewChat, Page, PageWalk, RecordOutcome, RefChange, RefLog,
    RefLogEntry, RefLogStore, Revision, RoundCommit, RoundPrune, RoundQuery, RoundsPruned,
    SearchHit, SearchQuery, SearchScope, SearchStore, Snippet, StoreFacts, StoreInfo,
    StoredFragment, StoredStream, StreamAppend, StreamClaim, StreamEnd, StreamOutcome, StreamPart,
    StreamPrune, StreamState, StreamStore, StreamsPruned, Target, TitleChange, TrajectoryStore,
    Vacuumed, Window,
};
pub use context_core::{Chain, Node};
pub use context_store_kit::ChatState;

pub use crate::registry::{OpenMode, StoreFactory, StoreRegistry};
