//! Reading the branches of a chat: those with a name, and all segments of the message tree.

use context_core::store::Branch;
use context_core::{BranchName, MessageId, Timestamp};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::connections::Session;
use crate::error::{Fault, Result};
use crate::values::numbers::count;
use crate::values::place::place;
use crate::values::rows::{message_id, optional_text, text};
use crate::{checksums, sql};

pub(crate) async fn branches_of(
    session: &mut Session<'_>,
    chat: i64,
    active: &BranchName,
) -> Result<Vec<Branch>> {
    let query = session.query(sql::BRANCHES).bind(chat);
    let rows = session.all(query).await?;
    rows.iter().map(|row| branch_from(row, active)).collect()
}

pub(crate) fn branch_from(row: &PgRow, active: &BranchName) -> Result<Branch> {
    check(row)?;
    let name = BranchName::from(text(row, 1)?);
    let length = row.try_get::<i64, _>(3)? + row.try_get::<i64, _>(4)?;
    let created_at = Timestamp::from_micros(row.try_get(6)?);
    let active = name == *active;
    Ok(Branch::new(name, message_id(row, 2)?, count(length)?, active, created_at))
}

/// Rejects a branch that differs from its checksum. The columns of the row are number, name, head,
/// base, own messages, parent, time, chat, checksum.
pub(crate) fn check(row: &PgRow) -> Result<()> {
    let (fork, created_at) =
        ((row.try_get(5)?, row.try_get(3)?), Timestamp::from_micros(row.try_get(6)?));
    let sum = checksums::branch(row.try_get(7)?, optional_text(row, 1)?, fork, created_at);
    match sum == row.try_get::<&[u8], _>(8)? {
        true => Ok(()),
        false => Err(Fault::Corrupt("the checksum of a branch does not match", None)),
    }
}

/// Returns a branch by its name: its number, how many messages it owns, and its head.
pub(crate) async fn find_branch(
    session: &mut Session<'_>,
    chat: i64,
    name: &BranchName,
) -> Result<Option<(i64, i64, Option<MessageId>)>> {
    let query = session.query(sql::BRANCH).bind(chat).bind(name.as_str().as_bytes());
    let row = session.first(query).await?;
    row.map(|row| Ok((row.try_get(0)?, row.try_get(1)?, message_id(&row, 2)?))).transpose()
}

/// A segment of the message tree: the messages that were written through one branch.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) no: i64,
    /// `None` if the branch was deleted and its messages are still needed.
    pub(crate) name: Option<BranchName>,
    pub(crate) head: Option<MessageId>,
    pub(crate) base: i64,
    pub(crate) own: i64,
    pub(crate) parent: Option<i64>,
}

impl Segment {
    pub(crate) fn of(row: &PgRow) -> Result<Self> {
        check(row)?;
        let name = optional_text(row, 1)?.map(BranchName::from);
        let (no, base, own) = (row.try_get(0)?, row.try_get(3)?, row.try_get(4)?);
        Ok(Self { no, name, head: message_id(row, 2)?, base, own, parent: row.try_get(5)? })
    }

    /// Returns the last place that holds a message.
    pub(crate) fn end(&self) -> i64 {
        place(self.no, self.own)
    }
}

/// Returns the segments of a chat, oldest first, so that a parent comes before its children.
pub(crate) async fn segments(session: &mut Session<'_>, chat: i64) -> Result<Vec<Segment>> {
    let query = session.query(sql::SEGMENTS).bind(chat);
    session.all(query).await?.iter().map(Segment::of).collect()
}
