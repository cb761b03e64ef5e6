//! The review of memories over the protocol: the client's side.

use async_trait::async_trait;
use context_core::base::{MemoryId, limits};
use context_core::memory::{MemoryReview, MemoryScope, MemoryUse, Quarantine};
use context_core::{CancelSignal, Result};

use super::wire::{self, Scope};
use super::{RemoteError, RemoteMemory, check};

#[async_trait]
impl MemoryReview for RemoteMemory {
    async fn quarantine(&self, quarantine: &Quarantine) -> Result<()> {
        quarantine.check()?;
        let reply = self
            .post::<wire::Done>(
                "v1/quarantine",
                &wire::Quarantine::from(quarantine),
                &CancelSignal::never(),
            )
            .await;
        let checked = reply.and_then(|reply| check::same_scope(&quarantine.scope, reply.scope));
        checked.map_err(|error| error.of("quarantine"))
    }

    async fn release(&self, scope: &MemoryScope, id: &MemoryId) -> Result<bool> {
        const OPERATION: &str = "release";
        scope.check_ids(OPERATION, std::slice::from_ref(id))?;
        let body = wire::Named { scope: Scope::from(scope), id: id.clone() };
        let reply = self.post::<wire::Released>("v1/release", &body, &CancelSignal::never()).await;
        let checked = reply.and_then(|reply| {
            check::same_scope(scope, reply.scope)?;
            Ok(reply.released)
        });
        checked.map_err(|error| error.of(OPERATION))
    }

    async fn quarantined(&self, scope: &MemoryScope) -> Result<Vec<Quarantine>> {
        const OPERATION: &str = "quarantined";
        scope.check(OPERATION)?;
        let body = wire::InScope { scope: Scope::from(scope) };
        let path = "v1/quarantined";
        let reply = self.post::<wire::QuarantinedReply>(path, &body, &CancelSignal::never()).await;
        let checked = reply.and_then(|reply| {
            check::same_scope(scope, reply.scope)?;
            let list = reply.quarantines.into_iter().map(Quarantine::from).enumerate();
            list.map(|(number, quarantine)| match scope.sees(&quarantine.scope) {
                true => Ok(quarantine),
                false => Err(RemoteError::NotVisible { number }),
            })
            .collect()
        });
        checked.map_err(|error| error.of(OPERATION))
    }

    async fn record_use(&self, memory_use: &MemoryUse) -> Result<()> {
        const OPERATION: &str = "record_use";
        memory_use.check()?;
        let Some((first, _)) = memory_use.memories.first() else { return Ok(()) };
        let scope = MemoryScope::new(first.user.clone());
        let MemoryUse { session, turn, at, memories, .. } = memory_use;
        let memories = memories
            .iter()
            .map(|(scope, id)| wire::Named { scope: Scope::from(scope), id: id.clone() });
        let body = wire::Use {
            scope: Scope::from(&scope),
            session: session.clone(),
            turn: turn.clone(),
            at: *at,
            memories: memories.collect(),
        };
        let reply = self.post::<wire::Done>("v1/used", &body, &CancelSignal::never()).await;
        let checked = reply.and_then(|reply| check::same_scope(&scope, reply.scope));
        checked.map_err(|error| error.of(OPERATION))
    }

    async fn uses(&self, scope: &MemoryScope, id: &MemoryId) -> Result<Vec<MemoryUse>> {
        const OPERATION: &str = "uses";
        scope.check_ids(OPERATION, std::slice::from_ref(id))?;
        let body = wire::Named { scope: Scope::from(scope), id: id.clone() };
        let reply = self.post::<wire::UsesReply>("v1/uses", &body, &CancelSignal::never()).await;
        let checked = reply.and_then(|reply| {
            check::same_scope(scope, reply.scope)?;
            let (count, limit) = (reply.uses.len(), limits::MAX_PAGE);
            if count > limit {
                return Err(RemoteError::TooMany { count, limit });
            }
            let of_memory = |seen: wire::UseOf| {
                let memories = vec![(scope.clone(), id.clone())];
                MemoryUse::new(seen.session, seen.turn, seen.at, memories)
            };
            Ok(reply.uses.into_iter().map(of_memory).collect())
        });
        checked.map_err(|error| error.of(OPERATION))
    }
}
