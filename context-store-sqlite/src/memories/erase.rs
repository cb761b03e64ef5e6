//! Erasing the memories of a user, and counting what is left of them.

use context_core::UserId;
use context_core::memory::MemoryScope;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::error::Result;
use crate::memories::forget::forget_marks;
use crate::memories::remove::{remove_records, sweep};
use crate::memories::rows::json_answer;
use crate::sql::memories as sql;
use crate::sql::run;
use crate::values::numbers::signed;

/// Removes at most this many records of a user and returns how many were removed. The marks of
/// forgotten records are removed together with the last record.
pub(crate) async fn erase_some(
    connection: &mut SqliteConnection,
    user: &UserId,
    most: i64,
) -> Result<i64> {
    let query = sqlx::query(sql::FORGOTTEN_USER).bind(user.as_str()).bind(most);
    let places: Vec<i64> = json_answer(connection, query).await?;
    let mut removal = remove_records(connection, &places).await?;
    if signed(places.len()) < most {
        forget_marks(connection, &MemoryScope::new(user.clone()), &mut removal).await?;
    }
    sweep(connection, &removal).await?;
    Ok(signed(places.len()))
}

/// Returns the number of rows of this user and of rows that belong to no user.
pub(crate) async fn remaining(connection: &mut SqliteConnection, user: &UserId) -> Result<i64> {
    let row = sqlx::query(sql::REMAINING).bind(user.as_str()).fetch_one(connection).await?;
    Ok(row.try_get(0)?)
}

/// Rebuilds the index without deleted entries.
pub(crate) async fn tidy(connection: &mut SqliteConnection) -> Result<()> {
    run(connection, sqlx::query(sql::TIDY_INDEX)).await?;
    Ok(())
}
