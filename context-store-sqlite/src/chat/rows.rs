//! Reading and writing the rows of chats.

use context_core::store::{Chat, NewChat};
use context_core::{BranchName, ChatRef, Timestamp};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::checksums::{CHAT, CHAT_NAME, Value};
use crate::counts::{self, ListPart, UserCount};
use crate::error::{Fault, Result};
use crate::sql;
use crate::values::rows::{metadata_from, metadata_text};

/// Returns a chat and its number.
pub(crate) async fn read(
    connection: &mut SqliteConnection,
    chat: &ChatRef,
) -> Result<Option<(i64, Chat)>> {
    let query = sqlx::query(sql::CHAT).bind(chat.user.as_str()).bind(chat.chat.as_str());
    let row = query.fetch_all(connection).await?.pop();
    row.map(|row| Ok((row.try_get(0)?, chat_of(&row, chat)?))).transpose()
}

/// Returns a chat. If the chat is not found, checks that it really does not exist.
pub(crate) async fn show(
    connection: &mut SqliteConnection,
    chat: &ChatRef,
) -> Result<Option<Chat>> {
    if let Some((_, chat)) = read(connection, chat).await? {
        return Ok(Some(chat));
    }
    let mut transaction = connection.begin().await?;
    let found = read(&mut transaction, chat).await?;
    if found.is_none() {
        UserCount::Chats.compare(&mut transaction, &chat.user, ListPart::Middle).await?;
        let beside =
            sqlx::query(sql::CHATS_BESIDE).bind(chat.user.as_str()).bind(chat.chat.as_str());
        counts::check_neighbours(&mut transaction, beside).await?;
    }
    transaction.commit().await?;
    Ok(found.map(|(_, chat)| chat))
}

pub(crate) fn chat_of(row: &SqliteRow, chat: &ChatRef) -> Result<Chat> {
    let no: i64 = row.try_get(0)?;
    CHAT_NAME.check_values(
        [no.into(), chat.user.as_str().into(), chat.chat.as_str().into()],
        row,
        9,
    )?;
    let content = (2..6).map(|column| Value::of(row, column)).collect::<Result<Vec<_>>>()?;
    CHAT.check_values(std::iter::once(no.into()).chain(content), row, 10)?;
    let created_at = Timestamp::from_micros(row.try_get(5)?);
    let mut found = Chat::new(NewChat {
        title: row.try_get(2)?,
        metadata: metadata_from(row.try_get(3)?)?,
        ..NewChat::new(chat.clone(), created_at)
    });
    found.active = BranchName::from(row.try_get::<&str, _>(4)?);
    let updated: Option<i64> = row.try_get(6)?;
    let updated = updated.ok_or(Fault::Corrupt("the checksum of a chat's times differs", None))?;
    found.updated_at = Timestamp::from_micros(updated);
    Ok(found)
}

/// Writes title and metadata.
pub(crate) async fn write(connection: &mut SqliteConnection, no: i64, chat: &Chat) -> Result<()> {
    let update = sqlx::query(sql::UPDATE_CHAT).bind(no).bind(chat.title.as_deref());
    update.bind(metadata_text(&chat.metadata)?).execute(&mut *connection).await?;
    seal(connection, no).await
}

/// Updates the checksum of a chat after a write.
pub(crate) async fn seal(connection: &mut SqliteConnection, no: i64) -> Result<()> {
    CHAT.seal(connection, &[("no", no.into())]).await
}

/// Records the time of a write to a chat.
pub(crate) async fn touch(connection: &mut SqliteConnection, no: i64, at: Timestamp) -> Result<()> {
    sqlx::query(sql::TOUCH_CHAT).bind(no).bind(at.as_micros()).execute(connection).await?;
    Ok(())
}
