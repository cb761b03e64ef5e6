//! The tail of a branch: its newest messages, in its own row.
//!
//! Everything that something else names by its place or id is in a run, so whatever forks, amends,
//! prunes or marks messages folds the tails of the chat first. Then the newest messages are only
//! appended to and read.

use bytes::Bytes;
use context_core::MessageId;
use context_store_kit::pack;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::error::{Fault, Result};
use crate::sql;
use crate::values::numbers::signed;
use crate::values::rows::{blob, length};

/// The sizes of head, tail, ids and zeros together that a row may have, ascending. With the largest
/// one, the row fits into a page of the file.
const ROOMS: [usize; 3] = [960, 1_920, 3_840];

/// The sizes in bytes that decide how a branch's tail grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tail {
    /// The packed messages.
    data: usize,
    /// The ids, with the commas between them.
    ids: usize,
    /// All of these, the head and the zeros.
    room: usize,
}

impl Tail {
    /// Returns the tail in a row: its messages, ids and zeros, with the head of the branch.
    pub(crate) fn of(row: &SqliteRow, first: usize, head: Option<&MessageId>) -> Result<Self> {
        let size = |column| length(row.try_get::<Option<i64>, _>(first + column)?.unwrap_or(0));
        let (data, ids, pad) = (size(0)?, size(1)?, size(2)?);
        let head = head.map_or(0, |head| head.as_str().len());
        Ok(Self { data, ids, room: data + ids + pad + head })
    }

    pub(crate) fn bytes(self) -> i64 {
        signed(self.data)
    }

    /// Returns the tail with more messages and ids, and this long a head, if there is one that can
    /// take them.
    pub(crate) fn with(self, (data, ids): (usize, usize), head: usize) -> Option<Self> {
        (self.data > 0).then_some(())?;
        self.sized(self.data + data, self.ids + 1 + ids, head)
    }

    /// Returns a tail with these messages and ids alone, if they are not too many.
    pub(crate) fn begun(self, (data, ids): (usize, usize), head: usize) -> Option<Self> {
        self.sized(data, ids, head)
    }

    /// Returns what is left when the messages have become a run.
    pub(crate) fn folded(self) -> Self {
        Self { data: 0, ids: 0, ..self }
    }

    fn sized(self, data: usize, ids: usize, head: usize) -> Option<Self> {
        let needed = data + ids + head;
        // A row does not shrink: its page would be merged with others, and split again soon.
        let room = ROOMS.into_iter().find(|room| *room >= needed.max(self.room.min(ROOMS[2])))?;
        Some(Self { data, ids, room })
    }

    /// Returns the number of zeros behind the tail of a branch with this long a head.
    pub(crate) fn pad(self, head: usize) -> i64 {
        signed(self.room.saturating_sub(self.data + self.ids + head))
    }
}

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
