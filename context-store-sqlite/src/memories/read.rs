//! Records by id, records in the order of writing, neighbouring records, and counts of records.

use std::cmp::Reverse;

use context_core::UserId;
use context_core::base::MemoryId;
use context_core::memory::{MemoryScope, StoredMemory};
use context_core::store::{Cursor, KeyOrder, MemoryList, MemoryStats, Page};
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Row};

use crate::checksums::{KIND, SCOPE, Value};
use crate::counts::{self, ListPart, UserCount};
use crate::error::{Fault, Result, bad_cursor};
use crate::memories::rows::{
    NOT_REQUESTED, index_of, json_answer, json_texts, stored_at, stored_of,
};
use crate::memories::scopes::{MISSING, Scopes, stored_session};
use crate::sql::memories as sql;
use crate::sql::{Statement, run};
use crate::values::numbers::{count, signed};
use crate::values::rows::json_numbers;

const ELSEWHERE: Fault =
    Fault::Corrupt("a memory is stored under another scope, kind or id than its own", None);

/// The maximum number of records of a scope that are read to check that the index of keys is
/// complete.
const KEYED: u64 = 256;

/// The maximum number of records of a session that are counted one by one.
const COUNTED: i64 = 512;

/// Runs a query that compares counts. Returns an error unless each row says that they agree, or
/// that there are too many records to count.
async fn agrees(connection: &mut SqliteConnection, query: Statement<'_>) -> Result<()> {
    for row in run(connection, query).await? {
        if row.try_get::<Option<bool>, _>(0)? != Some(true) {
            return Err(Fault::Corrupt(MISSING, None));
        }
    }
    Ok(())
}

/// Returns records by their ids, in the order of the ids.
pub(crate) async fn by_id(
    connection: &mut SqliteConnection,
    scope: &MemoryScope,
    ids: &[MemoryId],
) -> Result<Vec<StoredMemory>> {
    let mut transaction = connection.begin().await?;
    let scopes = Scopes::read_all(&mut transaction, [scope]).await?;
    let stored = named(&mut transaction, &scopes, scope, ids).await?;
    transaction.commit().await?;
    Ok(stored)
}

/// Returns records of scopes that were already read. A record that is not found must be missing
/// from the index too.
async fn named(
    connection: &mut SqliteConnection,
    scopes: &Scopes<'_>,
    scope: &MemoryScope,
    ids: &[MemoryId],
) -> Result<Vec<StoredMemory>> {
    let Some(no) = scopes.no(scope) else { return Ok(Vec::new()) };
    let query =
        sqlx::query(sql::MEMORIES).bind(no).bind(json_texts(ids.iter().map(MemoryId::as_str)));
    let stored = run(connection, query).await?.iter().map(stored_of).collect::<Result<Vec<_>>>()?;
    if stored.len() < ids.len() {
        scopes.compare(connection, scope).await?;
        for id in ids.iter().filter(|id| stored.iter().all(|stored| stored.record.id != **id)) {
            let beside = sqlx::query(sql::MEMORIES_BESIDE).bind(no).bind(id.as_str());
            counts::check_neighbours(connection, beside).await?;
        }
    }
    let asked =
        |stored: &StoredMemory| stored.record.scope == *scope && ids.contains(&stored.record.id);
    if stored.iter().all(asked) { Ok(stored) } else { Err(ELSEWHERE) }
}

/// Returns one page of records. The places of the page are computed first, then its records are
/// read.
pub(crate) async fn list(
    connection: &mut SqliteConnection,
    list: &MemoryList,
) -> Result<Page<StoredMemory>> {
    let bad = || bad_cursor("list_memories");
    let before = list.after.as_ref().map(|after| after.as_str().parse::<u64>().map_err(|_| bad()));
    // The first page begins above every place.
    let before =
        before.transpose()?.map_or(i64::MAX, |place| i64::try_from(place).unwrap_or(i64::MAX));
    let mut transaction = connection.begin().await?;
    let scopes = Scopes::read_all(&mut transaction, &list.scopes).await?;
    let takes =
        |kind: &str| list.kinds.is_empty() || list.kinds.iter().any(|wanted| wanted == kind);
    let (mut session, mut message) = (None, None);
    if let (Some(source), Some(scope)) = (&list.source, list.scopes.first()) {
        session = stored_session(&mut transaction, &scope.user, source.session.as_str()).await?;
        if session.is_none() {
            agrees(&mut transaction, sqlx::query(sql::SESSIONS_AGREE)).await?;
            return Ok(Page { items: Vec::new(), next: None });
        }
        message = source.message.as_ref().map(|message| message.as_str());
    }
    let statement = match (&list.key, session, message) {
        (Some(_), ..) => sql::PLACES_OF_KEY,
        (None, Some(_), Some(_)) => sql::PLACES_OF_MESSAGE,
        (None, Some(_), None) => sql::PLACES_OF_SESSION,
        (None, None, _) => sql::PLACES,
    };
    let mut places: Vec<i64> = Vec::new();
    for filed in scopes.0.values() {
        for (_, kind) in filed.kinds.iter().filter(|(kind, _)| takes(kind)) {
            let mut query =
                sqlx::query(statement).bind(kind.no).bind(before).bind(signed(list.limit + 1));
            if statement != sql::PLACES {
                query = query.bind(session.map(|session| session.no)).bind(message);
            }
            if let Some(key) = &list.key {
                query = query.bind(filed.no).bind(key);
            }
            let of_kind: Vec<i64> = json_answer(&mut transaction, query).await?;
            if statement == sql::PLACES {
                let seen =
                    ListPart::page(list.after.is_none(), of_kind.len() > list.limit, of_kind.len());
                let count = sqlx::query(sql::COUNT_OF_KIND).bind(kind.no);
                counts::compare(&mut transaction, kind.records, seen, MISSING, count).await?;
            }
            places.extend(of_kind);
        }
        if let Some(key) = &list.key
            && filed.records <= KEYED
        {
            let count = |statement| sqlx::query(statement).bind(filed.no).bind(key);
            let row = run(&mut transaction, count(sql::COUNT_OF_KEY)).await?;
            let expected = row.first().map(|row| row.try_get(0)).transpose()?.unwrap_or(0);
            let count = count(sql::COUNT_FILED_BY_KEY);
            counts::compare(&mut transaction, expected, ListPart::Middle, MISSING, count).await?;
        }
    }
    if let Some(session) = session {
        let seen = if places.len() > list.limit { ListPart::Middle } else { ListPart::End };
        let count = sqlx::query(sql::COUNT_OF_SESSION).bind(session.no);
        counts::compare(&mut transaction, session.records, seen, MISSING, count).await?;
    }
    places.sort_unstable_by_key(|place| std::cmp::Reverse(*place));
    let mut order = KeyOrder::after("list_memories", "memory", Some(Reverse(before)));
    places.iter().try_for_each(|place| order.next(Reverse(*place)))?;
    let more = places.len() > list.limit;
    places.truncate(list.limit);
    let mut items = stored_at(&mut transaction, places.into_iter()).await?;
    transaction.commit().await?;
    let asked = |stored: &StoredMemory| {
        let record = &stored.record;
        scopes.0.contains_key(&record.scope)
            && takes(&record.kind)
            && list.key.as_ref().is_none_or(|key| record.key.as_ref() == Some(key))
    };
    if !items.iter().all(asked) {
        return Err(ELSEWHERE);
    }
    items.sort_unstable_by_key(|stored| std::cmp::Reverse(stored.place));
    let next = items.last().filter(|_| more).map(|last| Cursor::new(last.place.to_string()));
    Ok(Page { items, next })
}

/// Returns the neighbours of each of these records.
pub(crate) async fn neighbours(
    connection: &mut SqliteConnection,
    scope: &MemoryScope,
    ids: &[MemoryId],
    each_side: usize,
) -> Result<Vec<Vec<StoredMemory>>> {
    let mut beside = vec![Vec::new(); ids.len()];
    let mut transaction = connection.begin().await?;
    let scopes = Scopes::read_all(&mut transaction, [scope]).await?;
    let Some((no, filed)) = scopes.no(scope).zip(scopes.0.get(scope)) else { return Ok(beside) };
    // Neighbours are found through the record's row, so the row must agree with the record.
    let (mut under, mut statement) = (Vec::new(), sql::BESIDE_OF_FEW);
    for stored in named(&mut transaction, &scopes, scope, ids).await? {
        let kind = filed.kinds.get(&stored.record.kind).ok_or(ELSEWHERE)?.no;
        let session = match &stored.record.source {
            Some(source) => {
                let session =
                    stored_session(&mut transaction, &scope.user, source.session.as_str());
                let session = session.await?.ok_or(ELSEWHERE)?;
                if session.records > COUNTED {
                    statement = sql::BESIDE;
                }
                Some(session.no)
            }
            None => None,
        };
        under.push((i64::try_from(stored.place).unwrap_or(i64::MAX), session, kind));
    }
    let asked = json_texts(ids.iter().map(MemoryId::as_str));
    let query = sqlx::query(sql::FILED_UNDER).bind(no).bind(&asked);
    let mut filed: Vec<(i64, Option<i64>, i64)> = json_answer(&mut transaction, query).await?;
    under.sort_unstable();
    filed.sort_unstable();
    if filed != under {
        return Err(ELSEWHERE);
    }
    let sessions = json_numbers(under.iter().filter_map(|(_, session, _)| *session));
    agrees(&mut transaction, sqlx::query(sql::SESSIONS_COUNTED).bind(sessions)).await?;
    let query = sqlx::query(statement).bind(no).bind(asked);
    for row in run(&mut transaction, query.bind(signed(each_side))).await? {
        let of = beside.get_mut(index_of(&row, 4)?);
        of.ok_or(NOT_REQUESTED)?.push(stored_of(&row)?);
    }
    transaction.commit().await?;
    for records in &mut beside {
        records.sort_unstable_by_key(|stored: &StoredMemory| stored.place);
    }
    Ok(beside)
}

/// Returns the numbers of records under each scope of a user. Counters are read, not records.
pub(crate) async fn stats(
    connection: &mut SqliteConnection,
    user: &UserId,
    limit: usize,
    after: Option<&Cursor>,
) -> Result<Page<MemoryStats>> {
    let mut transaction = connection.begin().await?;
    let query = sqlx::query(sql::STATS).bind(user.as_str()).bind(after.map_or("", Cursor::as_str));
    let rows = run(&mut transaction, query.bind(signed(limit + 1))).await?;
    // Scopes without any record left are not listed, but they are counted.
    UserCount::Scopes.compare(&mut transaction, user, ListPart::End).await?;
    transaction.commit().await?;
    let mut items: Vec<MemoryStats> = Vec::new();
    let mut order =
        KeyOrder::after("memory_stats", "scope", Some(after.map_or("", Cursor::as_str).to_owned()));
    for row in rows {
        let scope = [8, 9, 0, 1, 2, 3].map(|column| Value::of(&row, column));
        SCOPE.check_values(scope.into_iter().collect::<Result<Vec<_>>>()?, &row, 10)?;
        let kind = [11, 8, 4].map(|column| Value::of(&row, column));
        KIND.check_values(kind.into_iter().collect::<Result<Vec<_>>>()?, &row, 12)?;
        if row.try_get::<Option<bool>, _>(13)? != Some(true) {
            return Err(Fault::Corrupt("the counts of the memories of a scope are wrong", None));
        }
        let mut scope = MemoryScope::new(user.clone());
        (scope.project, scope.agent) = (row.try_get(1)?, row.try_get(2)?);
        scope.session = row.try_get::<Option<&str>, _>(3)?.map(Into::into);
        if items.last().is_none_or(|last| last.scope != scope) {
            order.next(scope.key())?;
            items.push(MemoryStats::new(scope));
        }
        if let Some(stats) = items.last_mut() {
            stats.kinds.insert(row.try_get(4)?, count(row.try_get(5)?)?);
            stats.bytes += count(row.try_get(6)?)?;
            stats.vectors += count(row.try_get(7)?)?;
        }
    }
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(|last| Cursor::new(last.scope.key()));
    Ok(Page { items, next })
}
