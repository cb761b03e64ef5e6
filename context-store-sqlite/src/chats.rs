//! Chats: creating, reading, changing and deleting them.

use context_core::{
    BranchName, Chat, ChatPatch, ChatRef, ChatSize, Created, Error, ErrorKind, Metadata, NewChat, Timestamp,
};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::branches::create_branch;
use crate::connections::Writer;
use crate::error::{Fault, Result};
use crate::place::count;
use crate::routes::Routes;
use crate::scope::chat_no;
use crate::sql;

/// A chat and its number.
pub(crate) async fn read(connection: &mut SqliteConnection, chat: &ChatRef) -> Result<Option<(i64, Chat)>> {
    let query = sqlx::query(sql::CHAT).bind(chat.user.as_str()).bind(chat.chat.as_str());
    let row = query.fetch_all(connection).await?.pop();
    row.map(|row| Ok((row.try_get(0)?, chat_of(&row, chat)?))).transpose()
}

pub(crate) fn chat_of(row: &SqliteRow, chat: &ChatRef) -> Result<Chat> {
    let created_at = Timestamp::from_micros(row.try_get(5)?);
    let mut found = Chat::new(NewChat {
        title: row.try_get(2)?,
        metadata: metadata_from(row.try_get(3)?)?,
        ..NewChat::new(chat.clone(), created_at)
    });
    found.active = BranchName::from(row.try_get::<&str, _>(4)?);
    found.updated_at = Timestamp::from_micros(row.try_get(6)?);
    Ok(found)
}

/// Metadata as it is kept: JSON text.
pub(crate) fn metadata_text(metadata: &Metadata) -> Result<String> {
    serde_json::to_string(metadata).map_err(|error| {
        Error::new(ErrorKind::Bug, "write", "metadata cannot be written as json").with_source(error).into()
    })
}

pub(crate) fn metadata_from(text: &str) -> Result<Metadata> {
    serde_json::from_str(text).map_err(|_| Fault::Corrupt("metadata is not json", None))
}

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
    let (no, mut found) = found.ok_or_else(|| Error::not_found("update_chat", "chat", &chat.chat))?;
    patch.apply(&mut found)?;
    write(&mut transaction, no, &found).await?;
    touch(&mut transaction, no, at).await?;
    transaction.commit().await?;
    found.updated_at = found.updated_at.max(at);
    Ok(found)
}

/// Writes title and metadata.
pub(crate) async fn write(connection: &mut SqliteConnection, no: i64, chat: &Chat) -> Result<()> {
    let update = sqlx::query(sql::UPDATE_CHAT).bind(no).bind(chat.title.as_deref());
    update.bind(metadata_text(&chat.metadata)?).execute(connection).await?;
    Ok(())
}

/// Notes a write to a chat.
pub(crate) async fn touch(connection: &mut SqliteConnection, no: i64, at: Timestamp) -> Result<()> {
    sqlx::query(sql::TOUCH_CHAT).bind(no).bind(at.as_micros()).execute(connection).await?;
    Ok(())
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
    writer.routes = Routes::default();
    Ok(true)
}

pub(crate) async fn size(connection: &mut SqliteConnection, chat: &ChatRef) -> Result<ChatSize> {
    let mut transaction = connection.begin().await?;
    let no = chat_no(&mut transaction, "chat_size", chat).await?;
    let row = sqlx::query(sql::CHAT_SIZE).bind(no).fetch_one(&mut *transaction).await?;
    transaction.commit().await?;
    let (messages, runs, revisions): (i64, f64, f64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    Ok(ChatSize::new(count(messages)?, (runs + revisions) as u64))
}
