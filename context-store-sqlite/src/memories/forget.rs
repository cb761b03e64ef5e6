//! Forgetting records, and checking that they are gone.

use std::collections::{BTreeSet, HashMap};

use context_core::base::MemoryId;
use context_core::memory::{MemoriesForgotten, MemoryForget, MemoryRecord, MemoryScope};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::connections::{Connections, Writer};
use crate::error::Result;
use crate::memories::remove::{Removal, remove_records, sweep};
use crate::memories::rows::{json_answer, json_filed, json_texts};
use crate::memories::scopes::Scopes;
use crate::sql::memories as sql;
use crate::sql::{SHRED, SHRED_NO_MORE, run};
use crate::values::numbers::count;
use crate::values::rows::json_numbers;

/// The number of places that are checked at once.
const BATCH: usize = 10_000;

/// Forgets records in one transaction, clears the freed space, and checks the result.
pub(crate) async fn forget(
    connections: &Connections,
    forget: &MemoryForget,
) -> Result<MemoriesForgotten> {
    let mut writer = connections.writer().await?;
    run(&mut writer.connection, sqlx::query(SHRED)).await?;
    let removed = remove(&mut writer, forget).await;
    run(&mut writer.connection, sqlx::query(SHRED_NO_MORE)).await?;
    let removed = removed?;
    if !removed.is_empty() {
        // Best effort: the records are forgotten, even if the log cannot be emptied now.
        let _ = connections.clear_log(false).await;
    }
    let mut remaining = places(&mut writer.connection, forget).await?.len() as u64;
    for places in removed.chunks(BATCH) {
        let query = sqlx::query(sql::REMAINING_AT).bind(json_numbers(places.iter()));
        for row in run(&mut writer.connection, query).await? {
            remaining += count(row.try_get(0)?)?;
        }
    }
    Ok(MemoriesForgotten::new(removed.len() as u64, remaining))
}

/// Removes the selected records and returns their places.
async fn remove(writer: &mut Writer, forget: &MemoryForget) -> Result<Vec<i64>> {
    let mut transaction = writer.begin().await?;
    let places = places(&mut transaction, forget).await?;
    let mut removal = remove_records(&mut transaction, &places).await?;
    if forget.leaves_marks() {
        mark(&mut transaction, forget.scope(), &removal.ids).await?;
    } else {
        forget_marks(&mut transaction, forget.scope(), &mut removal).await?;
    }
    sweep(&mut transaction, &removal).await?;
    transaction.commit().await?;
    Ok(places)
}

/// Returns the places of the selected records.
async fn places(connection: &mut SqliteConnection, forget: &MemoryForget) -> Result<Vec<i64>> {
    let query = match forget {
        MemoryForget::Ids { scope, ids } => {
            let Some(no) = Scopes::read(connection, [scope]).await?.no(scope) else {
                return Ok(Vec::new());
            };
            let ids = json_texts(ids.iter().map(MemoryId::as_str));
            sqlx::query(sql::FORGOTTEN_IDS).bind(no).bind(ids)
        }
        MemoryForget::Source { scope, source } => {
            let message = source.message.as_ref().map(|message| message.as_str());
            let statement =
                if message.is_some() { sql::FORGOTTEN_MESSAGE } else { sql::FORGOTTEN_SESSION };
            covering(sqlx::query(statement), scope).bind(source.session.as_str()).bind(message)
        }
        MemoryForget::Scope(scope) => covering(sqlx::query(sql::FORGOTTEN_SCOPE), scope),
        _ => return Ok(Vec::new()),
    };
    let mut places: Vec<i64> = json_answer(connection, query).await?;
    // An id that is listed twice counts once.
    places.sort_unstable();
    places.dedup();
    Ok(places)
}

/// Removes the marks of forgotten records within a scope. The scopes that have no marks left may be
/// removed.
pub(super) async fn forget_marks(
    connection: &mut SqliteConnection,
    within: &MemoryScope,
    removal: &mut Removal,
) -> Result<()> {
    let query = covering(sqlx::query(sql::COVERED_SCOPES), within);
    let scopes: Vec<i64> = json_answer(connection, query).await?;
    run(connection, sqlx::query(sql::FORGET_ALL_MARKS).bind(json_numbers(scopes.iter()))).await?;
    removal.scopes.extend(scopes);
    Ok(())
}

type Statement<'q> = sqlx::query::Query<'q, sqlx::Sqlite, sqlx::sqlite::SqliteArguments>;

fn covering<'q>(query: Statement<'q>, scope: &'q MemoryScope) -> Statement<'q> {
    query
        .bind(scope.user.as_str())
        .bind(scope.project.as_deref())
        .bind(scope.agent.as_deref())
        .bind(scope.session.as_ref().map(|session| session.as_str()))
}

/// Adds a mark for each of these records.
async fn mark(
    connection: &mut SqliteConnection,
    within: &MemoryScope,
    ids: &[(i64, MemoryId)],
) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let numbers: BTreeSet<i64> = ids.iter().map(|(scope, _)| *scope).collect();
    let list = json_numbers(numbers.iter());
    let mut scopes = HashMap::new();
    for row in run(connection, sqlx::query(sql::SCOPES_AT).bind(list)).await? {
        let mut scope = MemoryScope::new(within.user.clone());
        (scope.project, scope.agent) = (row.try_get(1)?, row.try_get(2)?);
        scope.session = row.try_get::<Option<&str>, _>(3)?.map(Into::into);
        scopes.insert(row.try_get::<i64, _>(0)?, scope);
    }
    let marks =
        ids.iter().filter_map(|(no, id)| Some((*no, MemoryRecord::mark(scopes.get(no)?, id))));
    let marks: Vec<(i64, [u8; 16])> = marks.collect();
    let pairs = json_filed(marks.iter().map(|(scope, mark)| (*scope, mark.as_slice())));
    run(connection, sqlx::query(sql::ADD_MARKS).bind(pairs)).await?;
    Ok(())
}
