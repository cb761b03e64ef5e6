//! Access to the memory records of a store, and the scope under which records are filed.

use std::sync::Arc;

use context_core::base::limits;
use context_core::memory::{MemoryScope, StoredMemory};
use context_core::store::{MemoryList, MemoryRecordStore};
use context_core::{Error, Result, Store};

use crate::{ScopeLevel, episodic};

/// A store that supports memory records.
#[derive(Clone, Debug)]
pub(crate) struct Records(Arc<dyn Store>);

impl Records {
    /// Wraps a store. Fails with [`Unsupported`](context_core::ErrorKind::Unsupported) if the store
    /// does not support memories.
    pub(crate) fn new(store: Arc<dyn Store>, operation: &'static str) -> Result<Self> {
        let records = Self(store);
        records.get(operation)?;
        Ok(records)
    }

    pub(crate) fn get(&self, operation: &'static str) -> Result<&dyn MemoryRecordStore> {
        episodic::records(&self.0, operation)
    }

    /// Returns up to `most` records of a listing, reading page by page.
    pub(crate) async fn all(
        &self,
        mut list: MemoryList,
        most: usize,
        operation: &'static str,
    ) -> Result<Vec<StoredMemory>> {
        let mut found = Vec::new();
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

/// Returns the scope under which a record is filed. Fails if the record is meant for a session and
/// the scope has none.
pub(crate) fn filed(
    level: ScopeLevel,
    scope: &MemoryScope,
    operation: &'static str,
) -> Result<MemoryScope> {
    scope.check(operation)?;
    if level == ScopeLevel::Session && scope.session.is_none() {
        return Err(Error::invalid(
            operation,
            "these records need a session, and the scope names none",
        ));
    }
    Ok(level.of(scope))
}
