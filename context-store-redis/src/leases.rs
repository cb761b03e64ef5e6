//! Leases: one field of the chat's hash, with the end of the lease first, so that the script of
//! plain appends can compare it.

use bytes::Bytes;
use context_core::store::{Lease, LeaseClaim, LeaseOutcome};
use context_core::{ChatRef, Timestamp};

use crate::chat::change::ChatChange;
use crate::chat::fields::LEASE;
use crate::chat::snapshot::ChatSnapshot;
use crate::checksums;
use crate::connections::shared::Shared;
use crate::error::Result;
use crate::values::{Numbers, time, unreadable};

/// Reads the field of a lease.
pub(crate) fn read(value: Option<&Bytes>) -> Result<Option<Lease>> {
    let Some(value) = value else { return Ok(None) };
    let mut numbers = Numbers::of(checksums::text_of(LEASE, value)?.as_bytes());
    let (until, number) = (numbers.time()?, numbers.number()?);
    let owner = std::str::from_utf8(numbers.rest()).map_err(|_| unreadable())?;
    Ok(Some(Lease::new(owner, number, until)))
}

fn write(lease: &Lease) -> ChatChange {
    let text = format!("{} {} {}", time(lease.until), lease.number, lease.owner);
    // A lease does not change the time of the last write.
    let mut change = ChatChange::default();
    change.set(LEASE, checksums::summed(LEASE, &text));
    change
}

fn last(snapshot: &ChatSnapshot) -> Result<Option<Lease>> {
    read(snapshot.requested.first().and_then(Option::as_ref))
}

pub(crate) async fn take(
    shared: &Shared,
    chat: &ChatRef,
    claim: &LeaseClaim,
) -> Result<LeaseOutcome> {
    let decide = |snapshot: &ChatSnapshot| {
        let outcome = Lease::take(last(snapshot)?.as_ref(), claim);
        let change = match &outcome {
            LeaseOutcome::Taken(lease) => Some(write(lease)),
            LeaseOutcome::Held(_) => None,
        };
        Ok((change, outcome))
    };
    shared.change("take_lease", chat, &[LEASE.to_owned()], decide).await
}

pub(crate) async fn release(
    shared: &Shared,
    chat: &ChatRef,
    number: u64,
    at: Timestamp,
) -> Result<bool> {
    let decide = |snapshot: &ChatSnapshot| {
        let released = last(snapshot)?.and_then(|last| last.release(number, at));
        let is_released = released.is_some();
        Ok((released.as_ref().map(write), is_released))
    };
    shared.change("release_lease", chat, &[LEASE.to_owned()], decide).await
}

pub(crate) async fn show(shared: &Shared, chat: &ChatRef) -> Result<Option<Lease>> {
    last(&shared.snapshot("lease", chat, &[LEASE.to_owned()]).await?)
}
