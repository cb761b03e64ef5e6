//! Forgetting memories with all their index entries and counters, and checking that they are gone.

use context_core::UserId;
use context_core::memory::{
    MemoriesForgotten, MemoryForget, MemoryRecord, MemoryScope, MemorySource,
};
use sqlx::Row;

use crate::connections::{Session, Statement};
use crate::error::Result;
use crate::memories::rows::{bind_scope, scope};
use crate::memories::write::lock;
use crate::sql::memories as sql;
use crate::values::numbers::count;
use crate::values::rows::text;

pub(crate) async fn forget(
    session: &mut Session<'_>,
    forget: &MemoryForget,
) -> Result<MemoriesForgotten> {
    let user = &forget.scope().user;
    if lock(session, user).await?.is_none() {
        return Ok(MemoriesForgotten::default());
    }
    let forgotten = match forget {
        MemoryForget::Scope(scope) => empty_scope(session, scope).await?,
        forget => forget_records(session, forget).await?,
    };
    for statement in
        [sql::REMOVE_EMPTY_SHELVES, sql::REMOVE_EMPTY_SCOPES, sql::REMOVE_EMPTY_MEMORY_USER]
    {
        let remove = session.query(statement).bind(user.as_str().as_bytes());
        session.execute(remove).await?;
    }
    Ok(forgotten)
}

/// Removes all memories of a user and returns how many records there were.
pub(crate) async fn forget_user(session: &mut Session<'_>, user: &UserId) -> Result<u64> {
    Ok(forget(session, &MemoryForget::Scope(MemoryScope::new(user.clone()))).await?.removed)
}

/// Removes everything within a scope.
async fn empty_scope(session: &mut Session<'_>, scope: &MemoryScope) -> Result<MemoriesForgotten> {
    let covered = bind_scope(session.query(sql::COVERED_SCOPES), scope);
    let rows = session.all(covered).await?;
    let scopes = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i64>, _>>()?;
    let empty = session.query(sql::EMPTY_SCOPES).bind(&scopes);
    let removed = count(session.only(empty).await?.try_get(0)?)?;
    let left = session.query(sql::LEFT_OF_SCOPES).bind(&scopes);
    Ok(MemoriesForgotten::new(removed, count(session.only(left).await?.try_get(0)?)?))
}

/// Removes some records and leaves marks of them.
async fn forget_records(
    session: &mut Session<'_>,
    forget: &MemoryForget,
) -> Result<MemoriesForgotten> {
    let query = selection(session, forget);
    let (mut places, mut scopes, mut marks) = (Vec::<i64>::new(), Vec::<i64>::new(), Vec::new());
    let user = forget.scope().user.as_str();
    for row in session.all(query).await? {
        places.push(row.try_get(0)?);
        scopes.push(row.try_get(1)?);
        let scope = scope(user, [text(&row, 3)?, text(&row, 4)?, text(&row, 5)?]);
        marks.push(MemoryRecord::mark(&scope, &text(&row, 2)?.into()).to_vec());
    }
    let remove = session.query(sql::REMOVE_MEMORIES).bind(&places);
    let removed = count(session.only(remove).await?.try_get(0)?)?;
    let add = session.query(sql::ADD_MARKS).bind(scopes).bind(marks);
    session.execute(add).await?;
    let again = selection(session, forget);
    let left = session.query(sql::LEFT_AT_PLACES).bind(&places);
    let remaining =
        session.all(again).await?.len() as u64 + count(session.only(left).await?.try_get(0)?)?;
    Ok(MemoriesForgotten::new(removed, remaining))
}

/// Returns the statement that selects the records to forget.
fn selection(session: &Session<'_>, forget: &MemoryForget) -> Statement {
    match forget {
        MemoryForget::Source { scope, source: MemorySource { session: from, message, .. } } => {
            let message = message.as_ref().map(|message| message.as_str().as_bytes());
            let query = bind_scope(session.query(sql::MEMORIES_BY_SOURCE), scope);
            query.bind(from.as_str().as_bytes()).bind(message)
        }
        forget => {
            let ids: Vec<&[u8]> = match forget {
                MemoryForget::Ids { ids, .. } => {
                    ids.iter().map(|id| id.as_str().as_bytes()).collect()
                }
                _ => Vec::new(),
            };
            bind_scope(session.query(sql::MEMORIES_BY_ID), forget.scope()).bind(ids)
        }
    }
}
