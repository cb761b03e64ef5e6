//! Chats: creating, reading, listing, changing and deleting them; branches and checkpoints.

use context_core::{
    Branch, BranchName, Chat, ChatPatch, ChatQuery, ChatRef, ChatSummary, Checkpoint, CheckpointName,
    Created, Cursor, Error, ErrorKind, MessageId, Metadata, NewChat, Page, Timestamp, limits,
};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::connections::Writer;
use crate::error::{Fault, Result, bad_cursor};
use crate::messages::find;
use crate::place::{count, signed};
use crate::routes::Routes;
use crate::rows::message_id;
use crate::scope::chat_no;
use crate::sql;

/// A chat and its number.
pub(crate) async fn read(connection: &mut SqliteConnection, chat: &ChatRef) -> Result<Option<(i64, Chat)>> {
    let query = sqlx::query(sql::CHAT).bind(chat.user.as_str()).bind(chat.chat.as_str());
    let row = query.fetch_all(connection).await?.pop();
    row.map(|row| Ok((row.try_get(0)?, chat_of(&row, chat)?))).transpose()
}

fn chat_of(row: &SqliteRow, chat: &ChatRef) -> Result<Chat> {
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

/// Adds a branch that forks behind a place, without messages of its own yet. Returns its number.
pub(crate) async fn create_branch(
    connection: &mut SqliteConnection,
    chat: i64,
    name: &BranchName,
    parent: Option<i64>,
    base: i64,
    head: Option<&MessageId>,
    at: Timestamp,
) -> Result<i64> {
    let insert = sqlx::query(sql::CREATE_BRANCH)
        .bind(chat)
        .bind(name.as_str())
        .bind(parent)
        .bind(base)
        .bind(head.map(MessageId::as_str))
        .bind(at.as_micros());
    Ok(insert.execute(connection).await?.last_insert_rowid())
}

/// Lists page by page. Metadata is looked at here, not in SQL: keys and values are compared exactly.
pub(crate) async fn list(connection: &mut SqliteConnection, query: &ChatQuery) -> Result<Page<ChatSummary>> {
    const OPERATION: &str = "list_chats";
    let (mut updated, mut no) = match &query.after {
        None => (i64::MAX, i64::MAX),
        Some(cursor) => place_of(cursor).ok_or_else(|| bad_cursor(OPERATION))?,
    };
    let batch = if query.metadata.is_empty() { query.limit + 1 } else { limits::MAX_PAGE };
    let mut items = Vec::new();
    let mut end = None;
    loop {
        // `updated` is at least the start of the minute that the index has.
        let statement = sqlx::query(sql::LIST_CHATS)
            .bind(query.user.as_str())
            .bind(updated / MINUTE)
            .bind(updated)
            .bind(no)
            .bind(signed(batch));
        let rows = statement.fetch_all(&mut *connection).await?;
        for row in &rows {
            let chat = ChatRef::new(query.user.clone(), row.try_get::<&str, _>(1)?);
            let chat = chat_of(row, &chat)?;
            (updated, no) = (row.try_get(6)?, row.try_get(0)?);
            if !query.matches(&chat) {
                continue;
            }
            if items.len() == query.limit {
                let next = end.map(|(updated, no)| Cursor::new(format!("{updated}:{no}")));
                return Ok(Page { items, next });
            }
            items.push(ChatSummary::new(chat, count(row.try_get(8)?)?, count(row.try_get(9)?)?));
            end = Some((updated, no));
        }
        if rows.len() < batch {
            return Ok(Page { items, next: None });
        }
    }
}

/// Microseconds of the coarse order of listings.
const MINUTE: i64 = 60_000_000;

fn place_of(cursor: &Cursor) -> Option<(i64, i64)> {
    let (updated, no) = cursor.as_str().split_once(':')?;
    Some((updated.parse().ok()?, no.parse().ok()?))
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

pub(crate) async fn delete(writer: &mut Writer, chat: &ChatRef) -> Result<bool> {
    writer.routes = Routes::default();
    let query = sqlx::query(sql::DELETE_CHAT).bind(chat.user.as_str()).bind(chat.chat.as_str());
    Ok(query.execute(&mut writer.connection).await?.rows_affected() > 0)
}

pub(crate) async fn branches(connection: &mut SqliteConnection, chat: &ChatRef) -> Result<Vec<Branch>> {
    let mut transaction = connection.begin().await?;
    let found = read(&mut transaction, chat).await?;
    let (no, found) = found.ok_or_else(|| Error::not_found("branches", "chat", &chat.chat))?;
    let branches = branches_of(&mut transaction, no, &found.active).await?;
    transaction.commit().await?;
    Ok(branches)
}

pub(crate) async fn branches_of(
    connection: &mut SqliteConnection,
    chat: i64,
    active: &BranchName,
) -> Result<Vec<Branch>> {
    let rows = sqlx::query(sql::BRANCHES).bind(chat).fetch_all(connection).await?;
    let branch = |row: &SqliteRow| {
        let name = BranchName::from(row.try_get::<&str, _>(1)?);
        let length = row.try_get::<i64, _>(3)? + row.try_get::<i64, _>(4)?;
        let created_at = Timestamp::from_micros(row.try_get(5)?);
        let active = name == *active;
        Ok(Branch::new(name, message_id(row, 2)?, count(length)?, active, created_at))
    };
    rows.iter().map(branch).collect()
}

/// A branch by its name: its number, how many messages it owns, and its head.
pub(crate) async fn branch(
    connection: &mut SqliteConnection,
    chat: i64,
    name: &BranchName,
) -> Result<Option<(i64, i64, Option<MessageId>)>> {
    let row = sqlx::query(sql::BRANCH).bind(chat).bind(name.as_str()).fetch_all(connection).await?.pop();
    row.map(|row| Ok((row.try_get(0)?, row.try_get(1)?, message_id(&row, 2)?))).transpose()
}

pub(crate) async fn activate(
    writer: &mut Writer,
    chat: &ChatRef,
    name: &BranchName,
    at: Timestamp,
) -> Result<()> {
    const OPERATION: &str = "activate_branch";
    let mut transaction = writer.begin().await?;
    let no = chat_no(&mut transaction, OPERATION, chat).await?;
    if branch(&mut transaction, no, name).await?.is_none() {
        return Err(Error::not_found(OPERATION, "branch", name).into());
    }
    sqlx::query(sql::ACTIVATE).bind(no).bind(name.as_str()).execute(&mut *transaction).await?;
    touch(&mut transaction, no, at).await?;
    transaction.commit().await?;
    Ok(())
}

pub(crate) async fn set_checkpoint(
    writer: &mut Writer,
    chat: &ChatRef,
    checkpoint: Checkpoint,
) -> Result<Checkpoint> {
    const OPERATION: &str = "set_checkpoint";
    let mut transaction = writer.begin().await?;
    let no = chat_no(&mut transaction, OPERATION, chat).await?;
    if find(&mut transaction, no, std::iter::once(&checkpoint.message)).await?.is_empty() {
        return Err(Error::not_found(OPERATION, "message", &checkpoint.message).into());
    }
    let set = sqlx::query(sql::SET_CHECKPOINT).bind(no).bind(checkpoint.name.as_str());
    let set = set.bind(checkpoint.message.as_str()).bind(checkpoint.created_at.as_micros());
    set.execute(&mut *transaction).await?;
    touch(&mut transaction, no, checkpoint.created_at).await?;
    transaction.commit().await?;
    Ok(checkpoint)
}

pub(crate) async fn checkpoints(
    connection: &mut SqliteConnection,
    operation: &'static str,
    chat: &ChatRef,
) -> Result<Vec<Checkpoint>> {
    let no = chat_no(connection, operation, chat).await?;
    let rows = sqlx::query(sql::CHECKPOINTS).bind(no).fetch_all(connection).await?;
    let checkpoint = |row: &SqliteRow| {
        let (name, message): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
        Ok(Checkpoint::new(name.into(), message.into(), Timestamp::from_micros(row.try_get(2)?)))
    };
    rows.iter().map(checkpoint).collect()
}

pub(crate) async fn delete_checkpoint(
    writer: &mut Writer,
    chat: &ChatRef,
    name: &CheckpointName,
) -> Result<bool> {
    let no = chat_no(&mut writer.connection, "delete_checkpoint", chat).await?;
    let delete = sqlx::query(sql::DELETE_CHECKPOINT).bind(no).bind(name.as_str());
    Ok(delete.execute(&mut writer.connection).await?.rows_affected() > 0)
}
