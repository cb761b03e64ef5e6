//! Erasing a user, and giving back space.

use context_core::{CancelSignal, ChatRef, Erasure, UserId, Vacuumed};
use sqlx::{AssertSqlSafe, Row};

use crate::error::Result;
use crate::place::count;
use crate::pool::{Pool, Work, quoted};
use crate::rows::text;
use crate::{chats, sql};

const OPERATION: &str = "erase_user";

/// Erases all chats of a user, each in a transaction of its own, then has the tables written anew without them, then
/// looks what is left.
pub(crate) async fn erase_user(
    pool: &Pool,
    schema: &str,
    user: &UserId,
    cancel: &CancelSignal,
) -> Result<Erasure> {
    let (mut erased_chats, mut messages) = (0, 0);
    loop {
        cancel.check(OPERATION)?;
        let mut session = pool.begin(Work::Write, Some(user)).await?;
        let result = async {
            let query = session.query(sql::CHAT_OF).bind(user.as_str().as_bytes());
            let Some(row) = session.first(query).await? else { return Ok(None) };
            let chat = ChatRef::new(user.clone(), text(&row, 0)?);
            let size: i64 = row.try_get(1)?;
            Ok(Some(if chats::delete(&mut session, &chat, None).await? { (1, size) } else { (0, 0) }))
        };
        let result = result.await;
        match session.end(result).await? {
            None => break,
            Some((chats, size)) => {
                erased_chats += chats;
                messages += size;
            }
        }
    }
    rewrite(pool, schema, sql::VACUUM).await?;
    let mut session = pool.begin(Work::Snapshot, Some(user)).await?;
    let query = session.query(sql::REMAINING).bind(user.as_str().as_bytes());
    let remaining = session.only(query).await.and_then(|row| Ok(row.try_get::<i64, _>(0)?));
    let remaining = session.end(remaining).await?;
    Ok(Erasure::new(erased_chats, count(messages)?, count(remaining)?))
}

/// Writes the tables anew, without what is not used. Whoever uses a table meanwhile waits.
pub(crate) async fn vacuum(pool: &Pool, schema: &str) -> Result<Vacuumed> {
    let before = size(pool, schema).await?;
    rewrite(pool, schema, sql::VACUUM_FULL).await?;
    Ok(Vacuumed::new(before, size(pool, schema).await?))
}

async fn rewrite(pool: &Pool, schema: &str, how: &str) -> Result<()> {
    let mut session = pool.begin(Work::Upkeep, None).await?;
    let done = async {
        let query = session.query(sql::TABLES).bind(quoted(schema));
        for row in session.all(query).await? {
            let table: String = row.try_get(0)?;
            // Identifiers in quotes are all that is put into it.
            let statement = format!("{how} {}{}", session.prefix(), quoted(&table));
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(session.connection()).await?;
        }
        Ok(())
    };
    let done = done.await;
    session.end(done).await
}

async fn size(pool: &Pool, schema: &str) -> Result<u64> {
    let mut session = pool.begin(Work::Upkeep, None).await?;
    let query = session.query(sql::SIZE).bind(quoted(schema));
    let size = session.only(query).await.and_then(|row| Ok(row.try_get::<i64, _>(0)?));
    count(session.end(size).await?)
}
