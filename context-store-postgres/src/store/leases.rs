//! The lease calls, each forwarded to its implementation.

use async_trait::async_trait;
use context_core::store::{Lease, LeaseClaim, LeaseOutcome, LeaseStore};
use context_core::{ChatRef, Result, Timestamp};

use crate::connections::{Work, work};
use crate::leases;
use crate::store::Shared;

#[async_trait]
impl LeaseStore for Shared {
    async fn take_lease(&self, chat: &ChatRef, claim: &LeaseClaim) -> Result<LeaseOutcome> {
        claim.check(chat)?;
        work!(self.pool, "take_lease", Work::Write, &chat.user, |session| {
            leases::take(session, chat, claim).await
        })
    }

    async fn release_lease(&self, chat: &ChatRef, number: u64, at: Timestamp) -> Result<bool> {
        work!(self.pool, "release_lease", Work::Write, &chat.user, |session| {
            leases::release(session, chat, number, at).await
        })
    }

    async fn lease(&self, chat: &ChatRef) -> Result<Option<Lease>> {
        work!(self.pool, "lease", Work::Snapshot, &chat.user, |session| {
            leases::show(session, chat).await
        })
    }
}
