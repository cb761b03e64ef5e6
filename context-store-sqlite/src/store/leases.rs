//! Forwards the calls of leases.

use async_trait::async_trait;
use context_core::store::{Lease, LeaseClaim, LeaseOutcome, LeaseStore};
use context_core::{ChatRef, Result, Timestamp};

use crate::connections::calls::{reading, writing};
use crate::leases;
use crate::store::Shared;

#[async_trait]
impl LeaseStore for Shared {
    async fn take_lease(&self, chat: &ChatRef, claim: &LeaseClaim) -> Result<LeaseOutcome> {
        claim.check(chat)?;
        writing!(self, "take_lease", |writer| leases::take(writer, chat, claim).await)
    }

    async fn release_lease(&self, chat: &ChatRef, number: u64, at: Timestamp) -> Result<bool> {
        writing!(self, "release_lease", |writer| leases::release(writer, chat, number, at).await)
    }

    async fn lease(&self, chat: &ChatRef) -> Result<Option<Lease>> {
        reading!(self, "lease", |reader| leases::show(reader, chat).await)
    }
}
