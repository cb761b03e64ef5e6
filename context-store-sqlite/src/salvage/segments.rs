//! The branches of a chat in a damaged file.

use bytes::Bytes;
use context_core::{BranchName, ChatRef, MessageId};
use context_store_kit::salvage::{Loss, LostKind, SalvageSink};
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::error::Result;
use crate::sql::run;
use crate::values::place::{branch_of, place};

/// A branch, as far as its row can be read.
#[derive(Debug)]
pub(super) struct SavedSegment {
    no: i64,
    /// `None` if the branch was deleted and its messages are still needed.
    pub(super) name: Option<BranchName>,
    /// The place that it is forked after.
    pub(super) parent: Option<i64>,
    /// The number of its messages, if that is known.
    pub(super) own: Option<i64>,
    pub(super) created_at: i64,
    /// The newest messages, and the number of the first of them.
    pub(super) tail: Option<(i64, Bytes)>,
    /// Their ids, each with the number of the message.
    pub(super) tail_ids: Vec<(i64, MessageId)>,
}

/// Returns the branches of a chat, oldest first, so that a parent comes before its children.
pub(super) async fn segments(
    connection: &mut SqliteConnection,
    no: i64,
    chat: &ChatRef,
    sink: &mut dyn SalvageSink,
) -> Result<Vec<SavedSegment>> {
    // The names of a branch whose row is lost are in an index.
    const NAMED: &str =
        "INSERT OR IGNORE INTO branch (no, chat, name, parent, base, own, touched, created_at)
        SELECT n.no, n.a, n.b, (SELECT p.a FROM was_row p WHERE p.kind = 'parent' AND p.no = n.no),
          0, 0, 0, 0 FROM was_row n WHERE n.kind = 'branch' AND n.a = ?1
          AND n.no NOT IN (SELECT no FROM branch)";
    const BRANCHES: &str = "SELECT no, name, parent, own, created_at, tail_from, tail, tail_ids,
          sum IS NULL, own_sum IS own * 1000003 + touched % 4294967291,
          (SELECT b FROM was_row n WHERE n.kind = 'branch' AND n.no = branch.no AND n.a = ?1 LIMIT 1)
        FROM branch WHERE chat = ?1 ORDER BY no";
    run(connection, sqlx::query(NAMED).bind(no)).await?;
    let mut segments = Vec::new();
    for row in run(connection, sqlx::query(BRANCHES).bind(no)).await? {
        let is_damaged: bool = row.try_get(8)?;
        let segment = SavedSegment::of(row, is_damaged)?;
        if is_damaged {
            let why = "its row is damaged: its newest messages may be lost, and its time";
            let loss = Loss::new(LostKind::Branch, segment.shown_name(), why);
            sink.lose(loss.of_chat(chat));
        }
        segments.push(segment);
    }
    Ok(segments)
}

impl SavedSegment {
    fn of(row: SqliteRow, is_damaged: bool) -> Result<Self> {
        let no: i64 = row.try_get(0)?;
        let named: Option<&str> = row.try_get(if is_damaged { 10 } else { 1 })?;
        let name = named.map(BranchName::from);
        let own_agrees: bool = row.try_get(9)?;
        let own: i64 = row.try_get(3)?;
        let from: Option<i64> = row.try_get(5)?;
        let list = format!("[{}]", row.try_get::<Option<&str>, _>(7)?.unwrap_or_default());
        let ids: Vec<String> = serde_json::from_str(&list).unwrap_or_default();
        let (parent, created_at) = (row.try_get(2)?, row.try_get(4)?);
        let bytes = row.try_get::<Option<&[u8]>, _>(6)?.map(Bytes::copy_from_slice);
        // Numbers of a damaged row may be wrong; the ids in front of them are then too.
        let from = from.filter(|from| (1..=i64::from(u32::MAX)).contains(from));
        Ok(Self {
            no,
            name,
            parent,
            own: own_agrees.then_some(own),
            created_at: if is_damaged { 0 } else { created_at },
            tail_ids: (from.unwrap_or(1)..).zip(ids.into_iter().map(MessageId::from)).collect(),
            tail: from.zip(bytes),
        })
    }

    /// Returns the place of a message by its number.
    pub(super) fn place(&self, own: i64) -> i64 {
        place(self.no, own)
    }

    /// Whether a place is one of this branch.
    pub(super) fn holds(&self, place: i64) -> bool {
        branch_of(place) == self.no
    }

    /// Returns the number of one of the newest messages.
    pub(super) fn listed(&self, id: &MessageId) -> Option<i64> {
        self.tail_ids.iter().find(|(_, listed)| listed == id).map(|(own, _)| *own)
    }

    pub(super) fn shown_name(&self) -> String {
        match &self.name {
            Some(name) => name.to_string(),
            None => format!("number {}", self.no),
        }
    }
}
