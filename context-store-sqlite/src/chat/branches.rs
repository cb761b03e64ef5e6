//! The rows of a chat's branches.

use context_core::store::Branch;
use context_core::{BranchName, ChatRef, MessageId, Timestamp};
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::checksums::{BRANCH, CHAT_NAME, Value};
use crate::connections::branch_ends::BranchEnd;
use crate::connections::tail::Tail;
use crate::counts::{ChatCount, ListPart};
use crate::error::{Fault, Result};
use crate::sql::{self, run};
use crate::values::numbers::count;
use crate::values::place::place;
use crate::values::rows::message_id;

pub(crate) async fn branches_of(
    connection: &mut SqliteConnection,
    chat: i64,
    active: &BranchName,
) -> Result<Vec<Branch>> {
    let rows = sqlx::query(sql::BRANCHES).bind(chat).fetch_all(&mut *connection).await?;
    ChatCount::Branches.compare(connection, chat, ListPart::All(rows.len())).await?;
    let branch = |row: &SqliteRow| {
        let segment = Segment::of(row)?;
        if !row.try_get::<bool, _>(10)? {
            return Err(Fault::Corrupt("the head of a branch is not its last message", None));
        }
        let Some(name) = segment.name else { return Ok(None) };
        let length = segment.base.saturating_add(segment.own);
        let created_at = Timestamp::from_micros(row.try_get(5)?);
        let active = name == *active;
        Ok(Some(Branch::new(name, segment.head, count(length)?, active, created_at)))
    };
    rows.iter().map(branch).filter_map(Result::transpose).collect()
}

/// Returns the end of a branch of a chat.
pub(crate) async fn find_branch(
    connection: &mut SqliteConnection,
    chat: i64,
    name: &BranchName,
) -> Result<Option<BranchEnd>> {
    let row =
        sqlx::query(sql::BRANCH).bind(chat).bind(name.as_str()).fetch_all(connection).await?.pop();
    let known = |row: SqliteRow| {
        let branch: i64 = row.try_get(0)?;
        let content = (5..8).map(|column| Value::of(&row, column)).collect::<Result<Vec<_>>>()?;
        let names = [branch.into(), chat.into(), name.as_str().into()];
        BRANCH.check_values(names.into_iter().chain(content), &row, 8)?;
        let head = message_id(&row, 2)?;
        let tail = Tail::of(&row, 9, head.as_ref())?;
        Ok(BranchEnd { chat, branch, own: row.try_get(1)?, head, tail })
    };
    row.map(known).transpose()
}

/// Returns the end of a branch that is found by names alone.
pub(crate) async fn branch_end(
    connection: &mut SqliteConnection,
    (chat, name): &(ChatRef, BranchName),
) -> Result<Option<BranchEnd>> {
    let query = sqlx::query(sql::BRANCH_END).bind(chat.user.as_str()).bind(chat.chat.as_str());
    let Some(row) = run(connection, query.bind(name.as_str())).await?.pop() else {
        return Ok(None);
    };
    let (no, branch): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    CHAT_NAME.check_values([no.into(), Value::of(&row, 7)?, Value::of(&row, 8)?], &row, 9)?;
    let content = (10..14).map(|column| Value::of(&row, column)).collect::<Result<Vec<_>>>()?;
    BRANCH.check_values([branch.into(), no.into()].into_iter().chain(content), &row, 14)?;
    let head = message_id(&row, 3)?;
    let tail = Tail::of(&row, 4, head.as_ref())?;
    Ok(Some(BranchEnd { chat: no, branch, own: row.try_get(2)?, head, tail }))
}

/// Returns the pieces of a branch's chain: the first and the last place of each.
pub(crate) async fn lineage(
    connection: &mut SqliteConnection,
    chat: i64,
    branch: &BranchName,
) -> Result<Vec<(i64, i64)>> {
    let rows = sqlx::query(sql::LINEAGE).bind(chat).bind(branch.as_str()).fetch_all(connection);
    rows.await?.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// A branch in the layout: the messages that were written through it.
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
    pub(crate) fn of(row: &SqliteRow) -> Result<Self> {
        BRANCH.check(row, 0)?;
        if !row.try_get::<bool, _>(9)? {
            return Err(Fault::Corrupt("the checksum of the end of a branch differs", None));
        }
        let name = row.try_get::<Option<&str>, _>(2)?.map(BranchName::from);
        let (no, base, own) = (row.try_get(0)?, row.try_get(4)?, row.try_get(7)?);
        Ok(Self { no, name, head: message_id(row, 8)?, base, own, parent: row.try_get(3)? })
    }

    /// Returns the last place that holds a message.
    pub(crate) fn end(&self) -> i64 {
        place(self.no, self.own)
    }
}

/// Returns the segments of a chat, oldest first, so that a parent comes before its children.
pub(crate) async fn segments(connection: &mut SqliteConnection, chat: i64) -> Result<Vec<Segment>> {
    let rows = sqlx::query(sql::PIECES).bind(chat).fetch_all(&mut *connection).await?;
    ChatCount::Branches.compare(connection, chat, ListPart::All(rows.len())).await?;
    rows.iter().map(Segment::of).collect()
}
