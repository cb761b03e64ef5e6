//! Running one statement on a connection.

use std::future::poll_fn;

use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{Either, Executor, Sqlite};

use crate::error::Result;

pub(crate) type Statement<'q> = Query<'q, Sqlite, SqliteArguments>;

/// Runs one statement and returns its rows as soon as the statement has ended. The driver's own
/// methods wait for one more message from the connection's thread, although that message carries
/// nothing. That would suspend the task twice per call.
pub(crate) async fn run(
    connection: &mut SqliteConnection,
    query: Statement<'_>,
) -> Result<Vec<SqliteRow>> {
    let mut results = connection.fetch_many(query);
    let mut rows = Vec::new();
    while let Some(result) = poll_fn(|context| results.as_mut().poll_next(context)).await {
        match result? {
            Either::Right(row) => rows.push(row),
            // Sent when the statement and its implicit transaction have ended.
            Either::Left(_) => break,
        }
    }
    Ok(rows)
}
