//! The memory calls, each forwarded to its implementation.

use async_trait::async_trait;
use context_core::base::{MemoryId, limits};
use context_core::memory::{MemoriesForgotten, MemoryForget, MemoryScope, StoredMemory};
use context_core::store::{
    Cursor, MemoriesFound, MemoryFind, MemoryList, MemoryOutcome, MemoryRecordStore, MemoryStats,
    MemoryWrite, Page, check_memory_writes,
};
use context_core::{Result, UserId};

use crate::connections::{Work, work};
use crate::memories;
use crate::store::Shared;

#[async_trait]
impl MemoryRecordStore for Shared {
    async fn write_memories(&self, writes: &[MemoryWrite]) -> Result<MemoryOutcome> {
        check_memory_writes(writes)?;
        let pgvector = self.facts.pgvector.as_ref();
        work!(self.pool, "write_memories", Work::Write, &writes[0].record.scope.user, |session| {
            memories::write::write(session, pgvector, writes).await
        })
    }

    async fn memories(&self, scope: &MemoryScope, ids: &[MemoryId]) -> Result<Vec<StoredMemory>> {
        scope.check_ids("memories", ids)?;
        work!(self.pool, "memories", Work::Read, &scope.user, |session| {
            memories::read::by_id(session, scope, ids).await
        })
    }

    async fn list_memories(&self, list: &MemoryList) -> Result<Page<StoredMemory>> {
        list.check()?;
        work!(self.pool, "list_memories", Work::Read, &list.scopes[0].user, |session| {
            memories::read::list(session, list).await
        })
    }

    async fn find_memories(&self, find: &MemoryFind) -> Result<MemoriesFound> {
        find.check()?;
        let pgvector = self.facts.pgvector.as_ref();
        work!(self.pool, "find_memories", Work::NestedLoops, &find.scopes[0].user, |session| {
            memories::find::find(session, pgvector, find).await
        })
    }

    async fn memory_neighbours(
        &self,
        scope: &MemoryScope,
        ids: &[MemoryId],
        each_side: usize,
    ) -> Result<Vec<Vec<StoredMemory>>> {
        scope.check_neighbours("memory_neighbours", ids, each_side)?;
        work!(self.pool, "memory_neighbours", Work::Read, &scope.user, |session| {
            memories::read::neighbours(session, scope, ids, each_side).await
        })
    }

    async fn forget_memories(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
        forget.check()?;
        work!(self.pool, "forget_memories", Work::Write, &forget.scope().user, |session| {
            memories::forget::forget(session, forget).await
        })
    }

    async fn memory_stats(
        &self,
        user: &UserId,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<MemoryStats>> {
        limits::check_id("memory_stats", "user", user.as_str())?;
        limits::check_page("memory_stats", limit)?;
        work!(self.pool, "memory_stats", Work::Read, user, |session| {
            memories::read::stats(session, user, limit, after).await
        })
    }
}
