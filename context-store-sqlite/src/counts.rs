//! Stored counts of everything that is listed. They detect a list that lost a page of the file,
//! because it is shorter than its count.
//!
//! Triggers maintain the counts (`migrations/0008_checksums.sql` and later ones). List and count
//! must be of one state of the file, so they are read in one transaction.

use context_core::UserId;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::error::{Fault, Result};
use crate::sql::{self, Statement};
use crate::values::numbers::signed;

/// The maximum number of rows that are counted to prove that a row does not exist, or that a page
/// in the middle of a list is complete. Counting more would cost more than the answer. The end of a
/// list is always compared.
const FEW: i64 = 4096;

pub(crate) const WRONG_ENTRY: Fault =
    Fault::Corrupt("an entry of an index does not lead to its row", None);

const DIFFERS: Fault = Fault::Corrupt("the checksum of a row of counts differs", None);

/// The counts of a user.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UserCount {
    Chats,
    /// The number of chats that a listing finds.
    ListedChats,
    Rounds,
    /// Links of nodes to messages.
    Links,
    /// Scopes of memories.
    Scopes,
}

/// The counts of a chat.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ChatCount {
    Branches,
    Checkpoints,
    Fragments,
    Blobs,
    Streams,
    Revisions,
    RefChanges,
}

/// The part of a list that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListPart {
    /// The whole list, with this many rows.
    All(usize),
    /// The end of the list.
    End,
    /// A page in the middle, or the place that a missing row would have.
    Middle,
}

impl ListPart {
    /// Returns the part that a page with this many rows covers.
    pub(crate) fn page(is_first: bool, has_more: bool, rows: usize) -> Self {
        match (is_first, has_more) {
            (_, true) => Self::Middle,
            (true, false) => Self::All(rows),
            (false, false) => Self::End,
        }
    }
}

/// Compares a list with its stored count. Runs `count` unless the number of rows is already known.
pub(crate) async fn compare(
    connection: &mut SqliteConnection,
    expected: i64,
    seen: ListPart,
    missing: &'static str,
    count: Statement<'_>,
) -> Result<()> {
    let found = match seen {
        ListPart::All(rows) => signed(rows),
        ListPart::Middle if expected > FEW => return Ok(()),
        ListPart::End | ListPart::Middle => count.fetch_one(connection).await?.try_get(0)?,
    };
    if found == expected { Ok(()) } else { Err(Fault::Corrupt(missing, None)) }
}

impl UserCount {
    /// Compares a list of a user with its stored count.
    pub(crate) async fn compare(
        self,
        connection: &mut SqliteConnection,
        user: &UserId,
        seen: ListPart,
    ) -> Result<()> {
        let (column, count, missing) = match self {
            Self::Chats => (0, sql::COUNT_CHATS, "chats of a user are missing"),
            Self::ListedChats => (0, sql::COUNT_LISTED_CHATS, "chats of a user are missing"),
            Self::Rounds => (1, sql::COUNT_ROUNDS, "rounds of a user are missing"),
            Self::Links => (2, sql::COUNT_LINKS, "links to messages of a user are missing"),
            Self::Scopes => (3, sql::COUNT_SCOPES, "scopes of memories of a user are missing"),
        };
        let query = sqlx::query(sql::USER_TALLY).bind(user.as_str());
        let expected = match query.fetch_optional(&mut *connection).await? {
            Some(row) => sound(&row, 4)?.try_get(column)?,
            None => {
                users(connection, ListPart::Middle).await?;
                0
            }
        };
        compare(connection, expected, seen, missing, sqlx::query(count).bind(user.as_str())).await
    }
}

impl ChatCount {
    /// Compares a list of a chat with its stored count.
    pub(crate) async fn compare(
        self,
        connection: &mut SqliteConnection,
        chat: i64,
        seen: ListPart,
    ) -> Result<()> {
        let (column, count) = match self {
            Self::Branches => (0, sql::COUNT_BRANCHES),
            Self::Checkpoints => (1, sql::COUNT_CHECKPOINTS),
            Self::Fragments => (2, sql::COUNT_FRAGMENTS),
            Self::Blobs => (3, sql::COUNT_BLOBS),
            Self::Streams => (4, sql::COUNT_STREAMS),
            Self::Revisions => (5, sql::COUNT_REVISIONS),
            Self::RefChanges => (6, sql::ref_log::COUNT_REF_CHANGES),
        };
        let query = sqlx::query(sql::CHAT_TALLY).bind(chat);
        let row = query.fetch_optional(&mut *connection).await?.ok_or(DIFFERS)?;
        let expected = sound(&row, 7)?.try_get(column)?;
        compare(connection, expected, seen, self.missing(), sqlx::query(count).bind(chat)).await
    }

    /// Compares a whole list with its count, which was read with it. There is none if the checksum
    /// of the counts differs.
    pub(crate) fn agree(self, counted: Option<i64>, rows: usize) -> Result<()> {
        if counted.ok_or(DIFFERS)? == signed(rows) {
            return Ok(());
        }
        Err(Fault::Corrupt(self.missing(), None))
    }

    fn missing(self) -> &'static str {
        match self {
            Self::Branches => "branches of a chat are missing",
            Self::Checkpoints => "checkpoints of a chat are missing",
            Self::Fragments => "fragments of a chat are missing",
            Self::Blobs => "blobs of a chat are missing",
            Self::Streams => "streams of a chat are missing",
            Self::Revisions => "revisions of a chat are missing",
            Self::RefChanges => "changes of branches are missing",
        }
    }
}

/// Compares the list of users with its stored count.
pub(crate) async fn users(connection: &mut SqliteConnection, seen: ListPart) -> Result<()> {
    let row =
        sqlx::query(sql::STORE_TALLY).fetch_optional(&mut *connection).await?.ok_or(DIFFERS)?;
    let expected = sound(&row, 1)?.try_get(0)?;
    compare(connection, expected, seen, "users are missing", sqlx::query(sql::COUNT_USERS)).await
}

/// Checks that the index entries before and after a missing row agree with their rows, because a
/// damaged name hides its row.
pub(crate) async fn check_neighbours(
    connection: &mut SqliteConnection,
    query: Statement<'_>,
) -> Result<()> {
    for row in query.fetch_all(connection).await? {
        if row.try_get::<Option<bool>, _>(0)? != Some(true) {
            return Err(WRONG_ENTRY);
        }
    }
    Ok(())
}

/// Returns a row of numbers if they agree with their checksum. The result of that comparison is the
/// last column.
fn sound(row: &SqliteRow, column: usize) -> Result<&SqliteRow> {
    if row.try_get(column)? { Ok(row) } else { Err(DIFFERS) }
}
