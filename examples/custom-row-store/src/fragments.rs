//! Persisted context fragments.

use async_trait::async_trait;
use context_core::base::FragmentId;
use context_core::store::{FragmentStore, StoredFragment};
use context_core::{ChatRef, Encoded, Result, Timestamp};
use rusqlite::params;

use crate::chat::ChatRow;
use crate::fault::Fault;
use crate::{READ, RowStore, WRITE};

#[async_trait]
impl FragmentStore for RowStore {
    async fn fragments(&self, chat: &ChatRef) -> Result<Vec<StoredFragment>> {
        let list = |row: &mut ChatRow<'_>| {
            Ok(stored(row)?.into_iter().map(|(_, fragment)| fragment).collect())
        };
        self.with_chat(READ, "fragments", chat, list).await
    }

    async fn put_fragments(
        &self,
        chat: &ChatRef,
        fragments: &[StoredFragment],
        at: Timestamp,
    ) -> Result<()> {
        fragments.iter().try_for_each(|fragment| fragment.check("put_fragments"))?;
        let fragments = fragments.to_vec();
        self.with_chat(WRITE, "put_fragments", chat, move |row| {
            row.touch(at);
            put(row, &fragments)
        })
        .await
    }

    async fn remove_fragment(
        &self,
        chat: &ChatRef,
        id: &FragmentId,
        at: Timestamp,
    ) -> Result<bool> {
        let id = id.clone();
        self.with_chat(WRITE, "remove_fragment", chat, move |row| {
            row.touch(at);
            let removed = row
                .sql
                .prepare_cached("DELETE FROM fragment WHERE chat = ? AND id = ?")?
                .execute(params![row.no, id.as_str()])?;
            Ok(removed > 0)
        })
        .await
    }
}

/// Reads the fragments of a chat with their numbers.
fn stored(row: &ChatRow<'_>) -> Result<Vec<(i64, StoredFragment)>, Fault> {
    let mut query = row.sql.prepare_cached(
        "SELECT no, id, metadata, kind, version, body FROM fragment WHERE chat = ? ORDER BY no",
    )?;
    let mut rows = query.query([row.no])?;
    let mut fragments = Vec::new();
    while let Some(row) = rows.next()? {
        let (kind, version, body): (String, _, Vec<u8>) = (row.get(3)?, row.get(4)?, row.get(5)?);
        let fragment = StoredFragment {
            id: row.get::<_, Option<String>>(1)?.map(FragmentId::from),
            metadata: serde_json::from_str(&row.get::<_, String>(2)?)?,
            body: Encoded::new(kind, version, body),
        };
        fragments.push((row.get(0)?, fragment));
    }
    Ok(fragments)
}

/// Stores fragments: each in the place of the one that it replaces, or behind all others.
pub(crate) fn put(row: &ChatRow<'_>, fragments: &[StoredFragment]) -> Result<(), Fault> {
    for new in fragments {
        let old = stored(row)?.into_iter().find(|(_, old)| old.is_replaced_by(new));
        let (id, body) = (new.id.as_ref().map(|id| id.as_str()), &new.body);
        row.sql
            .prepare_cached(
                "INSERT OR REPLACE INTO fragment (no, chat, id, metadata, kind, version, body)
                    VALUES (?, ?, ?, ?, ?, ?, ?)",
            )?
            .execute(params![
                old.map(|(no, _)| no),
                row.no,
                id,
                serde_json::to_string(&new.metadata)?,
                body.kind(),
                body.version(),
                &body.bytes()[..],
            ])?;
    }
    Ok(())
}
