//! What is remembered of a session: what an addition finds there, and what it leaves there.

use std::collections::HashMap;

use context_runtime::memory::EPISODE;
use context_runtime::{
    MessageId, limits,
    memory::MemoryScope,
    store::{MemoryId, MemoryList, MemoryRecordStore, MemorySource, PageWalk},
};

use crate::error::Failure;

/// The messages from there of which something is filed under exactly this scope, each with the
/// names of its memories, first part first.
pub(super) async fn known(
    records: &dyn MemoryRecordStore,
    scope: &MemoryScope,
    source: MemorySource,
) -> Result<HashMap<MessageId, Vec<MemoryId>>, Failure> {
    let mut list = MemoryList::new(vec![scope.clone()], limits::MAX_PAGE).kind(EPISODE);
    list.source = Some(source);
    let mut known: HashMap<MessageId, Vec<MemoryId>> = HashMap::new();
    let mut walk = PageWalk::new("list_memories", "memory");
    loop {
        let page = records.list_memories(&list).await?;
        let next = walk.next(&page)?;
        for record in page.items.into_iter().map(|stored| stored.record) {
            if let Some(message) = record.source.and_then(|source| source.message) {
                known.entry(message).or_default().push(record.id);
            }
        }
        match next {
            Some(next) => list.after = Some(next),
            None => break,
        }
    }
    // Listings begin with the newest.
    known.values_mut().for_each(|ids| ids.reverse());
    Ok(known)
}
