//! The records of a store that has them, and where in a scope they are filed.

use std::sync::Arc;

use context_core::base::limits;
use context_core::memory::MemoryScope;
use context_core::memory::StoredMemory;
use context_core::store::{MemoryList, MemoryRecordStore};
use context_core::{Error, Result, Store};

use crate::{Reach, episodic};

/// A store that keeps records of memories.
#[derive(Clone, Debug)]
pub(crate) struct Records(Arc<dyn Store>);

impl Records {
    /// The records of a store; [`Unsupported`](context_core::ErrorKind::Unsupported) if it keeps
    /// none.
    pub(crate) fn new(store: Arc<dyn Store>, operation: &'static str) -> Result<Self> {
        let records = Self(store);
        records.get(operation)?;
        Ok(records)
    }

    pub(crate) fn get(&self, operation: &'static str) -> Result<&dyn MemoryRecordStore> {
        episodic::records(&self.0, operation)
    }

    /// All records of a listing, page by page, at most so many.
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

/// Where something goes that comes from this scope. What is meant for a session goes nowhere else:
/// without one it is refused.
pub(crate) fn filed(
    reach: Reach,
    scope: &MemoryScope,
    operation: &'static str,
) -> Result<MemoryScope> {
    scope.check(operation)?;
    if reach == Reach::Session && scope.session.is_none() {
        return Err(Error::invalid(
            operation,
            "this is filed under a session, and the scope names none",
        ));
    }
    Ok(reach.of(scope))
}
