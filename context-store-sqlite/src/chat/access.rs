//! Access control: every operation begins with the number of a chat that belongs to the user.

use context_core::{ChatRef, Error};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::checksums::CHAT_NAME;
use crate::error::Result;
use crate::sql;

/// Returns the number of a chat of this user.
pub(crate) async fn chat_no(
    connection: &mut SqliteConnection,
    operation: &'static str,
    chat: &ChatRef,
) -> Result<i64> {
    let query = sqlx::query(sql::CHAT_NO).bind(chat.user.as_str()).bind(chat.chat.as_str());
    let row = query.fetch_all(connection).await?.pop();
    let row = row.ok_or_else(|| Error::not_found(operation, "chat", &chat.chat))?;
    let no: i64 = row.try_get(0)?;
    let names = [no.into(), chat.user.as_str().into(), chat.chat.as_str().into()];
    CHAT_NAME.check_values(names, &row, 1)?;
    Ok(no)
}
