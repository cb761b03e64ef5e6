//! Erasing a user and vacuuming, until the file has no trace of deleted data.

use context_core::store::{Erasure, Vacuumed};
use context_core::{CancelSignal, Error, ErrorKind, Retry, UserId};
use sqlx::Row;

use crate::connections::branch_ends::BranchEnds;
use crate::connections::{Connections, Writer};
use crate::error::Result;
use crate::history::words::Tag;
use crate::rounds::node_tables::TABLES;
use crate::values::numbers::count;
use crate::{blobs, memories, rounds, sql, streams};

/// The number of messages, nodes or memories deleted in one transaction, unless a single chat or
/// round has more.
const BATCH: i64 = 50_000;

/// Erases all chats, trajectories and memories of a user, clears the file and its log, and counts
/// what is left.
pub(crate) async fn erase_user(
    connections: &Connections,
    user: &UserId,
    cancel: &CancelSignal,
) -> Result<Erasure> {
    const OPERATION: &str = "erase_user";
    cancel.check(OPERATION)?;
    let mut all = Batch::default();
    loop {
        // Other writers may write between two batches.
        let mut writer = connections.writer().await?;
        sqlx::query(sql::SHRED).execute(&mut writer.connection).await?;
        let batch = erase_batch(&mut writer, user, cancel).await;
        sqlx::query(sql::SHRED_NO_MORE).execute(&mut writer.connection).await?;
        let batch = batch?;
        all.chats += batch.chats;
        all.messages += batch.messages;
        all.blobs += batch.blobs;
        all.streams += batch.streams;
        all.rounds += batch.rounds;
        all.memories += batch.memories;
        let (steps, done) = match batch {
            Batch { rounds: 1.., .. } => ("round", all.rounds),
            Batch { memories: 1.., .. } => ("memory", all.memories),
            _ => ("message", all.messages),
        };
        cancel.report(steps, count(done)?);
        cancel.check(OPERATION)?;
        if batch.chats == 0 && batch.rounds == 0 && batch.memories == 0 {
            break;
        }
    }
    let mut writer = connections.writer().await?;
    // The log is cleared before the copy, so that less is copied, and again after it, because the
    // copy goes through the log.
    tidy(&mut writer).await?;
    connections.clear_log(true).await?;
    let mut spare = connections.maintenance().await?;
    sqlx::query(sql::VACUUM).execute(&mut spare.connection).await?;
    spare.close().await?;
    let cleared = connections.clear_log(true).await?;
    if !cleared {
        let message = "the user was erased, but a reader of an older state keeps the log from being emptied: erase again";
        return Err(Error::new(ErrorKind::Unavailable, OPERATION, message)
            .with_retry(Retry::Safe)
            .into());
    }
    let remaining = remaining(&mut writer, user).await?;
    let mut erased = Erasure::new(count(all.chats)?, count(all.messages)?, count(remaining)?);
    (erased.blobs, erased.streams) = (count(all.blobs)?, count(all.streams)?);
    (erased.rounds, erased.memories) = (count(all.rounds)?, count(all.memories)?);
    Ok(erased)
}

/// The rows deleted in one transaction.
#[derive(Default)]
struct Batch {
    chats: i64,
    messages: i64,
    blobs: i64,
    streams: i64,
    rounds: i64,
    memories: i64,
}

/// Deletes a few chats in one transaction, or a few rounds if no chats are left, or then memories,
/// and returns what was deleted. Cancellation ends the batch early. Rows deleted until then stay
/// deleted.
async fn erase_batch(writer: &mut Writer, user: &UserId, cancel: &CancelSignal) -> Result<Batch> {
    let mut transaction = writer.begin().await?;
    let rows = sqlx::query(sql::CHATS_OF).bind(user.as_str()).fetch_all(&mut *transaction).await?;
    let (blobs, _) = blobs::totals(&mut transaction, user).await?;
    let streams = streams::total(&mut transaction, user).await?;
    let mut batch = Batch::default();
    for row in rows {
        let (no, own): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        if cancel.is_cancelled() || (batch.chats > 0 && batch.messages + own > BATCH) {
            break;
        }
        sqlx::query(sql::DELETE_CHAT).bind(no).execute(&mut *transaction).await?;
        batch.chats += 1;
        batch.messages += own;
    }
    if batch.chats == 0 && !cancel.is_cancelled() {
        batch.rounds = rounds::listing::erase_some(&mut transaction, user, BATCH).await?;
        if batch.rounds == 0 {
            batch.memories = memories::erase_some(&mut transaction, user, BATCH).await?;
        }
    }
    let (left, _) = blobs::totals(&mut transaction, user).await?;
    batch.blobs = blobs - left;
    batch.streams = streams - streams::total(&mut transaction, user).await?;
    transaction.commit().await?;
    writer.branch_ends = BranchEnds::default();
    Ok(batch)
}

/// Returns the number of rows of this user and of rows that belong to no chat or round.
async fn remaining(writer: &mut Writer, user: &UserId) -> Result<i64> {
    let connection = &mut writer.connection;
    let rows = sqlx::query(sql::REMAINING).bind(user.as_str()).fetch_one(&mut *connection).await?;
    let nodes = sqlx::query(TABLES.remaining.as_str())
        .bind(user.as_str())
        .fetch_one(&mut *connection)
        .await?;
    let mut remaining = rows.try_get::<i64, _>(0)? + nodes.try_get::<i64, _>(0)?;
    remaining += memories::remaining(connection, user).await?;
    if writer.full_text {
        let words = sqlx::query(sql::words::REMAINING_WORDS)
            .bind(Tag::of(user).any_word())
            .bind(user.as_str());
        remaining += words.fetch_one(connection).await?.try_get::<i64, _>(0)?;
    }
    Ok(remaining)
}

/// Rewrites the file without unused pages.
pub(crate) async fn vacuum(connections: &Connections) -> Result<Vacuumed> {
    let mut writer = connections.writer().await?;
    let before = connections.size();
    tidy(&mut writer).await?;
    let mut spare = connections.maintenance().await?;
    sqlx::query(sql::VACUUM).execute(&mut spare.connection).await?;
    spare.close().await?;
    // Pages that other handles are reading stay in the log until those handles are done.
    connections.clear_log(true).await?;
    Ok(Vacuumed::new(before, connections.size()))
}

/// Rebuilds the full-text indexes without the words of deleted messages and records.
async fn tidy(writer: &mut Writer) -> Result<()> {
    memories::tidy(&mut writer.connection).await?;
    if writer.full_text {
        sqlx::query(sql::words::TIDY_WORDS).execute(&mut writer.connection).await?;
    }
    Ok(())
}
