//! Adds checksums to a file of an older schema, a few rows at a time, in the transaction of the
//! migration.

use context_core::trajectory::{AgentRef, TrajectoryNodeKind};
use context_store_kit::pack;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Row};

use crate::checksums::rounds::head_sum;
use crate::checksums::{ALL, Value};
use crate::error::Result;
use crate::memories::sum_of;
use crate::rounds::node_tables::TABLES;
use crate::sql::run;

/// The number of rows read at once. A run has at most 256 KiB, or one message.
const BATCH: usize = 32;

/// Repacks every run and revision, then seals every row.
pub(crate) async fn add_checksums(connection: &mut SqliteConnection) -> Result<()> {
    let packed = |bytes: &[u8]| Ok(pack::upgrade(bytes)?);
    rewrite(connection, ("run", "pos", "data"), packed).await?;
    rewrite(connection, ("revision", "no", "record"), packed).await?;
    let list = |bytes: &[u8]| Ok([bytes, &sum_of(bytes)[..]].concat());
    rewrite(connection, ("memory_words", "place", "list"), list).await?;
    seal_rounds(connection).await?;
    for table in ALL {
        let mut after: Option<Vec<Value<'static>>> = None;
        loop {
            let rows = table.next_rows(connection, after.take(), BATCH).await?;
            table.seal_rows(connection, &rows).await?;
            let Some(last) = rows.last() else { break };
            let key = (0..table.key).map(|at| Ok(Value::of(last, at)?.into_owned()));
            after = Some(key.collect::<Result<_>>()?);
        }
    }
    Ok(())
}

/// Converts every value of a column to its new form.
async fn rewrite(
    connection: &mut SqliteConnection,
    (table, key, column): (&str, &str, &str),
    form: impl Fn(&[u8]) -> Result<Vec<u8>>,
) -> Result<()> {
    let select = format!(
        "SELECT {key}, {column} FROM {table} WHERE {key} > ?1 ORDER BY {key} LIMIT {BATCH}"
    );
    let update = format!("UPDATE {table} SET {column} = ?2 WHERE {key} = ?1");
    let mut after = i64::MIN;
    loop {
        let rows = run(connection, sqlx::query(AssertSqlSafe(select.clone())).bind(after)).await?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.try_get(0)?;
        for row in &rows {
            let new = form(row.try_get(1)?)?;
            let update = sqlx::query(AssertSqlSafe(update.clone())).bind(row.try_get::<i64, _>(0)?);
            run(connection, update.bind(new)).await?;
        }
    }
}

/// Adds checksums to the rounds of a file of an older schema.
async fn seal_rounds(connection: &mut SqliteConnection) -> Result<()> {
    const NEXT: &str = "SELECT no, user, session, agent, round, head, key FROM trajectory_round
        WHERE no > ?1 ORDER BY no LIMIT 1";
    const SEAL: &str = "UPDATE trajectory_round SET sum = ?2 WHERE no = ?1";
    let mut after = i64::MIN;
    loop {
        let rows = run(connection, sqlx::query(NEXT).bind(after)).await?;
        let Some(row) = rows.first() else { return Ok(()) };
        after = row.try_get(0)?;
        let agent =
            AgentRef::new(row.try_get::<&str, _>(1)?, row.try_get::<&str, _>(2)?, row.try_get(3)?);
        let round = agent.round(row.try_get(4)?);
        let sum = head_sum(row.try_get(5)?, row.try_get(6)?);
        run(connection, sqlx::query(SEAL).bind(after).bind(sum)).await?;
        for kind in TrajectoryNodeKind::ALL {
            TABLES.of(kind).sealed.seal(connection, after, &round, None).await?;
        }
        for rows in [&TABLES.sealed_edges, &TABLES.sealed_versions, &TABLES.sealed_messages] {
            rows.seal(connection, after, &round, None).await?;
        }
    }
}
