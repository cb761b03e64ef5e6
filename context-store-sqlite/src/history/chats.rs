//! Chats: creating, changing, measuring and deleting them.

use context_core::store::{Chat, ChatPatch, ChatSize, Created, NewChat};
use context_core::{ChatRef, Error, Timestamp};
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Row};

use crate::chat::access::chat_no;
use crate::chat::rows::{read, seal, touch, write};
use crate::checksums::CHAT_NAME;
use crate::connections::Writer;
use crate::connections::branch_ends::BranchEnds;
use crate::error::Result;
use crate::history::branches::create_branch;
use crate::sql;
use crate::values::numbers::agreed;
use crate::values::rows::metadata_text;

pub(crate) async fn create(writer: &mut Writer, new: NewChat) -> Result<Created> {
    let mut transaction = writer.begin().await?;
    if let Some((_, chat)) = read(&mut transaction, &new.chat).await? {
        transaction.rollback().await?;
        return Ok(Created::Existing(chat));
    }
    let chat = Chat::new(new);
    let insert = sqlx::query(sql::CREATE_CHAT)
        .bind(chat.chat.user.as_str())
        .bind(chat.chat.chat.as_str())
        .bind(chat.title.as_deref())
        .bind(metadata_text(&chat.metadata)?)
        .bind(chat.active.as_str())
        .bind(chat.created_at.as_micros());
    let no = insert.execute(&mut *transaction).await?.last_insert_rowid();
    CHAT_NAME.seal(&mut transaction, &[("no", no.into())]).await?;
    seal(&mut transaction, no).await?;
    create_branch(&mut transaction, no, &chat.active, None, 0, None, chat.created_at).await?;
    transaction.commit().await?;
    Ok(Created::New(chat))
}

pub(crate) async fn update(
    writer: &mut Writer,
    chat: &ChatRef,
    patch: &ChatPatch,
    at: Timestamp,
) -> Result<Chat> {
    let mut transaction = writer.begin().await?;
    let found = read(&mut transaction, chat).await?;
    let (no, mut found) =
        found.ok_or_else(|| Error::not_found("update_chat", "chat", &chat.chat))?;
    patch.apply(&mut found)?;
    write(&mut transaction, no, &found).await?;
    touch(&mut transaction, no, at).await?;
    transaction.commit().await?;
    found.updated_at = found.updated_at.max(at);
    Ok(found)
}

/// Deletes a chat, unless it was written to after `idle_since`.
pub(crate) async fn delete(
    writer: &mut Writer,
    chat: &ChatRef,
    idle_since: Option<Timestamp>,
) -> Result<bool> {
    let mut transaction = writer.begin().await?;
    let found = read(&mut transaction, chat).await?;
    let Some((no, found)) = found else { return Ok(false) };
    if idle_since.is_some_and(|since| found.updated_at > since) {
        return Ok(false);
    }
    sqlx::query(sql::DELETE_CHAT).bind(no).execute(&mut *transaction).await?;
    transaction.commit().await?;
    writer.branch_ends = BranchEnds::default();
    Ok(true)
}

pub(crate) async fn size(connection: &mut SqliteConnection, chat: &ChatRef) -> Result<ChatSize> {
    let mut transaction = connection.begin().await?;
    let no = chat_no(&mut transaction, "chat_size", chat).await?;
    let row = sqlx::query(sql::CHAT_SIZE).bind(no).fetch_one(&mut *transaction).await?;
    transaction.commit().await?;
    let (runs, revisions): (f64, f64) = (row.try_get(1)?, row.try_get(2)?);
    Ok(ChatSize::new(agreed(row.try_get(0)?)?, (runs + revisions) as u64))
}
