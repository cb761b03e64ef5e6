//! Memories that came from what is removed.

use context_core::memory::{MemoryForget, MemoryScope, MemorySource};
use context_core::{ChatId, ChatRef, MessageId, Result, SessionId, Store};

use super::RemovalReport;

/// Forgets what came from a message of a chat, whatever scope it is filed under. `names` are the
/// ids under which a memory may know it.
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

/// Forgets what came from a chat, and what is filed under it.
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

/// The session that a chat is by default: the one of its name.
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
