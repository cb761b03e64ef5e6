//! The lease calls, each forwarded to its implementation.

use async_trait::async_trait;
use context_core::store::{Lease, LeaseClaim, LeaseOutcome, LeaseStore};
use context_core::{ChatRef, Timestamp};

use crate::connections::shared::Shared;
use crate::leases;

#[async_trait]
impl LeaseStore for Shared {
    async fn take_lease(
        &self,
        chat: &ChatRef,
        claim: &LeaseClaim,
    ) -> context_core::Result<LeaseOutcome> {
        claim.check(chat)?;
        leases::take(self, chat, claim).await.map_err(|fault| fault.during("take_lease"))
    }

    async fn release_lease(
        &self,
        chat: &ChatRef,
        number: u64,
        at: Timestamp,
    ) -> context_core::Result<bool> {
        leases::release(self, chat, number, at).await.map_err(|fault| fault.during("release_lease"))
    }

    async fn lease(&self, chat: &ChatRef) -> context_core::Result<Option<Lease>> {
        leases::show(self, chat).await.map_err(|fault| fault.during("lease"))
    }
}
