//! The storage seam, for whoever calls a store without the engine, or writes one.
//!
//! [`open`](crate::open) gives a [`Store`](crate::Store); its abilities are traits here:
//! [`HistoryStore`] and [`FragmentStore`] in every store, the others where the store has them.
//! [`Commit`] is the one way to write a chat, [`HistoryStore::chain`] the main way to read one.
//! Programs that keep to [`ContextEngine`](crate::ContextEngine) meet [`Checkpoint`], [`Node`] and
//! little else of this.

pub use context_core::{
    Blob, BlobId, BlobPrune, BlobStore, BlobsPruned, Branch, BranchDeletion, Chain, ChainEnd, Chat,
    ChatPatch, ChatQuery, ChatSize, ChatState, ChatSummary, CheckReport, Checkpoint, Commit,
    CommitKey, CommitOutcome, Committed, Created, Cursor, Durability, Erasure, Finding, ForkName,
    FragmentStore, HistoryStore, Maintenance, MemoriesForgotten, MemoriesFound, MemoryExpected,
    MemoryFind, MemoryForget, MemoryHit, MemoryId, MemoryList, MemoryOutcome, MemoryRecord,
    MemoryRecordStore, MemorySource, MemoryStats, MemoryVector, MemoryWrite, MemoryWritten,
    MessageNode, NewBlob, NewChat, Node, NodeKind, Page, PageWalk, Placed, RecordOutcome, Revision,
    RoundCommit, RoundPrune, RoundQuery, RoundsPruned, SearchHit, SearchQuery, SearchScope,
    SearchStore, StoreInfo, StoredBoundary, StoredFragment, StoredMemory, StoredStream,
    StreamAppend, StreamClaim, StreamEnd, StreamOutcome, StreamPart, StreamPrune, StreamState,
    StreamStore, StreamWriter, StreamsPruned, Target, TrajectoryStore, Vacuumed, Window,
};

pub use crate::registry::{OpenMode, StoreFactory, StoreRegistry};
