//! Forwards the calls of memory records.

use async_trait::async_trait;
use context_core::base::{MemoryId, limits};
use context_core::memory::{MemoriesForgotten, MemoryForget, MemoryScope, StoredMemory};
use context_core::store::{
    Cursor, MemoriesFound, MemoryFind, MemoryList, MemoryOutcome, MemoryRecordStore, MemoryStats,
    MemoryWrite, Page, check_memory_writes,
};
use context_core::{Result, UserId};

use crate::connections::calls::{reading, writing};
use crate::memories;
use crate::store::Shared;

#[async_trait]
impl MemoryRecordStore for Shared {
    async fn write_memories(&self, writes: &[MemoryWrite]) -> Result<MemoryOutcome> {
        check_memory_writes(writes)?;
        // Serializing takes time, so it is done before the writer is requested.
        let bodies =
            writes.iter().map(|write| memories::body(&write.record)).collect::<Result<Vec<_>>>()?;
        writing!(self, "write_memories", |writer| memories::write(writer, writes, bodies).await)
    }

    async fn memories(&self, scope: &MemoryScope, ids: &[MemoryId]) -> Result<Vec<StoredMemory>> {
        scope.check_ids("memories", ids)?;
        reading!(self, "memories", |reader| memories::by_id(reader, scope, ids).await)
    }

    async fn list_memories(&self, list: &MemoryList) -> Result<Page<StoredMemory>> {
        list.check()?;
        reading!(self, "list_memories", |reader| memories::list(reader, list).await)
    }

    async fn find_memories(&self, find: &MemoryFind) -> Result<MemoriesFound> {
        find.check()?;
        reading!(self, "find_memories", |reader| memories::find(reader, find).await)
    }

    async fn memory_neighbours(
        &self,
        scope: &MemoryScope,
        ids: &[MemoryId],
        each_side: usize,
    ) -> Result<Vec<Vec<StoredMemory>>> {
        scope.check_neighbours("memory_neighbours", ids, each_side)?;
        reading!(self, "memory_neighbours", |reader| memories::neighbours(
            reader, scope, ids, each_side
        )
        .await)
    }

    async fn forget_memories(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
        forget.check()?;
        let forgotten = memories::forget(&self.connections, forget).await;
        forgotten.map_err(|fault| fault.during("forget_memories"))
    }

    async fn memory_stats(
        &self,
        user: &UserId,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<MemoryStats>> {
        limits::check_id("memory_stats", "user", user.as_str())?;
        limits::check_page("memory_stats", limit)?;
        reading!(self, "memory_stats", |reader| memories::stats(reader, user, limit, after).await)
    }
}
