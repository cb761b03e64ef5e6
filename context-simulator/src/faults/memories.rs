//! The memory record calls of the fault-injecting store.

use async_trait::async_trait;
use context_core::base::MemoryId;
use context_core::memory::{MemoriesForgotten, MemoryForget, MemoryScope, StoredMemory};
use context_core::store::{
    Cursor, MemoriesFound, MemoryFind, MemoryList, MemoryOutcome, MemoryRecordStore, MemoryStats,
    MemoryWrite, Page,
};
use context_core::{Result, UserId};

use super::plan::Operation;
use super::store::{FaultInjector, lacks};

impl FaultInjector {
    fn memory_store(&self) -> Result<&dyn MemoryRecordStore> {
        self.inner.memories().ok_or_else(|| lacks("memories"))
    }
}

#[async_trait]
impl MemoryRecordStore for FaultInjector {
    async fn write_memories(&self, writes: &[MemoryWrite]) -> Result<MemoryOutcome> {
        self.call(Operation::WriteMemories, self.memory_store()?.write_memories(writes)).await
    }

    async fn memories(&self, scope: &MemoryScope, ids: &[MemoryId]) -> Result<Vec<StoredMemory>> {
        self.call(Operation::Memories, self.memory_store()?.memories(scope, ids)).await
    }

    async fn list_memories(&self, list: &MemoryList) -> Result<Page<StoredMemory>> {
        self.call(Operation::ListMemories, self.memory_store()?.list_memories(list)).await
    }

    async fn find_memories(&self, find: &MemoryFind) -> Result<MemoriesFound> {
        self.call(Operation::FindMemories, self.memory_store()?.find_memories(find)).await
    }

    async fn memory_neighbours(
        &self,
        scope: &MemoryScope,
        ids: &[MemoryId],
        each_side: usize,
    ) -> Result<Vec<Vec<StoredMemory>>> {
        let call = self.memory_store()?.memory_neighbours(scope, ids, each_side);
        self.call(Operation::MemoryNeighbours, call).await
    }

    async fn forget_memories(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
        self.call(Operation::ForgetMemories, self.memory_store()?.forget_memories(forget)).await
    }

    async fn memory_stats(
        &self,
        user: &UserId,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<MemoryStats>> {
        self.call(Operation::MemoryStats, self.memory_store()?.memory_stats(user, limit, after))
            .await
    }
}
