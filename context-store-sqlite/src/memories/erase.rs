//! Erasing what is remembered of a user, and what is left of it.

use context_core::UserId;
use context_core::memory::MemoryScope;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::connections::run;
use crate::error::Result;
use crate::memories::forget::forget_marks;
use crate::memories::remove::{sweep, take_out};
use crate::memories::rows::json_answer;
use crate::place::signed;
use crate::sql::memories as sql;

/// Removes some records of a user, at most so many, and says how many; with the last of them the
/// marks of what was forgotten.
pub(crate) async fn erase_some(
    connection: &mut SqliteConnection,
    user: &UserId,
    most: i64,
) -> Result<i64> {
    let query = sqlx::query(sql::FORGOTTEN_USER).bind(user.as_str()).bind(most);
    let places: Vec<i64> = json_answer(connection, query).await?;
    let mut gone = take_out(connection, &places).await?;
    if signed(places.len()) < most {
        forget_marks(connection, &MemoryScope::new(user.clone()), &mut gone).await?;
    }
    sweep(connection, &gone).await?;
    Ok(signed(places.len()))
}

/// Rows of this user, and rows that belong to nobody.
pub(crate) async fn remaining(connection: &mut SqliteConnection, user: &UserId) -> Result<i64> {
    let row = sqlx::query(sql::REMAINING).bind(user.as_str()).fetch_one(connection).await?;
    Ok(row.try_get(0)?)
}

/// Writes the index anew without what is gone.
pub(crate) async fn tidy(connection: &mut SqliteConnection) -> Result<()> {
    run(connection, sqlx::query(sql::TIDY_INDEX)).await?;
    Ok(())
}
