//! Who may see what: every operation begins with the number of a chat that is the user's.

use context_core::{ChatRef, Error};
use sqlx::Row;

use crate::error::Result;
use crate::pool::Session;
use crate::sql;

/// The number of a chat of this user.
pub(crate) async fn chat_no(
    session: &mut Session<'_>,
    operation: &'static str,
    chat: &ChatRef,
) -> Result<i64> {
    numbered(session, operation, chat, sql::CHAT_NO).await
}

/// The same, and nobody else writes to the chat until the transaction ends.
pub(crate) async fn lock_chat(
    session: &mut Session<'_>,
    operation: &'static str,
    chat: &ChatRef,
) -> Result<i64> {
    numbered(session, operation, chat, sql::LOCK_CHAT).await
}

async fn numbered(
    session: &mut Session<'_>,
    operation: &'static str,
    chat: &ChatRef,
    statement: &'static str,
) -> Result<i64> {
    let query =
        session.query(statement).bind(chat.user.as_str().as_bytes()).bind(chat.chat.as_str().as_bytes());
    let row = session.first(query).await?;
    let row = row.ok_or_else(|| Error::not_found(operation, "chat", &chat.chat))?;
    Ok(row.try_get(0)?)
}
