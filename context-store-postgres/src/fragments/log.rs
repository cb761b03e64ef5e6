//! The versions of persisted fragments.
//!
//! The log of a chat begins with its first write to fragments: the fragments from before become
//! versions without a time. Until then the log is derived from the fragments.

use bytes::Bytes;
use context_core::base::FragmentId;
use context_core::store::{FragmentLog, FragmentVersion, StoredFragment, oldest_state};
use context_core::{ChatRef, Encoded, MessageId, Timestamp};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::chat::access::{chat_no, lock_chat};
use crate::chat::rows::{metadata_bytes, metadata_from};
use crate::checksums;
use crate::connections::Session;
use crate::error::{Fault, Result};
use crate::fragments;
use crate::sql::fragment_versions as sql;
use crate::values::numbers::{count, signed, signed_count};
use crate::values::rows::{blob, message_id, optional_text};

const DAMAGED: &str = "the checksum of a version of a fragment does not match";

/// The call that writes versions: its time, and the first new message of its commit.
pub(crate) struct WrittenBy<'a> {
    pub(crate) at: Timestamp,
    pub(crate) message: Option<&'a MessageId>,
}

impl WrittenBy<'_> {
    pub(crate) fn on(&self, version: FragmentVersion) -> FragmentVersion {
        version.written(Some(self.at), self.message.cloned())
    }
}

/// Returns the versions of the fragments of a chat.
pub(crate) async fn list(session: &mut Session<'_>, chat: &ChatRef) -> Result<FragmentLog> {
    let no = chat_no(session, "fragment_log", chat).await?;
    let recorded = recorded(session, no).await?;
    if !recorded.is_empty() {
        return Ok(FragmentLog::new(recorded));
    }
    let fragments = fragments::list(session, no).await?.into_iter();
    let placed = fragments.map(|(place, fragment)| Ok((count(place)?, fragment)));
    Ok(FragmentLog::unrecorded(placed.collect::<Result<Vec<_>>>()?))
}

/// Returns the stored versions. There are none if the log has not begun.
pub(crate) async fn recorded(session: &mut Session<'_>, chat: i64) -> Result<Vec<FragmentVersion>> {
    let query = session.query(sql::FRAGMENT_VERSIONS).bind(chat);
    session.all(query).await?.into_iter().map(|row| version(chat, row)).collect()
}

fn version(chat: i64, row: PgRow) -> Result<FragmentVersion> {
    let (number, place) = (count(row.try_get(0)?)?, count(row.try_get(1)?)?);
    let id = optional_text(&row, 2)?.map(FragmentId::from);
    let kind = optional_text(&row, 3)?.map(str::to_owned);
    let at = row.try_get::<Option<i64>, _>(7)?.map(Timestamp::from_micros);
    let message = message_id(&row, 8)?;
    let metadata = row.try_get::<Option<Vec<u8>>, _>(5)?.unwrap_or_default();
    let version = row.try_get::<Option<i64>, _>(4)?;
    let sealed = blob(row, 6)?;
    let read = match (kind, id, version) {
        (Some(kind), id, Some(version)) => {
            let version = u16::try_from(version).map_err(|_| Fault::Corrupt(DAMAGED, None))?;
            let body = Encoded::new(kind, version, Bytes::new());
            let metadata = metadata_from(&metadata)?;
            FragmentVersion::stored(number, place, StoredFragment { id, metadata, body })
        }
        (None, Some(id), None) => FragmentVersion::removed(number, place, id, Timestamp::default()),
        _ => return Err(Fault::Corrupt("a version of a fragment is no version", None)),
    };
    let mut read = read.written(at, message);
    let body =
        checksums::open(checksums::fragment_version(chat, &read, &metadata), &sealed, DAMAGED)?;
    if let Some(fragment) = &mut read.fragment {
        let (kind, version) = (fragment.body.kind().to_owned(), fragment.body.version());
        fragment.body = Encoded::new(kind, version, body);
    }
    Ok(read)
}

/// Deletes the versions of a chat. Returns the number of those that were not also the content of a
/// fragment.
pub(crate) async fn clear(session: &mut Session<'_>, chat: &ChatRef) -> Result<u64> {
    let no = lock_chat(session, "clear_fragment_log", chat).await?;
    let current = fragments::list(session, no).await?.len() as u64;
    let clear = session.query(sql::CLEAR_FRAGMENT_VERSIONS).bind(no);
    Ok(session.execute(clear).await?.saturating_sub(current))
}

/// Begins the log of a chat with the fragments that it has. Does nothing if the log has begun.
/// Returns the number of the newest version.
pub(crate) async fn begin(
    session: &mut Session<'_>,
    chat: i64,
    stored: &[(i64, StoredFragment)],
) -> Result<i64> {
    let newest = session.query(sql::NEWEST_FRAGMENT_VERSION).bind(chat);
    if let Some(newest) = session.only(newest).await?.try_get::<Option<i64>, _>(0)? {
        return Ok(newest);
    }
    for (number, (place, fragment)) in (1..).zip(stored) {
        let version = FragmentVersion::stored(number, count(*place)?, fragment.clone());
        add(session, chat, version).await?;
    }
    Ok(signed(stored.len()))
}

pub(crate) async fn add(
    session: &mut Session<'_>,
    chat: i64,
    version: FragmentVersion,
) -> Result<()> {
    let fragment = version.fragment.as_ref();
    let metadata = fragment.map(|fragment| metadata_bytes(&fragment.metadata)).transpose()?;
    let body = fragment.map(|fragment| &fragment.body);
    let seal = checksums::fragment_version(chat, &version, metadata.as_deref().unwrap_or_default());
    let sealed = seal.seal(body.map(|body| body.bytes().to_vec()).unwrap_or_default());
    let add = session.query(sql::ADD_FRAGMENT_VERSION).bind(chat);
    let add = add.bind(signed_count(version.number)).bind(signed_count(version.place));
    let add = add.bind(version.id.as_ref().map(|id| id.as_str().as_bytes()));
    let add = add.bind(body.map(|body| body.kind().as_bytes()));
    let add = add.bind(body.map(|body| i64::from(body.version()))).bind(metadata).bind(sealed);
    let add = add.bind(version.at.map(Timestamp::as_micros));
    let add = add.bind(version.message.as_ref().map(|id| id.as_str().as_bytes()));
    session.execute(add).await?;
    Ok(())
}

/// Deletes the versions that are not kept any longer, given the number of the newest.
pub(crate) async fn trim(session: &mut Session<'_>, chat: i64, newest: i64) -> Result<()> {
    let oldest = oldest_state(count(newest)?);
    if oldest > 0 {
        let trim = session.query(sql::TRIM_FRAGMENT_VERSIONS).bind(chat);
        session.execute(trim.bind(signed_count(oldest))).await?;
    }
    Ok(())
}
