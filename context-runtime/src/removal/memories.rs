//! Memories derived from removed content.

use context_core::memory::{MemoryForget, MemoryScope, MemorySource};
use context_core::{ChatId, ChatRef, MessageId, Result, SessionId, Store};

use super::RemovalReport;

/// Removes memories of a message of a chat, in any scope. `names` are the ids under which a memory
/// may know the message.
pub(super) async fn forget_message(
    store: &dyn Store,
    chat: &ChatRef,
    names: impl Iterator<Item = MessageId>,
    report: &mut RemovalReport,
) -> Result<()> {
    let scope = MemoryScope::new(chat.user.clone());
    for name in names {
        let source = MemorySource::message(session(&chat.chat), name);
        forget(store, &MemoryForget::source(scope.clone(), source), report).await?;
    }
    Ok(())
}

/// Removes memories of a chat, and those filed under it.
pub(super) async fn forget_chat(
    store: &dyn Store,
    chat: &ChatRef,
    report: &mut RemovalReport,
) -> Result<()> {
    let scope = MemoryScope::new(chat.user.clone());
    let source = MemorySource::session(session(&chat.chat));
    forget(store, &MemoryForget::source(scope.clone(), source), report).await?;
    forget(store, &MemoryForget::Scope(scope.session(session(&chat.chat))), report).await
}

/// Returns the default session of a chat: the one with its name.
pub(super) fn session(chat: &ChatId) -> SessionId {
    SessionId::from(chat.as_str())
}

async fn forget(
    store: &dyn Store,
    forget: &MemoryForget,
    report: &mut RemovalReport,
) -> Result<()> {
    let Some(records) = store.memories() else { return Ok(()) };
    let forgotten = records.forget_memories(forget).await?;
    report.memories += forgotten.removed;
    report.found += forgotten.remaining;
    Ok(())
}
