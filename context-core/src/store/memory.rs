//! Records of memories: what is kept, found by its words, and forgotten.
//!
//! A store knows nothing of what a memory means or how it is ranked in the end: a provider gives
//! the words under which a record is found, and the store gives back those that fit best by BM25
//! and, if there are vectors, by their angle.

mod bm25;
mod find;
mod stats;
mod write;

use crate::memory::MemoriesForgotten;
use crate::memory::MemoryForget;
use crate::memory::StoredMemory;
use async_trait::async_trait;

pub use bm25::Bm25;
pub use find::{MemoriesFound, MemoryFind, MemoryHit};
pub use stats::{MemoryList, MemoryStats};
pub use write::{MemoryExpected, MemoryOutcome, MemoryWrite, MemoryWritten, check_memory_writes};

use crate::base::MemoryId;
use crate::memory::MemoryScope;
use crate::store::{Cursor, Page};
use crate::{Result, UserId};

/// Keeps records of memories.
///
/// # Contract with implementors
///
/// * Scopes are exact here: a call sees what is filed under the scopes it names, and nothing else.
///   What is visible from where, callers work out ([`MemoryScope::visible`]).
/// * Check first ([`MemoryWrite::check`], [`MemoryFind::check`], …), then look, then write.
#[async_trait]
pub trait MemoryRecordStore: Send + Sync {
    /// Writes all of these records or none, in one transaction: none if one of them is not as
    /// [expected](MemoryWrite::expected). All are of one user. What is written can be found at
    /// once.
    async fn write_memories(&self, writes: &[MemoryWrite]) -> Result<MemoryOutcome>;

    /// Records by their ids, in the order of these; what is not there is left out.
    async fn memories(&self, scope: &MemoryScope, ids: &[MemoryId]) -> Result<Vec<StoredMemory>>;

    /// The records of a listing, the newest first, by their [place](StoredMemory::place).
    async fn list_memories(&self, list: &MemoryList) -> Result<Page<StoredMemory>>;

    /// The records that fit best; see [`MemoryFind`].
    async fn find_memories(&self, find: &MemoryFind) -> Result<MemoriesFound>;

    /// For each of these records the ones next to it: of its scope, its kind and its source's
    /// session, by [place](StoredMemory::place), at most so many before it and as many behind, in
    /// their order and without itself. Nothing for one that is not there or has no source.
    /// `each_side` is at most
    /// [`limits::MAX_MEMORY_NEIGHBOURS`](crate::base::limits::MAX_MEMORY_NEIGHBOURS).
    async fn memories_beside(
        &self,
        scope: &MemoryScope,
        ids: &[MemoryId],
        each_side: usize,
    ) -> Result<Vec<Vec<StoredMemory>>>;

    /// Removes records with their words and vectors, in one transaction, and reads back. Of what
    /// comes from a source, which may be in any scope, a store may take several, each record whole:
    /// if it breaks off, the same call takes the rest. What is forgotten by id or by source leaves
    /// a mark without content, so that an [absent](MemoryExpected::Absent) write does not bring it
    /// back; what is forgotten by scope takes such marks with it.
    async fn forget_memories(&self, forget: &MemoryForget) -> Result<MemoriesForgotten>;

    /// What there is under each scope of a user, ordered by [key](MemoryScope::key).
    async fn memory_stats(
        &self,
        user: &UserId,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<MemoryStats>>;
}
