//! The memory calls, each forwarded to its implementation.

use async_trait::async_trait;
use context_core::UserId;
use context_core::base::{MemoryId, limits};
use context_core::memory::{MemoriesForgotten, MemoryForget, MemoryScope, StoredMemory};
use context_core::store::{
    Cursor, MemoriesFound, MemoryFind, MemoryList, MemoryOutcome, MemoryRecordStore, MemoryStats,
    MemoryWrite, Page, check_memory_writes,
};

use crate::connections::shared::Shared;
use crate::memories::{find, forget, read, scopes, write};

#[async_trait]
impl MemoryRecordStore for Shared {
    async fn write_memories(&self, writes: &[MemoryWrite]) -> context_core::Result<MemoryOutcome> {
        check_memory_writes(writes)?;
        write::write(self, writes).await.map_err(|fault| fault.during("write_memories"))
    }

    async fn memories(
        &self,
        scope: &MemoryScope,
        ids: &[MemoryId],
    ) -> context_core::Result<Vec<StoredMemory>> {
        scope.check_ids("memories", ids)?;
        let found =
            read::by_id(self, scope, ids).await.map_err(|fault| fault.during("memories"))?;
        Ok(found.into_iter().flatten().collect())
    }

    async fn list_memories(&self, list: &MemoryList) -> context_core::Result<Page<StoredMemory>> {
        list.check()?;
        read::list(self, list).await.map_err(|fault| fault.during("list_memories"))
    }

    async fn find_memories(&self, find: &MemoryFind) -> context_core::Result<MemoriesFound> {
        find.check()?;
        find::find(self, find).await.map_err(|fault| fault.during("find_memories"))
    }

    async fn memory_neighbours(
        &self,
        scope: &MemoryScope,
        ids: &[MemoryId],
        each_side: usize,
    ) -> context_core::Result<Vec<Vec<StoredMemory>>> {
        scope.check_neighbours("memory_neighbours", ids, each_side)?;
        let neighbours = read::neighbours(self, scope, ids, each_side).await;
        neighbours.map_err(|fault| fault.during("memory_neighbours"))
    }

    async fn forget_memories(
        &self,
        forget: &MemoryForget,
    ) -> context_core::Result<MemoriesForgotten> {
        forget.check()?;
        forget::forget(self, forget).await.map_err(|fault| fault.during("forget_memories"))
    }

    async fn memory_stats(
        &self,
        user: &UserId,
        limit: usize,
        after: Option<&Cursor>,
    ) -> context_core::Result<Page<MemoryStats>> {
        limits::check_id("memory_stats", "user", user.as_str())?;
        limits::check_page("memory_stats", limit)?;
        scopes::stats(self, user, limit, after).await.map_err(|fault| fault.during("memory_stats"))
    }
}
