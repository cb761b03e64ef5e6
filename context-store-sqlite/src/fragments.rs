//! Persisted context fragments of a chat.

use bytes::Bytes;
use context_core::base::FragmentId;
use context_core::store::StoredFragment;
use context_core::{ChatRef, Encoded, Timestamp};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::chat::access::chat_no;
use crate::checksums::FRAGMENT;
use crate::connections::Writer;
use crate::counts::{ChatCount, ListPart};
use crate::error::{Fault, Result};
use crate::values::rows::{blob, metadata_from, metadata_text};
use crate::{chat, sql};

/// Returns the fragments of a chat.
pub(crate) async fn list(
    connection: &mut SqliteConnection,
    chat: &ChatRef,
) -> Result<Vec<StoredFragment>> {
    let mut transaction = connection.begin().await?;
    let no = chat_no(&mut transaction, "fragments", chat).await?;
    let fragments = fragments_of(&mut transaction, no).await?;
    ChatCount::Fragments.compare(&mut transaction, no, ListPart::All(fragments.len())).await?;
    transaction.commit().await?;
    Ok(fragments.into_iter().map(|(_, fragment)| fragment).collect())
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
    add(&mut transaction, no, fragments).await?;
    chat::rows::touch(&mut transaction, no, at).await?;
    transaction.commit().await?;
    Ok(())
}

/// Removes a fragment by its id. Returns whether the fragment existed.
pub(crate) async fn remove(writer: &mut Writer, chat: &ChatRef, id: &FragmentId) -> Result<bool> {
    let connection = &mut writer.connection;
    let no = chat_no(connection, "remove_fragment", chat).await?;
    let remove = sqlx::query(sql::REMOVE_FRAGMENT).bind(no).bind(id.as_str());
    Ok(remove.execute(connection).await?.rows_affected() > 0)
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
) -> Result<()> {
    if fragments.is_empty() {
        return Ok(());
    }
    let mut stored = fragments_of(connection, chat).await?;
    for new in fragments {
        let (kind, version) = (new.body.kind(), i64::from(new.body.version()));
        let (metadata, body) = (metadata_text(&new.metadata)?, new.body.bytes().to_vec());
        match stored.iter_mut().find(|(_, old)| old.is_replaced_by(new)) {
            Some((no, old)) => {
                let replace = sqlx::query(sql::REPLACE_FRAGMENT).bind(*no).bind(kind).bind(version);
                replace.bind(metadata).bind(body).execute(&mut *connection).await?;
                *old = new.clone();
            }
            None => {
                let add = sqlx::query(sql::ADD_FRAGMENT)
                    .bind(chat)
                    .bind(new.id.as_ref().map(FragmentId::as_str));
                let add = add.bind(kind).bind(version);
                let added = add.bind(metadata).bind(body).execute(&mut *connection).await?;
                stored.push((added.last_insert_rowid(), new.clone()));
            }
        }
    }
    FRAGMENT.seal(connection, &[("chat", chat.into())]).await
}
