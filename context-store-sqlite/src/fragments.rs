//! Persisted context fragments of a chat.

use bytes::Bytes;
use context_core::Encoded;
use context_core::base::FragmentId;
use context_core::store::StoredFragment;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::error::{Fault, Result};
use crate::history::chat_rows::{metadata_from, metadata_text};
use crate::rows::blob;
use crate::sql;
use crate::sums::FRAGMENT;

/// Returns the fragments in the order in which they were first stored, each with its number.
pub(crate) async fn list(
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

/// Stores each fragment in the place of the one it replaces, or at the end.
pub(crate) async fn put(
    connection: &mut SqliteConnection,
    chat: i64,
    fragments: &[StoredFragment],
) -> Result<()> {
    if fragments.is_empty() {
        return Ok(());
    }
    let mut stored = list(connection, chat).await?;
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
