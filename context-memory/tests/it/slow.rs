//! A store that yields before and after each call, so that every race between two tasks occurs.

use async_trait::async_trait;
use context_core::base::MemoryId;
use context_core::memory::{MemoriesForgotten, MemoryForget, MemoryScope, StoredMemory};
use context_core::store::{
    Cursor, FragmentStore, HistoryStore, MemoriesFound, MemoryFind, MemoryList, MemoryOutcome,
    MemoryRecordStore, MemoryStats, MemoryWrite, Page, StoreInfo,
};
use context_core::{Result, Store, UserId};
use context_store_inmem::InMemoryStore;

#[derive(Debug, Default)]
pub(crate) struct Slow {
    inner: InMemoryStore,
}

impl Slow {
    async fn after<T>(&self, call: impl Future<Output = T>) -> T {
        tokio::task::yield_now().await;
        let done = call.await;
        tokio::task::yield_now().await;
        done
    }

    fn records(&self) -> &dyn MemoryRecordStore {
        self.inner.memories().unwrap()
    }
}

impl Store for Slow {
    fn info(&self) -> StoreInfo {
        self.inner.info()
    }

    fn history(&self) -> &dyn HistoryStore {
        self.inner.history()
    }

    fn fragments(&self) -> &dyn FragmentStore {
        self.inner.fragments()
    }

    fn memories(&self) -> Option<&dyn MemoryRecordStore> {
        Some(self)
    }
}

#[async_trait]
impl MemoryRecordStore for Slow {
    async fn write_memories(&self, writes: &[MemoryWrite]) -> Result<MemoryOutcome> {
        self.after(self.records().write_memories(writes)).await
    }

    async fn memories(&self, scope: &MemoryScope, ids: &[MemoryId]) -> Result<Vec<StoredMemory>> {
        self.after(self.records().memories(scope, ids)).await
    }

    async fn list_memories(&self, list: &MemoryList) -> Result<Page<StoredMemory>> {
        self.after(self.records().list_memories(list)).await
    }

    async fn find_memories(&self, find: &MemoryFind) -> Result<MemoriesFound> {
        self.after(self.records().find_memories(find)).await
    }

    async fn memory_neighbours(
        &self,
        scope: &MemoryScope,
        ids: &[MemoryId],
        each_side: usize,
    ) -> Result<Vec<Vec<StoredMemory>>> {
        self.after(self.records().memory_neighbours(scope, ids, each_side)).await
    }

    async fn forget_memories(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
        self.after(self.records().forget_memories(forget)).await
    }

    async fn memory_stats(
        &self,
        user: &UserId,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<MemoryStats>> {
        self.after(self.records().memory_stats(user, limit, after)).await
    }
}
