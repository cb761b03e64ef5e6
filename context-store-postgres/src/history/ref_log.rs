//! The log of references: what became of the branches and checkpoints of a chat.

use context_core::base::limits::MAX_REF_CHANGES;
use context_core::store::{RefChange, RefLog, RefLogEntry};
use context_core::{ChatRef, Timestamp};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::chat::access::{chat_no, lock_chat};
use crate::checksums;
use crate::connections::Session;
use crate::error::{Fault, Result};
use crate::sql::ref_log as sql;
use crate::values::numbers::{count, signed, signed_count};

const DAMAGED: &str = "the checksum of an entry of the log of references does not match";

/// Returns the log of a chat.
pub(crate) async fn list(session: &mut Session<'_>, chat: &ChatRef) -> Result<RefLog> {
    let no = chat_no(session, "ref_log", chat).await?;
    of_chat(session, no).await
}

/// Returns the log of the chat with this number.
pub(crate) async fn of_chat(session: &mut Session<'_>, chat: i64) -> Result<RefLog> {
    let query = session.query(sql::REF_CHANGES).bind(chat);
    let entry = |row: &PgRow| {
        let (number, at): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        let seal = checksums::ref_change(chat, number, at);
        let change = checksums::open_slice(seal, row.try_get(2)?, DAMAGED)?;
        let change = serde_json::from_slice(change).map_err(|_| Fault::Corrupt(DAMAGED, None))?;
        Ok(RefLogEntry::new(count(number)?, Timestamp::from_micros(at), change))
    };
    let entries = session.all(query).await?.iter().map(entry).collect::<Result<_>>()?;
    RefLog::new(entries).ok_or(Fault::Corrupt("an entry of the log of references is missing", None))
}

/// Deletes the log of a chat. Returns the number of entries.
pub(crate) async fn clear(session: &mut Session<'_>, chat: &ChatRef) -> Result<u64> {
    let no = lock_chat(session, "clear_ref_log", chat).await?;
    let clear = session.query(sql::CLEAR_REF_CHANGES).bind(no);
    session.execute(clear).await
}

/// Adds entries to the log of a chat, and deletes those that are not kept any longer.
pub(crate) async fn add(
    session: &mut Session<'_>,
    chat: i64,
    at: Timestamp,
    changes: &[RefChange],
) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let newest = session.query(sql::NEWEST_REF_CHANGE).bind(chat);
    let before: i64 = session.only(newest).await?.try_get(0)?;
    for (change, number) in changes.iter().zip(before + 1..) {
        let change = serde_json::to_vec(change)
            .map_err(|_| Fault::Corrupt("a change of a reference has no JSON form", None))?;
        let sealed = checksums::ref_change(chat, number, at.as_micros()).seal(change);
        let add = session.query(sql::ADD_REF_CHANGE).bind(chat).bind(number);
        session.execute(add.bind(at.as_micros()).bind(sealed)).await?;
    }
    let outdated = before + signed(changes.len()) - signed_count(MAX_REF_CHANGES);
    if outdated > 0 {
        let trim = session.query(sql::TRIM_REF_CHANGES).bind(chat).bind(outdated);
        session.execute(trim).await?;
    }
    Ok(())
}
