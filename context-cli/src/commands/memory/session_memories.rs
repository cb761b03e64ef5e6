//! The memories of a session, before and after an addition.

use std::collections::HashMap;

use context_runtime::memory::EPISODE;
use context_runtime::{
    MessageId, limits,
    memory::MemoryScope,
    store::{MemoryId, MemoryList, MemoryRecordStore, MemorySource, PageWalk},
};

use crate::error::Failure;

/// Returns the messages of a source that have memories under exactly this scope, each with the ids
/// of its memories, in the order of their parts.
pub(super) async fn session_memories(
    records: &dyn MemoryRecordStore,
    scope: &MemoryScope,
    source: MemorySource,
) -> Result<HashMap<MessageId, Vec<MemoryId>>, Failure> {
    let mut list = MemoryList::new(vec![scope.clone()], limits::MAX_PAGE).kind(EPISODE);
    list.source = Some(source);
    let mut session_memories: HashMap<MessageId, Vec<MemoryId>> = HashMap::new();
    let mut walk = PageWalk::new("list_memories", "memory");
    loop {
        let page = records.list_memories(&list).await?;
        let next = walk.next(&page)?;
        for record in page.items.into_iter().map(|stored| stored.record) {
            if let Some(message) = record.source.and_then(|source| source.message) {
                session_memories.entry(message).or_default().push(record.id);
            }
        }
        match next {
            Some(next) => list.after = Some(next),
            None => break,
        }
    }
    // Listings are newest first.
    session_memories.values_mut().for_each(|ids| ids.reverse());
    Ok(session_memories)
}
