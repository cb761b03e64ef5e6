//! Validation of replies.

use context_core::base::limits;
use context_core::memory::{MemoryScope, Recalled, RecalledMemory};

use super::{RemoteError, wire};

/// Fails if the reply is for another scope.
pub(super) fn same_scope(asked: &MemoryScope, answered: wire::Scope) -> Result<(), RemoteError> {
    if MemoryScope::from(answered) == *asked { Ok(()) } else { Err(RemoteError::OtherScope) }
}

/// Returns the memories of a reply if all of them are visible from the requested scope.
pub(super) fn recalled(
    asked: &MemoryScope,
    reply: wire::RecallReply,
) -> Result<Recalled, RemoteError> {
    same_scope(asked, reply.scope)?;
    let (count, limit) = (reply.memories.len(), limits::MAX_PAGE);
    if count > limit {
        return Err(RemoteError::TooMany { count, limit });
    }
    let memories = reply.memories.into_iter().enumerate();
    let memories = memories.map(|(number, memory)| checked(asked, number, memory.into()));
    Ok(Recalled::new(memories.collect::<Result<_, _>>()?))
}

fn checked(
    asked: &MemoryScope,
    number: usize,
    memory: RecalledMemory,
) -> Result<RecalledMemory, RemoteError> {
    const OPERATION: &str = "recall";
    let filed = memory.scope.as_ref();
    if !filed.is_some_and(|filed| asked.sees(filed)) {
        return Err(RemoteError::NotVisible { number });
    }
    let name =
        |part, name: Option<&str>| match name.map(|name| limits::check_id(OPERATION, part, name)) {
            Some(Err(_)) => Err(RemoteError::BadMemory { number, part }),
            _ => Ok(()),
        };
    name("the kind", Some(&memory.kind))?;
    name("the id", memory.id.as_ref().map(|id| id.as_str()))?;
    name("the speaker", memory.speaker.as_deref())?;
    if memory.source.as_ref().is_some_and(|source| source.check(OPERATION).is_err()) {
        return Err(RemoteError::BadMemory { number, part: "the source" });
    }
    if memory.text.len() > limits::MAX_MEMORY_BYTES {
        return Err(RemoteError::BadMemory { number, part: "the text" });
    }
    if !memory.score.is_finite() {
        return Err(RemoteError::BadMemory { number, part: "the score" });
    }
    Ok(memory)
}
