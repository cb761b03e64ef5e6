//! The sizes of a branch's tail, its newest messages, in the branch's row.

use context_core::MessageId;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::error::Result;
use crate::values::numbers::signed;
use crate::values::rows::length;

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
