//! Adds checksums to a file of an older schema, a few rows at a time, in the transaction of the
//! migration.

use context_store_kit::pack;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Row};

use crate::connections::run;
use crate::error::Result;
use crate::memories::sum_of;
use crate::rounds;
use crate::sums::{ALL, Table, Value};

/// The number of rows read at once. A run has at most 256 KiB, or one message.
const BATCH: usize = 32;

/// Repacks every run and revision, then seals every row.
pub(crate) async fn add_checksums(connection: &mut SqliteConnection) -> Result<()> {
    let packed = |bytes: &[u8]| Ok(pack::upgrade(bytes)?);
    rewrite(connection, ("run", "pos", "data"), packed).await?;
    rewrite(connection, ("revision", "no", "record"), packed).await?;
    let list = |bytes: &[u8]| Ok([bytes, &sum_of(bytes)[..]].concat());
    rewrite(connection, ("memory_words", "place", "list"), list).await?;
    rounds::sums::add_checksums(connection).await?;
    for table in ALL {
        let mut after: Option<Vec<Value<'static>>> = None;
        loop {
            let rows = next_rows(connection, table, after.take(), BATCH).await?;
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

/// Returns the next rows of a table in the order of its key: their columns, and the checksum after
/// them.
pub(crate) async fn next_rows(
    connection: &mut SqliteConnection,
    table: &Table,
    after: Option<Vec<Value<'_>>>,
    limit: usize,
) -> Result<Vec<SqliteRow>> {
    let keys: Vec<String> =
        table.columns[..table.key].iter().map(|key| format!("\"{key}\"")).collect();
    let keys = keys.join(", ");
    let behind = after.as_ref().map_or(String::new(), |after| {
        let values: Vec<String> = (1..=after.len()).map(|at| format!("?{at}")).collect();
        format!("WHERE ({keys}) > ({})", values.join(", "))
    });
    let (list, name, sum) = (table.list(), table.name, table.sum);
    let text = format!("SELECT {list}, {sum} FROM {name} {behind} ORDER BY {keys} LIMIT {limit}");
    let query = sqlx::query(AssertSqlSafe(text));
    run(connection, after.into_iter().flatten().fold(query, |query, value| value.bind(query))).await
}
