//! Chats, messages, branches and checkpoints.

use async_trait::async_trait;
use context_core::base::{CheckpointName, limits};
use context_core::message::PlacedNode;
use context_core::store::{
    Branch, BranchDeletion, ChainEnd, Chat, ChatPatch, ChatQuery, ChatSize, ChatSummary,
    Checkpoint, Commit, CommitOutcome, Created, Cursor, Durability, HistoryStore, NewChat, Page,
    Revision, Window,
};
use context_core::{BranchName, Chain, ChatRef, Error, MessageId, Result, Timestamp};
use rusqlite::params;

use crate::chat::{ChatRow, PLACED, node, placed};
use crate::{READ, RowStore, WRITE, commit};

#[async_trait]
impl HistoryStore for RowStore {
    async fn create_chat(&self, new: NewChat) -> Result<Created> {
        new.check()?;
        self.transact(WRITE, "create_chat", |sql| {
            if let Some(row) = ChatRow::find(sql, "create_chat", &new.chat)? {
                return Ok(Created::Existing(row.chat));
            }
            let chat = Chat::new(new);
            sql.execute(
                "INSERT INTO chat (user, id, updated, changes, value) VALUES (?, ?, ?, 0, ?)",
                params![
                    chat.chat.user.as_str(),
                    chat.chat.chat.as_str(),
                    chat.updated_at.as_micros(),
                    serde_json::to_string(&chat)?,
                ],
            )?;
            sql.execute(
                "INSERT INTO branch (chat, name, created) VALUES (?, ?, ?)",
                params![sql.last_insert_rowid(), chat.active.as_str(), chat.created_at.as_micros()],
            )?;
            Ok(Created::New(chat))
        })
        .await
    }

    async fn chat(&self, chat: &ChatRef) -> Result<Option<Chat>> {
        let chat = chat.clone();
        self.transact(READ, "chat", move |sql| {
            Ok(ChatRow::find(sql, "chat", &chat)?.map(|row| row.chat))
        })
        .await
    }

    async fn list_chats(&self, query: &ChatQuery) -> Result<Page<ChatSummary>> {
        query.check()?;
        let query = query.clone();
        let after = match &query.after {
            None => (i64::MAX, i64::MAX),
            Some(cursor) => place_of(cursor).ok_or_else(|| bad_cursor("list_chats"))?,
        };
        self.transact(READ, "list_chats", move |sql| {
            let mut select = sql.prepare_cached(
                "SELECT value, updated, no, (SELECT count(*) FROM message WHERE chat = chat.no),
                    (SELECT count(*) FROM branch WHERE chat = chat.no)
                FROM chat WHERE user = ?1 AND (updated, no) < (?2, ?3)
                ORDER BY updated DESC, no DESC",
            )?;
            let mut rows = select.query(params![query.user.as_str(), after.0, after.1])?;
            let (mut items, mut next, mut last) = (Vec::new(), None, String::new());
            while let Some(row) = rows.next()? {
                let chat: Chat = serde_json::from_str(&row.get::<_, String>(0)?)?;
                if !query.matches(&chat) {
                    continue;
                }
                if items.len() == query.limit {
                    next = Some(Cursor::new(last));
                    break;
                }
                last = format!("{}:{}", row.get::<_, i64>(1)?, row.get::<_, i64>(2)?);
                items.push(ChatSummary::new(chat, row.get(3)?, row.get(4)?));
            }
            Ok(Page { items, next })
        })
        .await
    }

    async fn update_chat(&self, chat: &ChatRef, patch: &ChatPatch, at: Timestamp) -> Result<Chat> {
        let patch = patch.clone();
        self.with_chat(WRITE, "update_chat", chat, move |row| {
            patch.apply(&mut row.chat)?;
            row.touch(at);
            Ok(row.chat.clone())
        })
        .await
    }

    async fn delete_chat(&self, chat: &ChatRef, idle_since: Option<Timestamp>) -> Result<bool> {
        let chat = chat.clone();
        self.transact(WRITE, "delete_chat", move |sql| {
            let Some(row) = ChatRow::find(sql, "delete_chat", &chat)? else { return Ok(false) };
            let idle = idle_since.is_none_or(|since| row.chat.updated_at <= since);
            Ok(idle && sql.execute("DELETE FROM chat WHERE no = ?", [row.no])? > 0)
        })
        .await
    }

    async fn chat_size(&self, chat: &ChatRef) -> Result<ChatSize> {
        self.with_chat(READ, "chat_size", chat, |row| {
            let mut query = row.sql.prepare_cached(
                "SELECT count(*), total(length(node)) + (SELECT total(length(r.node))
                    FROM revision AS r JOIN message AS m ON m.no = r.message WHERE m.chat = ?1)
                FROM message WHERE chat = ?1",
            )?;
            let size = |row: &rusqlite::Row<'_>| {
                Ok(ChatSize::new(row.get(0)?, row.get::<_, f64>(1)? as u64))
            };
            Ok(query.query_row([row.no], size)?)
        })
        .await
    }

    async fn commit(&self, commit: Commit) -> Result<CommitOutcome> {
        commit.check()?;
        Durability::PowerLoss.check_commit(&commit)?;
        let chat = commit.chat.clone();
        self.with_chat(WRITE, "commit", &chat, move |row| commit::commit(row, &commit)).await
    }

    async fn branches(&self, chat: &ChatRef) -> Result<Vec<Branch>> {
        self.with_chat(READ, "branches", chat, |row| row.branches()).await
    }

    async fn activate_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        let branch = branch.clone();
        self.with_chat(WRITE, "activate_branch", chat, move |row| {
            row.chat.active = row.branch(&branch)?.name;
            row.touch(at);
            Ok(())
        })
        .await
    }

    async fn rename_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        to: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        const OPERATION: &str = "rename_branch";
        limits::check_id(OPERATION, "branch", to.as_str())?;
        let (branch, to) = (branch.clone(), to.clone());
        self.with_chat(WRITE, OPERATION, chat, move |row| {
            let renamed = row.branch(&branch)?;
            if branch != to && row.branch(&to).is_ok() {
                let error = Error::invalid(OPERATION, "another branch has this name");
                return Err(error.with("branch", &to).into());
            }
            row.sql.execute(
                "UPDATE branch SET name = ? WHERE chat = ? AND name = ?",
                params![to.as_str(), row.no, branch.as_str()],
            )?;
            if renamed.active {
                row.chat.active = to;
            }
            row.touch(at);
            Ok(())
        })
        .await
    }

    async fn delete_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        expected: Option<&MessageId>,
        at: Timestamp,
    ) -> Result<BranchDeletion> {
        const OPERATION: &str = "delete_branch";
        let (branch, expected) = (branch.clone(), expected.cloned());
        self.with_chat(WRITE, OPERATION, chat, move |row| {
            let found = row.branch(&branch)?;
            if found.head != expected {
                return Ok(BranchDeletion::Conflict { actual: found.head });
            }
            if found.active {
                let message = "the active branch cannot be deleted; make another one active first";
                return Err(Error::invalid(OPERATION, message).with("branch", &branch).into());
            }
            row.sql.execute(
                "DELETE FROM branch WHERE chat = ? AND name = ?",
                params![row.no, branch.as_str()],
            )?;
            row.touch(at);
            Ok(BranchDeletion::Deleted { messages: row.prune()? })
        })
        .await
    }

    async fn set_checkpoint(
        &self,
        chat: &ChatRef,
        name: &CheckpointName,
        message: &MessageId,
        at: Timestamp,
    ) -> Result<Checkpoint> {
        const OPERATION: &str = "set_checkpoint";
        limits::check_id(OPERATION, "checkpoint", name.as_str())?;
        let checkpoint = Checkpoint::new(name.clone(), message.clone(), at);
        self.with_chat(WRITE, OPERATION, chat, move |row| {
            let place = row.known(&checkpoint.message)?;
            row.sql.execute(
                "INSERT OR REPLACE INTO checkpoint VALUES (?, ?, ?, ?)",
                params![row.no, checkpoint.name.as_str(), place.no, at.as_micros()],
            )?;
            row.prune()?;
            row.touch(at);
            Ok(checkpoint)
        })
        .await
    }

    async fn checkpoints(&self, chat: &ChatRef) -> Result<Vec<Checkpoint>> {
        self.with_chat(READ, "checkpoints", chat, |row| row.checkpoints()).await
    }

    async fn delete_checkpoint(
        &self,
        chat: &ChatRef,
        name: &CheckpointName,
        at: Timestamp,
    ) -> Result<bool> {
        let name = name.clone();
        self.with_chat(WRITE, "delete_checkpoint", chat, move |row| {
            let deleted = row.sql.execute(
                "DELETE FROM checkpoint WHERE chat = ? AND name = ?",
                params![row.no, name.as_str()],
            )?;
            row.prune()?;
            row.touch(at);
            Ok(deleted > 0)
        })
        .await
    }

    async fn chain(&self, chat: &ChatRef, end: &ChainEnd, window: &Window) -> Result<Chain> {
        let (end, window) = (end.clone(), window.clone());
        self.with_chat(READ, "chain", chat, move |row| {
            let end = match &end {
                ChainEnd::Branch(name) => row.branch(name)?.head,
                ChainEnd::Message(id) => Some(id.clone()),
            };
            let nodes = match end {
                Some(end) => row.chain_to(row.known(&end)?.no)?,
                None => Vec::new(),
            };
            let generation = (row.no << 32) + row.changes;
            let chain = Chain::from_nodes(0, nodes).with_generation(generation.cast_unsigned());
            Ok(window.of(&chain))
        })
        .await
    }

    async fn messages(&self, chat: &ChatRef, ids: &[MessageId]) -> Result<Vec<Option<PlacedNode>>> {
        let ids = ids.to_vec();
        self.with_chat(READ, "messages", chat, move |row| {
            ids.iter().map(|id| row.message(id)).collect()
        })
        .await
    }

    async fn all_messages(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<PlacedNode>> {
        const OPERATION: &str = "all_messages";
        limits::check_page(OPERATION, limit)?;
        let after: i64 = match after {
            None => 0,
            Some(cursor) => cursor.as_str().parse().map_err(|_| bad_cursor(OPERATION))?,
        };
        self.with_chat(READ, OPERATION, chat, move |row| {
            let query = format!("{PLACED} WHERE m.chat = ? AND m.no > ? ORDER BY m.no");
            let mut query = row.sql.prepare_cached(&query)?;
            let mut rows = query.query([row.no, after])?;
            let (mut items, mut last) = (Vec::new(), after);
            while let Some(row) = rows.next()? {
                if items.len() == limit {
                    return Ok(Page { items, next: Some(Cursor::new(last.to_string())) });
                }
                items.push(placed(row)?);
                last = row.get(3)?;
            }
            Ok(Page { items, next: None })
        })
        .await
    }

    async fn revisions(&self, chat: &ChatRef, message: &MessageId) -> Result<Vec<Revision>> {
        let message = message.clone();
        self.with_chat(READ, "revisions", chat, move |row| {
            let mut query = row.sql.prepare_cached(
                "SELECT r.node, r.replaced FROM revision AS r JOIN message AS m ON m.no = r.message
                    WHERE m.chat = ? AND m.id = ? ORDER BY r.no",
            )?;
            let mut rows = query.query(params![row.no, message.as_str()])?;
            let mut revisions = Vec::new();
            while let Some(row) = rows.next()? {
                revisions.push(Revision::new(node(row)?, Timestamp::from_micros(row.get(1)?)));
            }
            Ok(revisions)
        })
        .await
    }
}

fn place_of(cursor: &Cursor) -> Option<(i64, i64)> {
    let (updated, no) = cursor.as_str().split_once(':')?;
    Some((updated.parse().ok()?, no.parse().ok()?))
}

fn bad_cursor(operation: &'static str) -> Error {
    Error::invalid(operation, "the cursor is not one of this listing")
}
