//! Reading memories: by id, by place, neighbours, and counts.

use std::collections::HashMap;

use context_core::UserId;
use context_core::base::MemoryId;
use context_core::memory::{MemoryScope, StoredMemory};
use context_core::store::{Cursor, MemoryList, MemoryStats, Page};
use sqlx::Row;

use crate::connections::Session;
use crate::error::{Fault, Result, bad_cursor};
use crate::memories::rows::{bind_scope, bind_scopes, scope, stored, unique};
use crate::sql::memories as sql;
use crate::values::numbers::{count, signed};
use crate::values::rows::text;

fn bytes_of(ids: &[MemoryId]) -> Vec<&[u8]> {
    ids.iter().map(|id| id.as_str().as_bytes()).collect()
}

pub(crate) async fn by_id(
    session: &mut Session<'_>,
    scope: &MemoryScope,
    ids: &[MemoryId],
) -> Result<Vec<StoredMemory>> {
    let query = bind_scope(session.query(sql::MEMORIES), scope).bind(bytes_of(ids));
    let rows = session.all(query).await?;
    rows.iter().map(|row| stored(row, [0, 1, 2])).collect()
}

pub(crate) async fn list(
    session: &mut Session<'_>,
    list: &MemoryList,
) -> Result<Page<StoredMemory>> {
    let bad = || bad_cursor("list_memories");
    let after = list.after.as_ref().map(|after| after.as_str().parse::<i64>().map_err(|_| bad()));
    let after = after.transpose()?.unwrap_or(i64::MAX);
    let source = list.source.as_ref().map(|source| source.session.as_str().as_bytes());
    let message = list.source.as_ref().and_then(|source| source.message.as_ref());
    let message = message.map(|message| message.as_str().as_bytes());
    let kinds: Vec<&[u8]> = list.kinds.iter().map(|kind| kind.as_bytes()).collect();
    let statement = match (&list.key, source, message) {
        (Some(_), ..) => sql::LIST_MEMORIES_OF_KEY,
        (None, Some(_), Some(_)) => sql::LIST_MEMORIES_OF_MESSAGE,
        (None, Some(_), None) => sql::LIST_MEMORIES_OF_SESSION,
        (None, None, _) => sql::LIST_MEMORIES,
    };
    let query = bind_scopes(session.query(statement), &unique(&list.scopes));
    let query =
        query.bind((!kinds.is_empty()).then_some(kinds)).bind(after).bind(signed(list.limit + 1));
    let query = match (&list.key, source, message) {
        (Some(key), ..) => query.bind(key.as_bytes()).bind(source).bind(message),
        (None, Some(source), Some(message)) => query.bind(source).bind(message),
        (None, Some(source), None) => query.bind(source),
        (None, None, _) => query,
    };
    let rows = session.all(query).await?;
    let items = rows.iter().take(list.limit).map(|row| stored(row, [0, 1, 2]));
    let items = items.collect::<Result<Vec<_>>>()?;
    let next = items.last().filter(|_| rows.len() > list.limit);
    let next = next.map(|last| Cursor::new(last.place.to_string()));
    Ok(Page { items, next })
}

pub(crate) async fn neighbours(
    session: &mut Session<'_>,
    scope: &MemoryScope,
    ids: &[MemoryId],
    each_side: usize,
) -> Result<Vec<Vec<StoredMemory>>> {
    let mut neighbours = vec![Vec::new(); ids.len()];
    let query = bind_scope(session.query(sql::MEMORIES_BESIDE), scope).bind(bytes_of(ids));
    for row in session.all(query.bind(signed(each_side))).await? {
        let at = usize::try_from(row.try_get::<i64, _>(0)? - 1)
            .ok()
            .and_then(|at| neighbours.get_mut(at));
        let neighbours =
            at.ok_or(Fault::Corrupt("a row belongs to no memory of the call", None))?;
        neighbours.push(stored(&row, [1, 2, 3])?);
    }
    Ok(neighbours)
}

pub(crate) async fn stats(
    session: &mut Session<'_>,
    user: &UserId,
    limit: usize,
    after: Option<&Cursor>,
) -> Result<Page<MemoryStats>> {
    let after = after.map_or("", Cursor::as_str).as_bytes();
    let query = session.query(sql::MEMORY_STATS).bind(user.as_str().as_bytes()).bind(after);
    let mut items: Vec<MemoryStats> = Vec::new();
    let mut places: HashMap<MemoryScope, usize> = HashMap::new();
    for row in session.all(query.bind(signed(limit + 1))).await? {
        let scope = scope(user.as_str(), [text(&row, 0)?, text(&row, 1)?, text(&row, 2)?]);
        let at = *places.entry(scope.clone()).or_insert(items.len());
        if at == items.len() {
            items.push(MemoryStats::new(scope));
        }
        let stats = &mut items[at];
        stats.kinds.insert(text(&row, 3)?.to_owned(), count(row.try_get(4)?)?);
        stats.vectors += count(row.try_get(5)?)?;
        stats.bytes += count(row.try_get(6)?)?;
    }
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(|last| Cursor::new(last.scope.key()));
    Ok(Page { items, next })
}
