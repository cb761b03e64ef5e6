//! Memories derived from removed content.

use context_core::base::limits;
use context_core::memory::{MemoryForget, MemoryRecord, MemoryScope, MemorySource};
use context_core::store::{Cursor, MemoryList, MemoryRecordStore, MemoryStats, PageWalk};
use context_core::{ChatId, ChatRef, MessageId, Result, SessionId, Store};

use super::walk::RemovalWalk;

/// Removes memories of a message of a chat, in any scope. `names` are the ids under which a memory
/// may know the message.
pub(super) async fn forget_message(
    store: &dyn Store,
    chat: &ChatRef,
    names: impl Iterator<Item = &MessageId>,
    walk: &mut RemovalWalk<'_>,
) -> Result<()> {
    let scope = MemoryScope::new(chat.user.clone());
    for name in names {
        let source = MemorySource::message(session(&chat.chat), name.clone());
        forget(store, &MemoryForget::source(scope.clone(), source), walk).await?;
    }
    Ok(())
}

/// Removes memories of a chat, and those filed under it.
pub(super) async fn forget_chat(
    store: &dyn Store,
    chat: &ChatRef,
    walk: &mut RemovalWalk<'_>,
) -> Result<()> {
    let scope = MemoryScope::new(chat.user.clone());
    let source = MemorySource::session(session(&chat.chat));
    forget(store, &MemoryForget::source(scope.clone(), source), walk).await?;
    forget(store, &MemoryForget::Scope(scope.session(session(&chat.chat))), walk).await
}

/// Returns the default session of a chat: the one with its name.
pub(super) fn session(chat: &ChatId) -> SessionId {
    SessionId::from(chat.as_str())
}

async fn forget(
    store: &dyn Store,
    forget: &MemoryForget,
    walk: &mut RemovalWalk<'_>,
) -> Result<()> {
    let Some(records) = store.memories() else { return Ok(()) };
    if walk.options.dry_run {
        for record in matching_memories(records, forget).await? {
            walk.report.memories += u64::from(walk.plan_memory(&record));
        }
        return Ok(());
    }
    let forgotten = records.forget_memories(forget).await?;
    walk.report.memories += forgotten.removed;
    walk.report.found += forgotten.remaining;
    Ok(())
}

/// Returns the records that [`forget_memories`](MemoryRecordStore::forget_memories) would remove
/// now, newest first within each scope.
pub async fn matching_memories(
    records: &dyn MemoryRecordStore,
    forget: &MemoryForget,
) -> Result<Vec<MemoryRecord>> {
    let scope = forget.scope();
    let scopes = match forget {
        MemoryForget::Ids { .. } => vec![scope.clone()],
        _ => stats_within(records, scope).await?.into_iter().map(|stats| stats.scope).collect(),
    };
    let mut found = Vec::new();
    for scopes in scopes.chunks(limits::MAX_MEMORY_SCOPES) {
        let mut list = MemoryList::new(scopes.to_vec(), limits::MAX_PAGE);
        if let MemoryForget::Source { source, .. } = forget {
            list.source = Some(source.clone());
        }
        let all = listed(records, list).await?;
        found.extend(all.into_iter().filter(|record| forget.takes(record)));
    }
    Ok(found)
}

/// Returns the name of a memory among all memories. An id alone does not identify one.
pub(super) fn name(record: &MemoryRecord) -> String {
    format!("{} of {}", record.id, record.scope)
}

/// Returns all records of a listing.
pub(super) async fn listed(
    records: &dyn MemoryRecordStore,
    list: MemoryList,
) -> Result<Vec<MemoryRecord>> {
    let pages = PageWalk::new("list_memories", "memory");
    let read = |after: Option<Cursor>| {
        let list = list.clone().after(after);
        async move { records.list_memories(&list).await }
    };
    let all = pages.collect(read).await?;
    Ok(all.into_iter().map(|stored| stored.record).collect())
}

/// Returns the statistics of all scopes that a scope covers.
pub(super) async fn stats_within(
    records: &dyn MemoryRecordStore,
    scope: &MemoryScope,
) -> Result<Vec<MemoryStats>> {
    let pages = PageWalk::new("memory_stats", "scope");
    let read = |after: Option<Cursor>| async move {
        records.memory_stats(&scope.user, limits::MAX_PAGE, after.as_ref()).await
    };
    let mut within = pages.collect(read).await?;
    within.retain(|stats| scope.covers(&stats.scope));
    Ok(within)
}
