//! The row of a chat within a transaction, and the reads that start from it.

use std::sync::Arc;

use bytes::Bytes;
use context_core::message::PlacedNode;
use context_core::store::{Branch, Chat, Checkpoint};
use context_core::{BranchName, ChatRef, Error, MessageId, Node, Timestamp};
use context_store_kit::pack;
use rusqlite::{OptionalExtension, Row, Transaction, params};

use crate::fault::Fault;

pub(crate) const PLACED: &str = "SELECT m.node, p.id, m.depth, m.no FROM message AS m
    LEFT JOIN message AS p ON p.no = m.parent";
const PRUNE: &str = "WITH RECURSIVE reached (no) AS (
        SELECT head FROM branch WHERE chat = ?1 AND head IS NOT NULL
        UNION SELECT message FROM checkpoint WHERE chat = ?1
        UNION SELECT parent FROM message JOIN reached USING (no) WHERE parent IS NOT NULL)
    DELETE FROM message WHERE chat = ?1 AND no NOT IN reached";

/// The row of a chat. Changes of its fields are written at the end of the transaction.
pub(crate) struct ChatRow<'t> {
    pub(crate) sql: &'t Transaction<'t>,
    pub(crate) no: i64,
    pub(crate) chat: Chat,
    /// The number of times that stored messages were changed or removed.
    pub(crate) changes: i64,
    pub(crate) operation: &'static str,
}

/// A stored message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredMessage {
    pub(crate) no: i64,
    pub(crate) depth: u64,
}

impl<'t> ChatRow<'t> {
    pub(crate) fn find(
        sql: &'t Transaction<'t>,
        operation: &'static str,
        chat: &ChatRef,
    ) -> Result<Option<Self>, Fault> {
        let mut query =
            sql.prepare_cached("SELECT no, changes, value FROM chat WHERE user = ? AND id = ?")?;
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?));
        let found = query.query_row([chat.user.as_str(), chat.chat.as_str()], read).optional()?;
        let Some((no, changes, value)) = found else { return Ok(None) };
        Ok(Some(Self { sql, no, chat: serde_json::from_str(&value)?, changes, operation }))
    }

    pub(crate) fn write(&self) -> Result<(), Fault> {
        let value = serde_json::to_string(&self.chat)?;
        let updated = self.chat.updated_at.as_micros();
        self.sql
            .prepare_cached("UPDATE chat SET updated = ?, changes = ?, value = ? WHERE no = ?")?
            .execute(params![updated, self.changes, value, self.no])?;
        Ok(())
    }

    pub(crate) fn touch(&mut self, at: Timestamp) {
        self.chat.updated_at = self.chat.updated_at.max(at);
    }

    /// Finds a message.
    pub(crate) fn place(&self, id: &MessageId) -> Result<Option<StoredMessage>, Fault> {
        let mut query =
            self.sql.prepare_cached("SELECT no, depth FROM message WHERE chat = ? AND id = ?")?;
        let read = |row: &Row<'_>| Ok(StoredMessage { no: row.get(0)?, depth: row.get(1)? });
        Ok(query.query_row(params![self.no, id.as_str()], read).optional()?)
    }

    /// Finds a message that must exist.
    pub(crate) fn known(&self, id: &MessageId) -> Result<StoredMessage, Fault> {
        let missing = || Error::not_found(self.operation, "message", id);
        Ok(self.place(id)?.ok_or_else(missing)?)
    }

    pub(crate) fn message(&self, id: &MessageId) -> Result<Option<PlacedNode>, Fault> {
        let query = format!("{PLACED} WHERE m.chat = ? AND m.id = ?");
        let mut query = self.sql.prepare_cached(&query)?;
        let mut rows = query.query(params![self.no, id.as_str()])?;
        rows.next()?.map(placed).transpose()
    }

    /// Reads the messages from a root to this one.
    pub(crate) fn chain_to(&self, end: i64) -> Result<Vec<Arc<Node>>, Fault> {
        let mut query = self.sql.prepare_cached(
            "WITH RECURSIVE chain (no, parent) AS (
                SELECT no, parent FROM message WHERE no = ? UNION
                SELECT m.no, m.parent FROM message AS m JOIN chain ON m.no = chain.parent)
            SELECT m.node FROM chain JOIN message AS m USING (no) ORDER BY m.depth",
        )?;
        let mut rows = query.query([end])?;
        let mut nodes = Vec::new();
        while let Some(row) = rows.next()? {
            nodes.push(node(row)?);
        }
        Ok(nodes)
    }

    pub(crate) fn branches(&self) -> Result<Vec<Branch>, Fault> {
        let mut query = self.sql.prepare_cached(
            "SELECT b.name, m.id, m.depth, b.created FROM branch AS b
                LEFT JOIN message AS m ON m.no = b.head WHERE b.chat = ? ORDER BY b.no",
        )?;
        let branch = |row: &Row<'_>| {
            let name = BranchName::from(row.get::<_, String>(0)?);
            let length = row.get::<_, Option<u64>>(2)?.map_or(0, |depth| depth + 1);
            let created_at = Timestamp::from_micros(row.get(3)?);
            let active = name == self.chat.active;
            Ok(Branch::new(name, id(row, 1)?, length, active, created_at))
        };
        Ok(query.query_map([self.no], branch)?.collect::<Result<_, _>>()?)
    }

    /// Finds a branch that must exist.
    pub(crate) fn branch(&self, name: &BranchName) -> Result<Branch, Fault> {
        let found = self.branches()?.into_iter().find(|branch| branch.name == *name);
        Ok(found.ok_or_else(|| Error::not_found(self.operation, "branch", name))?)
    }

    pub(crate) fn checkpoints(&self) -> Result<Vec<Checkpoint>, Fault> {
        let mut query = self.sql.prepare_cached(
            "SELECT c.name, m.id, c.created FROM checkpoint AS c
                JOIN message AS m ON m.no = c.message WHERE c.chat = ? ORDER BY c.name",
        )?;
        let checkpoint = |row: &Row<'_>| {
            let (name, message): (String, String) = (row.get(0)?, row.get(1)?);
            let created_at = Timestamp::from_micros(row.get(2)?);
            Ok(Checkpoint::new(name.into(), message.into(), created_at))
        };
        Ok(query.query_map([self.no], checkpoint)?.collect::<Result<_, _>>()?)
    }

    /// Removes messages that no branch and no checkpoint reaches. Returns their number.
    pub(crate) fn prune(&mut self) -> Result<u64, Fault> {
        let pruned = self.sql.prepare_cached(PRUNE)?.execute([self.no])?;
        self.changes += i64::from(pruned > 0);
        Ok(pruned as u64)
    }
}

/// Reads an id of a row that may have none.
pub(crate) fn id(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<MessageId>> {
    Ok(row.get::<_, Option<String>>(column)?.map(MessageId::from))
}

/// Reads the message that a row begins with.
pub(crate) fn node(row: &Row<'_>) -> Result<Arc<Node>, Fault> {
    let packed = Bytes::from(row.get::<_, Vec<u8>>(0)?);
    pack::unpack(&packed)?.pop().ok_or(Fault::Corrupt("a message is empty"))
}

/// Reads a row of [`PLACED`].
pub(crate) fn placed(row: &Row<'_>) -> Result<PlacedNode, Fault> {
    Ok(PlacedNode::new(node(row)?, id(row, 1)?, row.get(2)?))
}
