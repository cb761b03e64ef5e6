//! Reading and writing the rows of chats.

use context_core::store::{Chat, NewChat};
use context_core::{BranchName, ChatRef, Error, ErrorKind, Metadata, Timestamp};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::connections::Session;
use crate::error::{Fault, Result};
use crate::values::rows::{optional_text, text};
use crate::{checksums, sql};

const DAMAGED: &str = "the checksum of the title and metadata of a chat does not match";

/// Returns a chat and its number.
pub(crate) async fn read(session: &mut Session<'_>, chat: &ChatRef) -> Result<Option<(i64, Chat)>> {
    let query = session
        .query(sql::CHAT)
        .bind(chat.user.as_str().as_bytes())
        .bind(chat.chat.as_str().as_bytes());
    let row = session.first(query).await?;
    row.map(|row| Ok((row.try_get(0)?, chat_of(&row, chat)?))).transpose()
}

pub(crate) fn chat_of(row: &PgRow, chat: &ChatRef) -> Result<Chat> {
    chat_at(row, chat, [2, 3, 4, 5, 6, 7, 8, 9])
}

/// Returns a chat whose title, metadata, active branch, times of creation and of the last write,
/// number of amendments, and checksums of times and of the active branch are in these columns.
pub(crate) fn chat_at(row: &PgRow, chat: &ChatRef, columns: [usize; 8]) -> Result<Chat> {
    let [title, metadata, active, created_at, updated_at, amended, time_sum, active_sum] = columns;
    let created_at = Timestamp::from_micros(row.try_get(created_at)?);
    let title = optional_text(row, title)?;
    let sum = checksums::chat(chat, title, created_at);
    let metadata = checksums::open_slice(sum, row.try_get(metadata)?, DAMAGED)?;
    let mut found = Chat::new(NewChat {
        title: title.map(ToOwned::to_owned),
        metadata: metadata_from(metadata)?,
        ..NewChat::new(chat.clone(), created_at)
    });
    found.active = BranchName::from(text(row, active)?);
    found.updated_at = Timestamp::from_micros(row.try_get(updated_at)?);
    let times = checksums::times(row.try_get(updated_at)?, row.try_get(amended)?);
    if times != row.try_get::<i64, _>(time_sum)? {
        return Err(Fault::Corrupt(
            "the checksum of the last write to a chat does not match",
            None,
        ));
    }
    check_active(chat, found.active.as_str(), row.try_get(active_sum)?)?;
    Ok(found)
}

/// Rejects the name of an active branch that differs from its checksum.
pub(crate) fn check_active(chat: &ChatRef, active: &str, sum: &[u8]) -> Result<()> {
    match checksums::active(chat, active) == sum {
        true => Ok(()),
        false => {
            Err(Fault::Corrupt("the checksum of the active branch of a chat does not match", None))
        }
    }
}

/// Makes a branch the active one.
pub(crate) async fn activate(
    session: &mut Session<'_>,
    (no, chat): (i64, &ChatRef),
    name: &BranchName,
) -> Result<()> {
    let activate = session.query(sql::ACTIVATE).bind(no).bind(name.as_str().as_bytes());
    session.execute(activate.bind(checksums::active(chat, name.as_str()))).await?;
    Ok(())
}

/// Returns the metadata of a chat as its row stores it, with a checksum.
pub(crate) fn sealed(chat: &Chat) -> Result<Vec<u8>> {
    let seal = checksums::chat(&chat.chat, chat.title.as_deref(), chat.created_at);
    Ok(seal.seal(metadata_bytes(&chat.metadata)?))
}

/// Returns metadata in its stored form, JSON text.
pub(crate) fn metadata_bytes(metadata: &Metadata) -> Result<Vec<u8>> {
    serde_json::to_vec(metadata).map_err(|error| {
        Error::new(ErrorKind::Bug, "write", "metadata cannot be written as JSON")
            .with_source(error)
            .into()
    })
}

pub(crate) fn metadata_from(bytes: &[u8]) -> Result<Metadata> {
    serde_json::from_slice(bytes).map_err(|_| Fault::Corrupt("metadata is not valid JSON", None))
}

/// Writes title and metadata.
pub(crate) async fn write(session: &mut Session<'_>, no: i64, chat: &Chat) -> Result<()> {
    let update = session
        .query(sql::UPDATE_CHAT)
        .bind(no)
        .bind(chat.title.as_ref().map(|title| title.as_bytes()));
    let update = update.bind(sealed(chat)?);
    session.execute(update).await?;
    Ok(())
}

/// Records the time of a write to a chat.
pub(crate) async fn touch(session: &mut Session<'_>, no: i64, at: Timestamp) -> Result<()> {
    let touch = session.query(sql::TOUCH_CHAT).bind(no).bind(at.as_micros());
    session.execute(touch).await?;
    Ok(())
}
