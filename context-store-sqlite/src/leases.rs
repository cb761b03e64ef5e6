//! Leases: one row for each chat that has had one.
//!
//! The statement that appends without a transaction is refused by a trigger while a lease is in
//! force, and is then left to the transaction, which decides.

use context_core::store::{Lease, LeaseClaim, LeaseOutcome};
use context_core::{ChatRef, Timestamp};
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Row};

use crate::chat::access::chat_no;
use crate::checksums::LEASE;
use crate::connections::Writer;
use crate::error::Result;
use crate::sql::leases as sql;
use crate::values::numbers::count;

/// Returns the last lease of a chat.
pub(crate) async fn last(connection: &mut SqliteConnection, chat: i64) -> Result<Option<Lease>> {
    let rows = sqlx::query(sql::LEASE).bind(chat).fetch_all(connection).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    LEASE.check(row, 0)?;
    let until = Timestamp::from_micros(row.try_get(3)?);
    Ok(Some(Lease::new(row.try_get::<&str, _>(1)?, count(row.try_get(2)?)?, until)))
}

async fn write(connection: &mut SqliteConnection, chat: i64, lease: &Lease) -> Result<()> {
    let number = i64::try_from(lease.number).unwrap_or(i64::MAX);
    let until = lease.until.as_micros();
    let sum = LEASE.sum([chat.into(), lease.owner.as_str().into(), number.into(), until.into()]);
    let set = sqlx::query(sql::SET_LEASE).bind(chat).bind(lease.owner.as_str()).bind(number);
    set.bind(until).bind(sum).execute(connection).await?;
    Ok(())
}

pub(crate) async fn take(
    writer: &mut Writer,
    chat: &ChatRef,
    claim: &LeaseClaim,
) -> Result<LeaseOutcome> {
    let mut transaction = writer.begin().await?;
    let no = chat_no(&mut transaction, "take_lease", chat).await?;
    let outcome = Lease::take(last(&mut transaction, no).await?.as_ref(), claim);
    match &outcome {
        LeaseOutcome::Taken(lease) => {
            write(&mut transaction, no, lease).await?;
            transaction.commit().await?;
        }
        LeaseOutcome::Held(_) => transaction.rollback().await?,
    }
    Ok(outcome)
}

pub(crate) async fn release(
    writer: &mut Writer,
    chat: &ChatRef,
    number: u64,
    at: Timestamp,
) -> Result<bool> {
    let mut transaction = writer.begin().await?;
    let no = chat_no(&mut transaction, "release_lease", chat).await?;
    let last = last(&mut transaction, no).await?;
    let Some(released) = last.and_then(|last| last.release(number, at)) else {
        transaction.rollback().await?;
        return Ok(false);
    };
    write(&mut transaction, no, &released).await?;
    transaction.commit().await?;
    Ok(true)
}

pub(crate) async fn show(
    connection: &mut SqliteConnection,
    chat: &ChatRef,
) -> Result<Option<Lease>> {
    let mut transaction = connection.begin().await?;
    let no = chat_no(&mut transaction, "lease", chat).await?;
    let lease = last(&mut transaction, no).await?;
    transaction.commit().await?;
    Ok(lease)
}
