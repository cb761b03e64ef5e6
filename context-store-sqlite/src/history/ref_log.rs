//! The log of references: what became of the branches and checkpoints of a chat.

use context_core::base::limits::MAX_REF_CHANGES;
use context_core::store::{RefChange, RefLog, RefLogEntry};
use context_core::{ChatRef, Timestamp};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::chat::access::chat_no;
use crate::checksums::{REF_CHANGE, Value};
use crate::connections::Writer;
use crate::counts::{ChatCount, ListPart};
use crate::error::{Fault, Result};
use crate::sql::ref_log as sql;
use crate::values::numbers::{count, signed};

/// Returns the log of a chat.
pub(crate) async fn list(connection: &mut SqliteConnection, chat: &ChatRef) -> Result<RefLog> {
    let mut transaction = connection.begin().await?;
    let no = chat_no(&mut transaction, "ref_log", chat).await?;
    let rows = sqlx::query(sql::REF_CHANGES).bind(no).fetch_all(&mut *transaction).await?;
    let all = ListPart::All(rows.len());
    ChatCount::RefChanges.compare(&mut transaction, no, all).await?;
    transaction.commit().await?;
    RefLog::new(rows.iter().map(entry).collect::<Result<_>>()?)
        .ok_or(Fault::Corrupt("an entry of the log of references is missing", None))
}

/// Deletes the log of a chat. Returns the number of entries.
pub(crate) async fn clear(writer: &mut Writer, chat: &ChatRef) -> Result<u64> {
    let mut transaction = writer.begin().await?;
    let no = chat_no(&mut transaction, "clear_ref_log", chat).await?;
    let clear = sqlx::query(sql::CLEAR_REF_CHANGES).bind(no);
    let cleared = clear.execute(&mut *transaction).await?.rows_affected();
    transaction.commit().await?;
    Ok(cleared)
}

fn entry(row: &SqliteRow) -> Result<RefLogEntry> {
    REF_CHANGE.check(row, 0)?;
    let change = serde_json::from_str(row.try_get(3)?)
        .map_err(|_| Fault::Corrupt("an entry of the log of references cannot be read", None))?;
    let at = Timestamp::from_micros(row.try_get(2)?);
    Ok(RefLogEntry::new(count(row.try_get(1)?)?, at, change))
}

/// Adds entries to the log of a chat, and deletes those that are not kept any longer.
pub(crate) async fn add(
    connection: &mut SqliteConnection,
    chat: i64,
    at: Timestamp,
    changes: &[RefChange],
) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let newest = sqlx::query(sql::NEWEST_REF_CHANGE).bind(chat).fetch_one(&mut *connection).await?;
    let before: i64 = newest.try_get(0)?;
    for (change, number) in changes.iter().zip(before + 1..) {
        let change = serde_json::to_string(change)
            .map_err(|_| Fault::Corrupt("a change of a reference has no JSON form", None))?;
        let values: [Value<'_>; 4] =
            [chat.into(), number.into(), at.as_micros().into(), change.into()];
        let sum = REF_CHANGE.sum(values.clone());
        let insert = sqlx::query(sql::ADD_REF_CHANGE);
        let insert = values.into_iter().fold(insert, |query, value| value.bind(query));
        insert.bind(sum).execute(&mut *connection).await?;
    }
    let kept = i64::try_from(MAX_REF_CHANGES).unwrap_or(i64::MAX);
    let outdated = before + signed(changes.len()) - kept;
    if outdated > 0 {
        let trim = sqlx::query(sql::TRIM_REF_CHANGES).bind(chat).bind(outdated);
        trim.execute(connection).await?;
    }
    Ok(())
}
