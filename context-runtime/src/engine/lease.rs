//! A lease of the chat, which makes this engine the only one that saves.

use std::time::Duration;

use context_core::base::LeaseOwner;
use context_core::store::{Lease, LeaseClaim, LeaseOutcome, LeaseStore};
use context_core::{Error, ErrorKind, Result};

use super::ContextEngine;

impl ContextEngine {
    /// Takes the lease of the chat for a time to live from now on, renews it, or takes it over when
    /// another owner's has ended. From then on, this engine's saves, edits and new branches carry
    /// the fencing number of the lease. They are refused once another owner has taken it over, with
    /// [`ErrorKind::Conflict`] and a [`LeaseRefusal`](context_core::store::LeaseRefusal); what is
    /// pending stays pending. The engine has no background task: call this again, before each turn
    /// for example, to renew the lease.
    ///
    /// With [`LeaseOutcome::Held`] the engine has no lease, and its saves are refused while that of
    /// the other owner is in force.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] if the store has no leases, [`ErrorKind::Invalid`] for an owner
    /// without a name or a time to live of nothing.
    pub async fn lease(
        &mut self,
        owner: impl Into<LeaseOwner>,
        time_to_live: Duration,
    ) -> Result<LeaseOutcome> {
        let claim = LeaseClaim::new(owner, self.parts.clock.now(), time_to_live);
        let outcome = self.leases("take_lease")?.take_lease(&self.chat, &claim).await?;
        self.lease = match &outcome {
            LeaseOutcome::Taken(lease) => Some(lease.clone()),
            LeaseOutcome::Held(_) => None,
        };
        // The owner before may have written since the chat was opened.
        if let Some(view) = &mut self.view {
            view.take_ahead();
        }
        Ok(outcome)
    }

    /// Ends the lease that this engine has taken. Returns false if it has none, or if another owner
    /// has taken it over.
    pub async fn release_lease(&mut self) -> Result<bool> {
        let Some(Lease { number, .. }) = self.lease else { return Ok(false) };
        let now = self.parts.clock.now();
        let leases = self.leases("release_lease")?;
        let released = leases.release_lease(&self.chat, number, now).await?;
        self.lease = None;
        Ok(released)
    }

    fn leases(&self, operation: &'static str) -> Result<&dyn LeaseStore> {
        let lacks = || Error::new(ErrorKind::Unsupported, operation, "the store has no leases");
        self.parts.store.leases().ok_or_else(lacks)
    }
}
