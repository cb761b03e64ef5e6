//! The review of memories over the protocol: the server's side.

use context_core::memory::{MemoryReview, MemoryScope, MemoryUse};
use context_core::{Error, ErrorKind};

use super::routes::{OPERATION, Refusal, scope, write};
use super::service::{KeyFor, MemoryService};
use super::wire;

/// The review of the provider. Refuses if it has none.
fn review(service: &MemoryService) -> Result<&dyn MemoryReview, Refusal> {
    let none = || Error::new(ErrorKind::Unsupported, OPERATION, "this memory has no review");
    Ok(service.provider.review().ok_or_else(none)?)
}

fn done(scope: &MemoryScope) -> Result<Vec<u8>, Refusal> {
    write(&wire::Done { scope: wire::Scope::from(scope) })
}

pub(super) async fn quarantine(
    service: &MemoryService,
    opens: &KeyFor,
    body: wire::Quarantine,
) -> Result<Vec<u8>, Refusal> {
    let scope = scope(opens, body.scope.clone())?;
    review(service)?.quarantine(&body.into()).await?;
    done(&scope)
}

pub(super) async fn release(
    service: &MemoryService,
    opens: &KeyFor,
    body: wire::Named,
) -> Result<Vec<u8>, Refusal> {
    let scope = scope(opens, body.scope)?;
    let released = review(service)?.release(&scope, &body.id).await?;
    write(&wire::Released { scope: wire::Scope::from(&scope), released })
}

pub(super) async fn quarantined(
    service: &MemoryService,
    opens: &KeyFor,
    body: wire::InScope,
) -> Result<Vec<u8>, Refusal> {
    let scope = scope(opens, body.scope)?;
    let list = review(service)?.quarantined(&scope).await?;
    let quarantines = list.iter().map(wire::Quarantine::from).collect();
    write(&wire::QuarantinedReply { scope: wire::Scope::from(&scope), quarantines })
}

pub(super) async fn used(
    service: &MemoryService,
    opens: &KeyFor,
    body: wire::Use,
) -> Result<Vec<u8>, Refusal> {
    let filed = scope(opens, body.scope)?;
    let memories =
        body.memories.into_iter().map(|named| Ok((scope(opens, named.scope)?, named.id)));
    let memories = memories.collect::<Result<Vec<_>, Refusal>>()?;
    if memories.iter().any(|(scope, _)| scope.user != filed.user) {
        return Err(Error::invalid(OPERATION, "memories of another user in a use").into());
    }
    let memory_use = MemoryUse::new(body.session, body.turn, body.at, memories);
    review(service)?.record_use(&memory_use).await?;
    done(&filed)
}

pub(super) async fn uses(
    service: &MemoryService,
    opens: &KeyFor,
    body: wire::Named,
) -> Result<Vec<u8>, Refusal> {
    let scope = scope(opens, body.scope)?;
    let uses = review(service)?.uses(&scope, &body.id).await?.into_iter();
    let uses = uses.map(|seen| wire::UseOf { session: seen.session, turn: seen.turn, at: seen.at });
    write(&wire::UsesReply { scope: wire::Scope::from(&scope), uses: uses.collect() })
}
