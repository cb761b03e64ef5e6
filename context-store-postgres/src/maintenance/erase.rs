//! Erasing a user, and vacuuming.

use context_core::store::{Erasure, Vacuumed};
use context_core::{CancelSignal, ChatRef, UserId};
use sqlx::{AssertSqlSafe, Row};

use crate::connections::{Pool, Session, Work, quoted};
use crate::error::Result;
use crate::values::numbers::count;
use crate::values::rows::text;
use crate::{blobs, history::chats, memories, rounds, sql, streams};

const OPERATION: &str = "erase_user";

/// Erases all chats of a user, each in a transaction of its own, then all rounds, then all
/// memories. Then vacuums the tables and counts what is left.
pub(crate) async fn erase_user(
    pool: &Pool,
    schema: &str,
    user: &UserId,
    cancel: &CancelSignal,
) -> Result<Erasure> {
    let (mut messages, mut erased) = (0, Erasure::new(0, 0, 0));
    loop {
        cancel.check(OPERATION)?;
        let mut session = pool.begin(Work::Write, Some(user)).await?;
        let result = async {
            let query = session.query(sql::CHAT_OF).bind(user.as_str().as_bytes());
            let Some(row) = session.first(query).await? else { return Ok(None) };
            let chat = ChatRef::new(user.clone(), text(&row, 0)?);
            let size: i64 = row.try_get(1)?;
            let before = blobs_and_streams(&mut session, user).await?;
            if !chats::delete(&mut session, &chat, None).await? {
                return Ok(Some((0, 0, 0, 0)));
            }
            let left = blobs_and_streams(&mut session, user).await?;
            Ok(Some((1, size, before.0.saturating_sub(left.0), before.1.saturating_sub(left.1))))
        };
        let result = result.await;
        let Some((chats, size, blobs, streams)) = session.end(result).await? else { break };
        erased.chats += chats;
        messages += size;
        erased.blobs += blobs;
        erased.streams += streams;
        cancel.report("message", count(messages)?);
    }
    loop {
        cancel.check(OPERATION)?;
        let mut session = pool.begin(Work::Write, Some(user)).await?;
        let removed = rounds::remove_some(&mut session, user).await;
        match session.end(removed).await?.rounds {
            0 => break,
            removed => erased.rounds += removed,
        }
        cancel.report("round", erased.rounds);
    }
    cancel.check(OPERATION)?;
    let mut session = pool.begin(Work::Write, Some(user)).await?;
    let forgotten = memories::forget::forget_user(&mut session, user).await;
    erased.memories = session.end(forgotten).await?;
    rewrite(pool, schema, sql::VACUUM).await?;
    let mut session = pool.begin(Work::Snapshot, Some(user)).await?;
    let remaining = remaining(&mut session, user).await;
    erased.remaining = count(session.end(remaining).await?)?;
    erased.messages = count(messages)?;
    Ok(erased)
}

/// Returns the numbers of blobs and streams of a user.
async fn blobs_and_streams(session: &mut Session<'_>, user: &UserId) -> Result<(u64, u64)> {
    Ok((blobs::count_of_user(session, user).await?, streams::count_of_user(session, user).await?))
}

/// Returns the number of rows of this user and of rows that belong to no user.
async fn remaining(session: &mut Session<'_>, user: &UserId) -> Result<i64> {
    let mut remaining = 0;
    let statements = [
        sql::blobs::REMAINING_BLOBS,
        sql::streams::REMAINING_STREAMS,
        sql::rounds::REMAINING_ROUNDS,
        sql::memories::REMAINING_MEMORIES,
    ];
    for statement in std::iter::once(sql::REMAINING).chain(statements) {
        let query = session.query(statement).bind(user.as_str().as_bytes());
        remaining += session.only(query).await?.try_get::<i64, _>(0)?;
    }
    Ok(remaining)
}

/// Rewrites the tables without unused space. Other users of a table wait meanwhile.
pub(crate) async fn vacuum(pool: &Pool, schema: &str) -> Result<Vacuumed> {
    let before = size(pool, schema).await?;
    rewrite(pool, schema, sql::VACUUM_FULL).await?;
    Ok(Vacuumed::new(before, size(pool, schema).await?))
}

async fn rewrite(pool: &Pool, schema: &str, how: &str) -> Result<()> {
    let mut session = pool.begin(Work::Maintain, None).await?;
    let done = async {
        let query = session.query(sql::TABLES).bind(quoted(schema));
        for row in session.all(query).await? {
            let table: String = row.try_get(0)?;
            // Only quoted identifiers are inserted.
            let statement = format!("{how} {}{}", session.prefix(), quoted(&table));
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(session.connection()).await?;
        }
        Ok(())
    };
    let done = done.await;
    session.end(done).await
}

pub(crate) async fn size(pool: &Pool, schema: &str) -> Result<u64> {
    let mut session = pool.begin(Work::Inspect, None).await?;
    let query = session.query(sql::SIZE).bind(quoted(schema));
    let size = session.only(query).await.and_then(|row| Ok(row.try_get::<i64, _>(0)?));
    count(session.end(size).await?)
}
