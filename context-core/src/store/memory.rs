//! Memory records: storing, finding and forgetting them.
//!
//! A store does not interpret memories and does not rank them finally. A provider gives the words
//! under which a record is found, and the store returns the records that match best by BM25 and, if
//! there are vectors, by cosine similarity.

mod bm25;
mod find;
mod stats;
mod write;

use crate::memory::{MemoriesForgotten, MemoryForget, MemoryScope, StoredMemory};
use async_trait::async_trait;

pub use bm25::Bm25;
pub use find::{MemoriesFound, MemoryFind, MemoryHit};
pub use stats::{MemoryList, MemoryStats};
pub use write::{MemoryExpected, MemoryOutcome, MemoryWrite, MemoryWritten, check_memory_writes};

use crate::base::MemoryId;
use crate::store::{Cursor, Page};
use crate::{Result, UserId};

/// Stores memory records.
///
/// # Contract with implementors
///
/// * Scopes are exact: a call sees the records of the scopes that it names, and no others. Callers
///   compute the scopes that are visible from a place ([`MemoryScope::visible`]).
/// * Check the arguments first ([`MemoryWrite::check`], [`MemoryFind::check`], …), then read, then
///   write.
#[async_trait]
pub trait MemoryRecordStore: Send + Sync {
    /// Writes all of these records or none, in one transaction. Writes nothing if one of the stored
    /// records is not as [expected](MemoryWrite::expected). All records must belong to one user.
    /// Written records can be found at once.
    async fn write_memories(&self, writes: &[MemoryWrite]) -> Result<MemoryOutcome>;

    /// Returns records by their ids, in the order of the ids. Missing records are left out.
    async fn memories(&self, scope: &MemoryScope, ids: &[MemoryId]) -> Result<Vec<StoredMemory>>;

    /// Lists records, newest first by their [place](StoredMemory::place).
    async fn list_memories(&self, list: &MemoryList) -> Result<Page<StoredMemory>>;

    /// Finds the best-matching records; see [`MemoryFind`].
    async fn find_memories(&self, find: &MemoryFind) -> Result<MemoriesFound>;

    /// Returns the neighbours of each of these records: the records of its scope, kind and source
    /// session that are next to it by [place](StoredMemory::place), at most `each_side` before it
    /// and as many after it, in order and without the record itself. The list is empty for a record
    /// that does not exist or has no source. `each_side` is at most
    /// [`limits::MAX_MEMORY_NEIGHBOURS`](crate::base::limits::MAX_MEMORY_NEIGHBOURS).
    async fn memory_neighbours(
        &self,
        scope: &MemoryScope,
        ids: &[MemoryId],
        each_side: usize,
    ) -> Result<Vec<Vec<StoredMemory>>>;

    /// Removes records with their words and vectors in one transaction, and reads back. A removal
    /// by source covers any number of scopes, so a store may use several transactions, each
    /// removing whole records; if it is interrupted, the same call removes the rest. Forgetting by
    /// id or by source leaves a mark without content, so that an [absent](MemoryExpected::Absent)
    /// write does not restore the record. Forgetting by scope removes these marks, too.
    async fn forget_memories(&self, forget: &MemoryForget) -> Result<MemoriesForgotten>;

    /// Returns the statistics of each scope of a user, ordered by [key](MemoryScope::key).
    async fn memory_stats(
        &self,
        user: &UserId,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<MemoryStats>>;
}
