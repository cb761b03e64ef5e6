//! The records of a store that has them.

use std::sync::Arc;

use context_core::{Error, ErrorKind, MemoryList, MemoryRecordStore, Result, Store, StoredMemory, limits};

/// A store that keeps records of memories.
#[derive(Clone, Debug)]
pub(crate) struct Records(Arc<dyn Store>);

impl Records {
    /// The records of a store; [`Unsupported`](ErrorKind::Unsupported) if it keeps none.
    pub(crate) fn new(store: Arc<dyn Store>, operation: &'static str) -> Result<Self> {
        let records = Self(store);
        records.get(operation)?;
        Ok(records)
    }

    pub(crate) fn get(&self, operation: &'static str) -> Result<&dyn MemoryRecordStore> {
        self.0.memories().ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, operation, "the store keeps no memories")
                .with("store", self.0.info().name)
        })
    }

    /// All records of a listing, page by page, at most so many.
    pub(crate) async fn all(
        &self,
        list: MemoryList,
        most: usize,
        operation: &'static str,
    ) -> Result<Vec<StoredMemory>> {
        let (mut found, mut list) = (Vec::new(), list);
        loop {
            list.limit = (most - found.len()).min(limits::MAX_PAGE);
            let page = self.get(operation)?.list_memories(&list).await?;
            found.extend(page.items);
            if page.next.is_none() || found.len() >= most {
                return Ok(found);
            }
            list.after = page.next;
        }
    }
}
