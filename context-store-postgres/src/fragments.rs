//! Persisted context fragments of a chat.

pub(crate) mod log;

use bytes::Bytes;
use context_core::base::FragmentId;
use context_core::store::{FragmentVersion, StoredFragment};
use context_core::{ChatRef, Encoded, Timestamp};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::chat::access::{of_chat, rows_of_chat};
use crate::chat::rows::{metadata_bytes, metadata_from};
use crate::connections::Session;
use crate::error::{Fault, Result};
use crate::fragments::log::WrittenBy;
use crate::values::numbers::count;
use crate::values::rows::{blob, optional_text, text};
use crate::{checksums, sql};

const DAMAGED: &str = "the checksum of a fragment does not match";

/// Returns the fragments in the order in which they were first stored, each with its number.
pub(crate) async fn list(
    session: &mut Session<'_>,
    chat: i64,
) -> Result<Vec<(i64, StoredFragment)>> {
    let query = session.query(sql::FRAGMENTS).bind(chat);
    session.all(query).await?.into_iter().map(fragment).collect()
}

/// Returns the fragments of a chat of this user.
pub(crate) async fn of(session: &mut Session<'_>, chat: &ChatRef) -> Result<Vec<StoredFragment>> {
    let query = of_chat(session, sql::FRAGMENTS_OF, chat);
    let mut fragments = Vec::new();
    for row in rows_of_chat(session, "fragments", chat, query).await? {
        if row.try_get::<Option<i64>, _>(0)?.is_some() {
            fragments.push(fragment(row)?.1);
        }
    }
    Ok(fragments)
}

fn fragment(row: PgRow) -> Result<(i64, StoredFragment)> {
    fragment_at(row, [0, 1, 2, 3, 4, 5])
}

/// Returns a fragment whose number, id, kind, version, metadata and body are in these columns.
pub(crate) fn fragment_at(row: PgRow, columns: [usize; 6]) -> Result<(i64, StoredFragment)> {
    let [no, id, kind, version, metadata, body] = columns;
    let no = row.try_get(no)?;
    let id = optional_text(&row, id)?.map(FragmentId::from);
    let kind = text(&row, kind)?.to_owned();
    let version = u16::try_from(row.try_get::<i64, _>(version)?);
    let version = version.map_err(|_| {
        Fault::Corrupt("the version of a fragment is not between 0 and 65535", None)
    })?;
    let id_text = id.as_ref().map(FragmentId::as_str);
    let seal = checksums::fragment(id_text, &kind, i64::from(version), row.try_get(metadata)?);
    let metadata = metadata_from(row.try_get(metadata)?)?;
    let body: Bytes = checksums::open(seal, &blob(row, body)?, DAMAGED)?;
    Ok((no, StoredFragment { id, metadata, body: Encoded::new(kind, version, body) }))
}

/// Stores each fragment in the place of the one it replaces, or at the end.
pub(crate) async fn put(
    session: &mut Session<'_>,
    chat: i64,
    fragments: &[StoredFragment],
    by: &WrittenBy<'_>,
) -> Result<()> {
    if fragments.is_empty() {
        return Ok(());
    }
    let mut stored = list(session, chat).await?;
    let mut newest = log::begin(session, chat, &stored).await?;
    for new in fragments {
        let (kind, version) = (new.body.kind().as_bytes(), i64::from(new.body.version()));
        let metadata = metadata_bytes(&new.metadata)?;
        let id = new.id.as_ref().map(FragmentId::as_str);
        let body = checksums::fragment(id, new.body.kind(), version, &metadata)
            .seal(new.body.bytes().to_vec());
        let place = match stored.iter_mut().find(|(_, old)| old.is_replaced_by(new)) {
            Some((_, old)) if old == new => continue,
            Some((no, old)) => {
                let replace =
                    session.query(sql::REPLACE_FRAGMENT).bind(*no).bind(kind).bind(version);
                session.execute(replace.bind(metadata).bind(body)).await?;
                *old = new.clone();
                *no
            }
            None => {
                let id = id.map(str::as_bytes);
                let add =
                    session.query(sql::ADD_FRAGMENT).bind(chat).bind(id).bind(kind).bind(version);
                let added = session.only(add.bind(metadata).bind(body)).await?;
                let no = added.try_get(0)?;
                stored.push((no, new.clone()));
                no
            }
        };
        newest += 1;
        let version = FragmentVersion::stored(count(newest)?, count(place)?, new.clone());
        log::add(session, chat, by.on(version)).await?;
    }
    log::trim(session, chat, newest).await
}

/// Removes the fragment with an id. Returns whether there was one.
pub(crate) async fn remove(
    session: &mut Session<'_>,
    chat: i64,
    id: &FragmentId,
    at: Timestamp,
) -> Result<bool> {
    let stored = list(session, chat).await?;
    let found = stored.iter().find(|(_, fragment)| fragment.id.as_ref() == Some(id));
    let Some((place, _)) = found else { return Ok(false) };
    let newest = log::begin(session, chat, &stored).await? + 1;
    let version = FragmentVersion::removed(count(newest)?, count(*place)?, id.clone(), at);
    log::add(session, chat, version).await?;
    let remove = session.query(sql::REMOVE_FRAGMENT).bind(chat).bind(id.as_str().as_bytes());
    session.execute(remove).await?;
    log::trim(session, chat, newest).await?;
    Ok(true)
}
