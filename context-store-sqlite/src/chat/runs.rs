//! The runs of packed messages.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use context_core::Node;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::error::{Fault, Result};
use crate::sql;
use crate::values::place::branch_of;
use crate::values::rows::{blob, nth};

/// The error for a place that no run holds.
pub(crate) const NO_RUN: Fault = Fault::Corrupt("a message is in no run", None);

/// Returns the nodes at these places.
pub(crate) async fn nodes_at(
    connection: &mut SqliteConnection,
    places: &[i64],
) -> Result<HashMap<i64, Arc<Node>>> {
    let list: Vec<_> = places.iter().map(i64::to_string).collect();
    let json = format!("[{}]", list.join(","));
    let rows = sqlx::query(sql::RUNS_AT).bind(json).fetch_all(&mut *connection).await?;
    let mut runs = BTreeMap::new();
    for row in rows {
        runs.insert(row.try_get::<i64, _>(0)?, blob(row, 1)?);
    }
    let node_at = |&place: &i64| {
        let run = runs.range(..=place).next_back();
        let (first, data) = run.ok_or(NO_RUN)?;
        Ok((place, nth(data, place - first)?))
    };
    places.iter().map(node_at).collect()
}

/// Returns the next few runs, beginning with the run that holds a place.
pub(crate) async fn runs_from(
    connection: &mut SqliteConnection,
    from: i64,
    to: i64,
) -> Result<Vec<(i64, Bytes)>> {
    let rows = sqlx::query(sql::RUNS_FROM).bind(from).bind(to).fetch_all(connection).await?;
    let run = |row: SqliteRow| Ok((row.try_get(0)?, blob(row, 1)?));
    let runs: Vec<(i64, Bytes)> = rows.into_iter().map(run).collect::<Result<_>>()?;
    // Runs of another branch are dropped, and a run that ends before `from`, in front of a tail.
    let begun = runs.iter().rposition(|(first, _)| *first <= from).unwrap_or(0);
    let runs = runs.into_iter().skip(begun);
    Ok(runs.filter(|(first, _)| branch_of(*first) == branch_of(to)).collect())
}
