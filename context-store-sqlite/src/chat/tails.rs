//! The tail of a branch: its newest messages, in its own row.
//!
//! Everything that something else names by its place or id is in a run, so whatever forks, amends,
//! prunes or marks messages folds the tails of the chat first. Then the newest messages are only
//! appended to and read.

use bytes::Bytes;
use context_core::MessageId;
use context_store_kit::pack;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::error::{Fault, Result};
use crate::sql;
use crate::values::numbers::signed;
use crate::values::rows::blob;

/// Whether an id may be in a tail: whether its JSON text is the id between quotes.
pub(crate) fn is_plain(id: &MessageId) -> bool {
    id.as_str().bytes().all(|byte| byte >= b' ' && !matches!(byte, b'"' | b'\\' | 0x7f))
}

/// Returns ids as JSON texts with commas between them, or `None` if an id has a NUL, because
/// SQLite's JSON ends a text at a NUL.
pub(crate) fn ids<'a>(ids: impl Iterator<Item = &'a MessageId>) -> Option<String> {
    let mut list = String::new();
    for id in ids {
        if !list.is_empty() {
            list.push(',');
        }
        if is_plain(id) {
            list.extend(["\"", id.as_str(), "\""]);
        } else if id.as_str().contains('\0') {
            return None;
        } else {
            list.push_str(&serde_json::to_string(id.as_str()).ok()?);
        }
    }
    Some(list)
}

/// Makes the tails of a chat runs.
pub(crate) async fn fold(connection: &mut SqliteConnection, chat: i64) -> Result<()> {
    sqlx::query(sql::FOLD_CHAT).bind(chat).execute(connection).await?;
    Ok(())
}

/// Checks that the tails of a chat have the messages that their rows state.
pub(crate) async fn check(connection: &mut SqliteConnection, chat: i64) -> Result<()> {
    const DIFFERS: Fault =
        Fault::Corrupt("the newest messages of a branch differ from its row", None);
    for row in sqlx::query(sql::TAILS).bind(chat).fetch_all(connection).await? {
        let (stated, listed): (i64, String) = (row.try_get(0)?, row.try_get(1)?);
        let nodes = pack::unpack(&blob(row, 2)?)?;
        let list = ids(nodes.iter().map(|node| &node.id));
        if signed(nodes.len()) != stated || list.as_deref() != Some(&*listed) {
            return Err(DIFFERS);
        }
    }
    Ok(())
}

/// Returns the number of the message within a packed tail, from 0.
pub(crate) fn position(tail: &Bytes, id: &MessageId) -> Result<Option<usize>> {
    Ok(pack::unpack(tail)?.iter().position(|node| node.id == *id))
}
