//! Running one statement on a connection.

use std::future::poll_fn;

use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{Either, Executor, Sqlite};

use crate::error::Result;

pub(crate) type Statement<'q> = Query<'q, Sqlite, SqliteArguments>;

/// Runs one statement and returns its rows as soon as the statement has ended.
pub(crate) async fn run(
    connection: &mut SqliteConnection,
    query: Statement<'_>,
) -> Result<Vec<SqliteRow>> {
    let mut rows = Vec::new();
    run_each(connection, query, |row| {
        rows.push(row);
        Ok(())
    })
    .await?;
    Ok(rows)
}

/// Runs one statement and hands each row to `read` while the connection's thread makes the next
/// ones. Returns as soon as the statement has ended. The driver's own methods wait for one more
/// message from the connection's thread, although that message carries nothing. That would suspend
/// the task twice per call.
pub(crate) async fn run_each(
    connection: &mut SqliteConnection,
    query: Statement<'_>,
    mut read: impl FnMut(SqliteRow) -> Result<()>,
) -> Result<()> {
    let mut results = connection.fetch_many(query);
    while let Some(result) = poll_fn(|context| results.as_mut().poll_next(context)).await {
        match result? {
            Either::Right(row) => read(row)?,
            // Sent when the statement and its implicit transaction have ended.
            Either::Left(_) => break,
        }
    }
    Ok(())
}
