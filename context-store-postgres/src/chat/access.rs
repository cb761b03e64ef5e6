//! Access control: every operation begins with the number of a chat that belongs to the user.

use context_core::{ChatRef, Error};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::connections::{Session, Statement};
use crate::error::Result;
use crate::sql;

/// Returns the number of a chat of this user.
pub(crate) async fn chat_no(
    session: &mut Session<'_>,
    operation: &'static str,
    chat: &ChatRef,
) -> Result<i64> {
    numbered(session, operation, chat, sql::CHAT_NO).await
}

/// Returns the number of a chat and locks the chat until the transaction ends.
pub(crate) async fn lock_chat(
    session: &mut Session<'_>,
    operation: &'static str,
    chat: &ChatRef,
) -> Result<i64> {
    numbered(session, operation, chat, sql::LOCK_CHAT).await
}

/// Returns the rows of a statement about a chat of this user. Such a statement returns at least one
/// row if the chat exists.
pub(crate) async fn rows_of_chat(
    session: &mut Session<'_>,
    operation: &'static str,
    chat: &ChatRef,
    query: Statement,
) -> Result<Vec<PgRow>> {
    let rows = session.all(query).await?;
    if rows.is_empty() {
        return Err(Error::not_found(operation, "chat", &chat.chat).into());
    }
    Ok(rows)
}

/// Returns a statement whose first parameters are a user and one of their chats.
pub(crate) fn of_chat(session: &Session<'_>, statement: &'static str, chat: &ChatRef) -> Statement {
    let query = session.query(statement).bind(chat.user.as_str().as_bytes());
    query.bind(chat.chat.as_str().as_bytes())
}

async fn numbered(
    session: &mut Session<'_>,
    operation: &'static str,
    chat: &ChatRef,
    statement: &'static str,
) -> Result<i64> {
    let query = of_chat(session, statement, chat);
    let row = session.first(query).await?;
    let row = row.ok_or_else(|| Error::not_found(operation, "chat", &chat.chat))?;
    Ok(row.try_get(0)?)
}
