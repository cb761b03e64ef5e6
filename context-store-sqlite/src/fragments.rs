//! Persisted context fragments of a chat.

pub(crate) mod log;

use bytes::Bytes;
use context_core::base::FragmentId;
use context_core::store::StoredFragment;
use context_core::{ChatRef, Encoded, Error, Timestamp};
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use self::log::WrittenBy;
use crate::chat;
use crate::chat::access::chat_no;
use crate::checksums::{CHAT_NAME, FRAGMENT, Value};
use crate::connections::Writer;
use crate::counts::ChatCount;
use crate::error::{Fault, Result};
use crate::sql::{self, run};
use crate::values::rows::{blob, metadata_from, metadata_text};

/// Returns the fragments of a chat, which one statement reads and counts.
pub(crate) async fn list(
    connection: &mut SqliteConnection,
    chat: &ChatRef,
) -> Result<Vec<StoredFragment>> {
    let query = sqlx::query(sql::FRAGMENTS_OF).bind(chat.user.as_str()).bind(chat.chat.as_str());
    let rows = run(connection, query).await?;
    let Some(first) = rows.first() else {
        return Err(Error::not_found("fragments", "chat", &chat.chat).into());
    };
    let names = [Value::of(first, 8)?, chat.user.as_str().into(), chat.chat.as_str().into()];
    CHAT_NAME.check_values(names, first, 9)?;
    let counted: Option<i64> = first.try_get(10)?;
    let is_there = |row: &SqliteRow| row.try_get::<Option<i64>, _>(0).map(|no| no.is_some());
    let mut fragments = Vec::with_capacity(rows.len());
    for row in rows {
        if is_there(&row)? {
            fragments.push(fragment(row)?.1);
        }
    }
    ChatCount::Fragments.agree(counted, fragments.len())?;
    Ok(fragments)
}

/// Stores fragments in one transaction.
pub(crate) async fn put(
    writer: &mut Writer,
    chat: &ChatRef,
    fragments: &[StoredFragment],
    at: Timestamp,
) -> Result<()> {
    let mut transaction = writer.begin().await?;
    let no = chat_no(&mut transaction, "put_fragments", chat).await?;
    add(&mut transaction, no, fragments, &WrittenBy { at, message: None }).await?;
    chat::rows::touch(&mut transaction, no, at).await?;
    transaction.commit().await?;
    Ok(())
}

/// Removes a fragment by its id. Returns whether the fragment existed.
pub(crate) async fn remove(
    writer: &mut Writer,
    chat: &ChatRef,
    id: &FragmentId,
    at: Timestamp,
) -> Result<bool> {
    let mut transaction = writer.begin().await?;
    let no = chat_no(&mut transaction, "remove_fragment", chat).await?;
    let stored = fragments_of(&mut transaction, no).await?;
    let found = stored.iter().find(|(_, fragment)| fragment.id.as_ref() == Some(id));
    if let Some((place, _)) = found {
        let number = log::begin(&mut transaction, no, &stored).await? + 1;
        let by = WrittenBy { at, message: None };
        let place = (no, number, *place);
        log::add(&mut transaction, place, Some(id), None, Some(&by)).await?;
        let remove = sqlx::query(sql::REMOVE_FRAGMENT).bind(no).bind(id.as_str());
        remove.execute(&mut *transaction).await?;
        log::trim(&mut transaction, no, number).await?;
    }
    chat::rows::touch(&mut transaction, no, at).await?;
    let existed = found.is_some();
    transaction.commit().await?;
    Ok(existed)
}

/// Returns the fragments in the order in which they were first stored, each with its number.
pub(crate) async fn fragments_of(
    connection: &mut SqliteConnection,
    chat: i64,
) -> Result<Vec<(i64, StoredFragment)>> {
    let rows = sqlx::query(sql::FRAGMENTS).bind(chat).fetch_all(connection).await?;
    rows.into_iter().map(fragment).collect()
}

fn fragment(row: SqliteRow) -> Result<(i64, StoredFragment)> {
    FRAGMENT.check(&row, 0)?;
    let no = row.try_get(0)?;
    let id = row.try_get::<Option<&str>, _>(2)?.map(FragmentId::from);
    let kind = row.try_get::<String, _>(3)?;
    let version = u16::try_from(row.try_get::<i64, _>(4)?);
    let version =
        version.map_err(|_| Fault::Corrupt("a fragment's version is out of range", None))?;
    let metadata = metadata_from(row.try_get(5)?)?;
    let body: Bytes = blob(row, 6)?;
    Ok((no, StoredFragment { id, metadata, body: Encoded::new(kind, version, body) }))
}

/// Stores each fragment of a chat in the place of the one it replaces, or at the end.
pub(crate) async fn add(
    connection: &mut SqliteConnection,
    chat: i64,
    fragments: &[StoredFragment],
    by: &WrittenBy<'_>,
) -> Result<()> {
    if fragments.is_empty() {
        return Ok(());
    }
    let mut stored = fragments_of(connection, chat).await?;
    let mut newest = log::begin(connection, chat, &stored).await?;
    for new in fragments {
        let (kind, version) = (new.body.kind(), i64::from(new.body.version()));
        let (metadata, body) = (metadata_text(&new.metadata)?, new.body.bytes().to_vec());
        let place = match stored.iter_mut().find(|(_, old)| old.is_replaced_by(new)) {
            Some((_, old)) if old == new => continue,
            Some((no, old)) => {
                let replace = sqlx::query(sql::REPLACE_FRAGMENT).bind(*no).bind(kind).bind(version);
                replace.bind(metadata).bind(body).execute(&mut *connection).await?;
                *old = new.clone();
                *no
            }
            None => {
                let add = sqlx::query(sql::ADD_FRAGMENT)
                    .bind(chat)
                    .bind(new.id.as_ref().map(FragmentId::as_str));
                let add = add.bind(kind).bind(version);
                let added = add.bind(metadata).bind(body).execute(&mut *connection).await?;
                let no = added.last_insert_rowid();
                stored.push((no, new.clone()));
                no
            }
        };
        newest += 1;
        let (place, id) = ((chat, newest, place), new.id.as_ref());
        log::add(connection, place, id, Some(new), Some(by)).await?;
    }
    log::trim(connection, chat, newest).await?;
    FRAGMENT.seal(connection, &[("chat", chat.into())]).await
}
