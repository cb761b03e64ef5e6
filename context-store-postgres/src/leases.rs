//! Leases: two columns of the chat's row, which every writer of the chat locks first.

use context_core::store::{Lease, LeaseClaim, LeaseOutcome};
use context_core::{ChatRef, Timestamp};
use sqlx::Row;

use crate::chat::access::{chat_no, lock_chat};
use crate::connections::Session;
use crate::error::{Fault, Result};
use crate::{checksums, sql};

const DAMAGED: &str = "the checksum of the lease of a chat does not match";

fn damaged() -> Fault {
    Fault::Corrupt(DAMAGED, None)
}

/// Returns the last lease of the chat of this number.
pub(crate) async fn last(
    session: &mut Session<'_>,
    (no, chat): (i64, &ChatRef),
) -> Result<Option<Lease>> {
    let query = session.query(sql::LEASE).bind(no);
    let Some(row) = session.first(query).await? else { return Ok(None) };
    let until: Option<i64> = row.try_get(0)?;
    let sealed: Option<&[u8]> = row.try_get(1)?;
    let (until, sealed) = match (until, sealed) {
        (None, None) => return Ok(None),
        (Some(until), Some(sealed)) => (Timestamp::from_micros(until), sealed),
        _ => return Err(damaged()),
    };
    let content = checksums::open_slice(checksums::lease(chat, until), sealed, DAMAGED)?;
    let (number, owner) = content.split_first_chunk().ok_or_else(damaged)?;
    let owner = std::str::from_utf8(owner).map_err(|_| damaged())?;
    Ok(Some(Lease::new(owner, u64::from_be_bytes(*number), until)))
}

async fn write(
    session: &mut Session<'_>,
    (no, chat): (i64, &ChatRef),
    lease: &Lease,
) -> Result<()> {
    let content = [&lease.number.to_be_bytes()[..], lease.owner.as_str().as_bytes()].concat();
    let set = session.query(sql::SET_LEASE).bind(no).bind(lease.until.as_micros());
    session.execute(set.bind(checksums::lease(chat, lease.until).seal(content))).await?;
    Ok(())
}

pub(crate) async fn take(
    session: &mut Session<'_>,
    chat: &ChatRef,
    claim: &LeaseClaim,
) -> Result<LeaseOutcome> {
    let no = lock_chat(session, "take_lease", chat).await?;
    let outcome = Lease::take(last(session, (no, chat)).await?.as_ref(), claim);
    if let LeaseOutcome::Taken(lease) = &outcome {
        write(session, (no, chat), lease).await?;
    }
    Ok(outcome)
}

pub(crate) async fn release(
    session: &mut Session<'_>,
    chat: &ChatRef,
    number: u64,
    at: Timestamp,
) -> Result<bool> {
    let no = lock_chat(session, "release_lease", chat).await?;
    let last = last(session, (no, chat)).await?;
    let Some(released) = last.and_then(|last| last.release(number, at)) else { return Ok(false) };
    write(session, (no, chat), &released).await?;
    Ok(true)
}

pub(crate) async fn show(session: &mut Session<'_>, chat: &ChatRef) -> Result<Option<Lease>> {
    let no = chat_no(session, "lease", chat).await?;
    last(session, (no, chat)).await
}
