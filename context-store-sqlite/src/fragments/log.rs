//! The versions of persisted fragments.
//!
//! The log of a chat begins with its first write to fragments: the fragments from before become
//! versions without a time. Until then the log is derived from the fragments.

use context_core::base::FragmentId;
use context_core::store::{FragmentLog, FragmentVersion, StoredFragment, oldest_state};
use context_core::{ChatRef, Encoded, MessageId, Timestamp};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::chat::access::chat_no;
use crate::checksums::{FRAGMENT_VERSION, Value};
use crate::connections::Writer;
use crate::error::{Fault, Result};
use crate::fragments::fragments_of;
use crate::sql::{SHRED, SHRED_NO_MORE, fragment_versions as sql};
use crate::values::numbers::{count, signed};
use crate::values::rows::{message_id, metadata_from, metadata_text};

/// The call that writes versions: its time, and the first new message of its commit.
pub(crate) struct WrittenBy<'a> {
    pub(crate) at: Timestamp,
    pub(crate) message: Option<&'a MessageId>,
}

/// Returns the versions of the fragments of a chat.
pub(crate) async fn list(connection: &mut SqliteConnection, chat: &ChatRef) -> Result<FragmentLog> {
    let mut transaction = connection.begin().await?;
    let no = chat_no(&mut transaction, "fragment_log", chat).await?;
    let rows = sqlx::query(sql::FRAGMENT_VERSIONS).bind(no).fetch_all(&mut *transaction).await?;
    let log = if rows.is_empty() {
        let fragments = fragments_of(&mut transaction, no).await?.into_iter();
        let placed = fragments.map(|(place, fragment)| Ok((count(place)?, fragment)));
        FragmentLog::unrecorded(placed.collect::<Result<Vec<_>>>()?)
    } else {
        FragmentLog::new(rows.iter().map(version).collect::<Result<_>>()?)
    };
    transaction.commit().await?;
    Ok(log)
}

/// Deletes the versions of a chat, and overwrites their space. Returns the number of those that
/// were not also the content of a fragment.
pub(crate) async fn clear(writer: &mut Writer, chat: &ChatRef) -> Result<u64> {
    sqlx::query(SHRED).execute(&mut writer.connection).await?;
    let cleared = delete(writer, chat).await;
    sqlx::query(SHRED_NO_MORE).execute(&mut writer.connection).await?;
    cleared
}

async fn delete(writer: &mut Writer, chat: &ChatRef) -> Result<u64> {
    let mut transaction = writer.begin().await?;
    let no = chat_no(&mut transaction, "clear_fragment_log", chat).await?;
    let current = fragments_of(&mut transaction, no).await?.len() as u64;
    let delete = sqlx::query(sql::CLEAR_FRAGMENT_VERSIONS).bind(no);
    let deleted = delete.execute(&mut *transaction).await?.rows_affected();
    transaction.commit().await?;
    Ok(deleted.saturating_sub(current))
}

fn version(row: &SqliteRow) -> Result<FragmentVersion> {
    FRAGMENT_VERSION.check(row, 0)?;
    let (number, place) = (count(row.try_get(1)?)?, count(row.try_get(2)?)?);
    let id = row.try_get::<Option<&str>, _>(3)?.map(FragmentId::from);
    let at = row.try_get::<Option<i64>, _>(8)?.map(Timestamp::from_micros);
    let read = match (row.try_get::<Option<String>, _>(4)?, id) {
        (Some(kind), id) => {
            let version = u16::try_from(row.try_get::<i64, _>(5)?);
            let version = version
                .map_err(|_| Fault::Corrupt("a fragment's version is out of range", None))?;
            let body = Encoded::new(kind, version, row.try_get::<Vec<u8>, _>(7)?);
            let metadata = metadata_from(row.try_get(6)?)?;
            FragmentVersion::stored(number, place, StoredFragment { id, metadata, body })
        }
        (None, Some(id)) => FragmentVersion::removed(number, place, id, Timestamp::default()),
        (None, None) => {
            return Err(Fault::Corrupt("a removal of a fragment names no fragment", None));
        }
    };
    Ok(read.written(at, message_id(row, 9)?))
}

/// Begins the log of a chat with the fragments that it has. Does nothing if the log has begun.
/// Returns the number of the newest version.
pub(crate) async fn begin(
    connection: &mut SqliteConnection,
    chat: i64,
    stored: &[(i64, StoredFragment)],
) -> Result<i64> {
    let newest = sqlx::query(sql::NEWEST_FRAGMENT_VERSION).bind(chat).fetch_one(&mut *connection);
    if let Some(newest) = newest.await?.try_get::<Option<i64>, _>(0)? {
        return Ok(newest);
    }
    for (number, (place, fragment)) in (1..).zip(stored) {
        let id = fragment.id.as_ref();
        add(connection, (chat, number, *place), id, Some(fragment), None).await?;
    }
    Ok(signed(stored.len()))
}

/// Adds a version: a fragment, or the removal of the one with this id.
pub(crate) async fn add(
    connection: &mut SqliteConnection,
    (chat, number, place): (i64, i64, i64),
    id: Option<&FragmentId>,
    fragment: Option<&StoredFragment>,
    by: Option<&WrittenBy<'_>>,
) -> Result<()> {
    let metadata = fragment.map(|fragment| metadata_text(&fragment.metadata)).transpose()?;
    let body = fragment.map(|fragment| &fragment.body);
    let values: [Value<'_>; 10] = [
        chat.into(),
        number.into(),
        place.into(),
        id.map(FragmentId::as_str).into(),
        body.map(Encoded::kind).into(),
        body.map(|body| i64::from(body.version())).into(),
        metadata.into(),
        body.map(|body| &body.bytes()[..]).into(),
        by.map(|by| by.at.as_micros()).into(),
        by.and_then(|by| by.message).map(MessageId::as_str).into(),
    ];
    let sum = FRAGMENT_VERSION.sum(values.clone());
    let insert = sqlx::query(sql::ADD_FRAGMENT_VERSION);
    let insert = values.into_iter().fold(insert, |query, value| value.bind(query));
    insert.bind(sum).execute(connection).await?;
    Ok(())
}

/// Deletes the versions that are not kept any longer, given the number of the newest.
pub(crate) async fn trim(connection: &mut SqliteConnection, chat: i64, newest: i64) -> Result<()> {
    let oldest = oldest_state(count(newest)?);
    if oldest > 0 {
        let trim = sqlx::query(sql::TRIM_FRAGMENT_VERSIONS).bind(chat);
        trim.bind(i64::try_from(oldest).unwrap_or(i64::MAX)).execute(connection).await?;
    }
    Ok(())
}
