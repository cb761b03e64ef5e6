//! The chats of a damaged file: whatever is sound of each, and the names of what is lost.

use std::collections::{BTreeMap, HashMap, HashSet};

use context_core::store::{Branch, Chat, Checkpoint, NewChat, Revision};
use context_core::{BranchName, CancelSignal, ChatRef, MessageId, Timestamp};
use context_store_kit::pack::{PackedPiece, salvage as pieces_of};
use context_store_kit::salvage::{Loss, LostKind, SalvageSink, SalvagedPiece};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::segments::{SavedSegment, segments};
use super::{details, pieces};
use crate::error::Result;
use crate::sql::run;
use crate::values::rows::{blob, metadata_from};

const OPERATION: &str = "salvage";
/// The reason for a loss whose row is gone.
pub(super) const GONE: &str = "its row is damaged";

/// Reads the chats.
pub(super) async fn read(
    connection: &mut SqliteConnection,
    sink: &mut dyn SalvageSink,
    cancel: &CancelSignal,
) -> Result<()> {
    // The names of a chat whose row is lost are in an index.
    const NAMED: &str =
        "INSERT OR IGNORE INTO chat (no, user, id, metadata, active, created_at, updated_at)
        SELECT no, a, b, '{}', 'main', 0, 0 FROM was_row WHERE kind = 'chat'
          AND typeof(a) = 'text' AND typeof(b) = 'text' AND no NOT IN (SELECT no FROM chat)";
    const CHATS: &str =
        "SELECT no, user, id, title, metadata, active, created_at, updated_at, sum IS NULL
        FROM chat WHERE no > ?1 ORDER BY no LIMIT 1";
    // A damaged row may name another chat, maybe of another user. The index says which it is.
    const FILED: &str = "UPDATE OR IGNORE branch SET chat = coalesce((SELECT a FROM was_row n
          WHERE n.kind = 'branch' AND n.no = branch.no AND typeof(a) = 'integer' LIMIT 1), -1)
        WHERE sum IS NULL";
    run(connection, sqlx::query(FILED)).await?;
    run(connection, sqlx::query(NAMED)).await?;
    details::unnamed_chats(connection, sink).await?;
    let mut after = i64::MIN;
    loop {
        cancel.check(OPERATION)?;
        let rows = run(connection, sqlx::query(CHATS).bind(after)).await?;
        let Some(row) = rows.first() else { return Ok(()) };
        after = row.try_get(0)?;
        let chat = ChatRef::new(row.try_get::<&str, _>(1)?, row.try_get::<&str, _>(2)?);
        let mut new = NewChat::new(chat.clone(), Timestamp::from_micros(row.try_get(6)?));
        new.title = row.try_get(3)?;
        let metadata = metadata_from(row.try_get(4)?);
        let is_damaged: bool = row.try_get(8)?;
        if is_damaged || metadata.is_err() {
            let why = "its row is damaged: title, metadata and the active branch are lost";
            sink.lose(Loss::new(LostKind::ChatDetails, &chat.chat, why).of_chat(&chat));
        }
        new.metadata = metadata.unwrap_or_default();
        let mut found = Chat::new(new);
        found.active = BranchName::from(row.try_get::<&str, _>(5)?);
        found.updated_at = Timestamp::from_micros(row.try_get(7)?);
        SavedChat { connection, sink, no: after, chat, parts: ChatParts::default() }
            .read(found, is_damaged, cancel)
            .await?;
    }
}

/// The known parts of a chat that is being read.
#[derive(Default)]
struct ChatParts {
    /// The messages that are sound.
    messages: HashSet<MessageId>,
    /// The places after which branches begin, and the messages there.
    forks: HashMap<i64, Option<MessageId>>,
    /// The last sound message before a place after which a branch begins, if that place is lost.
    before: HashMap<i64, MessageId>,
    /// The messages after which branches go on.
    parents: HashSet<MessageId>,
    /// Messages after which nothing follows, with the name of their branch, in order.
    ends: Vec<(MessageId, Option<BranchName>)>,
    branches: Vec<Branch>,
}

struct SavedChat<'a> {
    connection: &'a mut SqliteConnection,
    sink: &'a mut dyn SalvageSink,
    no: i64,
    chat: ChatRef,
    parts: ChatParts,
}

impl SavedChat<'_> {
    async fn read(
        mut self,
        mut found: Chat,
        is_damaged: bool,
        cancel: &CancelSignal,
    ) -> Result<()> {
        let segments = segments(self.connection, self.no, &self.chat, self.sink).await?;
        if is_damaged {
            let first =
                segments.iter().map(|segment| segment.created_at).filter(|at| *at > 0).min();
            found.created_at = Timestamp::from_micros(first.unwrap_or_default());
            found.updated_at = found.updated_at.max(found.created_at);
        }
        let created_at = found.created_at;
        if !segments.iter().any(|segment| segment.name.as_ref() == Some(&found.active)) {
            let first = segments.iter().find_map(|segment| segment.name.clone());
            found.active = first.unwrap_or(BranchName::main());
        }
        let active = found.active.clone();
        self.sink.take(SalvagedPiece::Chat(found)).await?;
        self.parts.forks =
            segments.iter().filter_map(|segment| Some((segment.parent?, None))).collect();
        for segment in segments {
            cancel.check(OPERATION)?;
            self.segment(segment, &active).await?;
        }
        let checkpoints = self.checkpoints().await?;
        self.keep_ends(&checkpoints, created_at);
        for branch in std::mem::take(&mut self.parts.branches) {
            self.sink.take(SalvagedPiece::Branch(branch)).await?;
        }
        for checkpoint in checkpoints {
            self.sink.take(SalvagedPiece::Checkpoint(checkpoint)).await?;
        }
        pieces::fragments(self.connection, self.no, &self.chat, self.sink).await?;
        pieces::blobs(self.connection, self.no, &self.chat, self.sink).await?;
        pieces::streams(self.connection, self.no, &self.chat, self.sink).await?;
        details::compare_revisions(self.connection, self.no, &self.chat, self.sink).await
    }

    /// Reads the messages of a branch. What comes before its first lost message keeps the name of
    /// the branch. What comes after it begins with a root.
    async fn segment(&mut self, segment: SavedSegment, active: &BranchName) -> Result<()> {
        let fork = segment.parent.and_then(|parent| self.parts.forks.get(&parent).cloned());
        if fork == Some(None) {
            let why = "the message that it was forked after is lost: it begins with a root";
            self.lose(LostKind::Branch, segment.shown_name(), why);
        }
        let mut last = fork.flatten();
        let mut chunks: Vec<MessageId> = Vec::new();
        let (mut want, mut is_begun) = (1, false);
        let mut index = None;
        let mut cut_at = None;
        while let Some((first, data)) = self.next_run(&segment, &mut index).await? {
            let mut at = Some(first);
            for piece in pieces_of(&data) {
                let node = match piece {
                    PackedPiece::Node(node) => node,
                    PackedPiece::Damaged { .. } => {
                        at = at.map(|at| at + 1);
                        continue;
                    }
                    _ => {
                        at = None;
                        continue;
                    }
                };
                let listed = self.place_of(&segment, &node.id).await?;
                let Some(own) = at.or(listed) else {
                    self.lose(LostKind::Message, &node.id, "its place in the chat is lost");
                    continue;
                };
                at = Some(own + 1);
                let fits = segment.own.map_or(own == want, |most| own <= most);
                if listed != Some(own) && !(fits && self.may_be_at(&segment, own, &node.id).await?)
                {
                    // The number of a run is not covered by checksums: it may be another chat's.
                    self.lose(LostKind::Rows, "table run", "messages are at the place of others");
                    continue;
                }
                if own < want || !self.parts.messages.insert(node.id.clone()) {
                    self.lose(LostKind::Message, &node.id, "it is there twice");
                    continue;
                }
                if own > want {
                    self.lose_places(&segment, want, own - 1, last.as_ref()).await?;
                    cut_at.get_or_insert(chunks.len() + usize::from(is_begun));
                    chunks.extend(last.take().filter(|_| is_begun));
                }
                want = own + 1;
                let place = segment.place(own);
                self.parts.forks.entry(place).and_modify(|at| *at = Some(node.id.clone()));
                let revisions = self.revisions(&node.id, node.revision).await?;
                let parent = last.replace(node.id.clone());
                if !is_begun {
                    self.parts.parents.extend(parent.clone());
                }
                is_begun = true;
                self.sink.take(SalvagedPiece::Message { node, parent, revisions }).await?;
            }
        }
        if let Some(own) = segment.own.filter(|own| *own >= want) {
            self.lose_places(&segment, want, own, last.as_ref()).await?;
        }
        let fork = match segment.parent {
            Some(parent) => {
                let fork = self.parts.forks.get(&parent).cloned().flatten();
                fork.or_else(|| self.parts.before.get(&parent).cloned())
            }
            None => None,
        };
        chunks.extend(last.filter(|_| is_begun));
        // Where the first messages are lost, the branch ends where it was forked, if it was.
        let named = match cut_at {
            Some(0) if fork.is_some() => fork.clone(),
            _ => chunks.first().cloned().or(fork),
        };
        for end in
            chunks.into_iter().filter(|end| Some(end) != named.as_ref() || segment.name.is_none())
        {
            self.parts.ends.push((end, segment.name.clone()));
        }
        if let Some(name) = segment.name {
            let at = Timestamp::from_micros(segment.created_at);
            let is_active = name == *active;
            self.parts.branches.push(Branch::new(name, named, 0, is_active, at));
        }
        Ok(())
    }

    /// Returns the next run of a branch, and its tail after them.
    async fn next_run(
        &mut self,
        segment: &SavedSegment,
        index: &mut Option<i64>,
    ) -> Result<Option<(i64, bytes::Bytes)>> {
        const NEXT: &str =
            "SELECT pos, data FROM run WHERE pos > ?1 AND pos <= ?2 ORDER BY pos LIMIT 1";
        let after = index.unwrap_or(segment.place(0));
        let query = sqlx::query(NEXT).bind(after).bind(segment.place(i64::from(u32::MAX)));
        if let Some(row) = run(self.connection, query).await?.pop() {
            let pos: i64 = row.try_get(0)?;
            *index = Some(pos);
            return Ok(Some((pos - segment.place(0), blob(row, 1)?)));
        }
        let end = segment.place(i64::from(u32::MAX));
        if *index == Some(end) {
            return Ok(None);
        }
        *index = Some(end);
        Ok(segment.tail.clone())
    }

    /// Returns the number of a message within a branch, as the index of ids or the branch lists it.
    async fn place_of(&mut self, segment: &SavedSegment, id: &MessageId) -> Result<Option<i64>> {
        const PLACE: &str = "SELECT pos FROM node WHERE chat = ?1 AND id = ?2";
        if let Some(own) = segment.listed(id) {
            return Ok(Some(own));
        }
        let query = sqlx::query(PLACE).bind(self.no).bind(id.as_str());
        let rows = run(self.connection, query).await?;
        let place = rows.first().map(|row| row.try_get::<i64, _>(0)).transpose()?;
        Ok(place.filter(|place| segment.holds(*place)).map(|place| place - segment.place(0)))
    }

    /// Whether a message may be at a place, as far as the index of ids tells: it lists the message
    /// in this chat, or lists nothing at this place.
    async fn may_be_at(
        &mut self,
        segment: &SavedSegment,
        own: i64,
        id: &MessageId,
    ) -> Result<bool> {
        const LISTED: &str = "SELECT id = ?3 FROM node WHERE chat = ?1 AND (id = ?3 OR pos = ?2)
            ORDER BY id <> ?3 LIMIT 1";
        let query = sqlx::query(LISTED).bind(self.no).bind(segment.place(own)).bind(id.as_str());
        let rows = run(self.connection, query).await?;
        Ok(rows.first().map(|row| row.try_get(0)).transpose()?.unwrap_or(true))
    }

    /// Names the messages of a branch that are lost.
    async fn lose_places(
        &mut self,
        segment: &SavedSegment,
        first: i64,
        last: i64,
        before: Option<&MessageId>,
    ) -> Result<()> {
        const IDS: &str = "SELECT pos, id FROM node WHERE chat = ?1 AND pos BETWEEN ?2 AND ?3";
        let query = sqlx::query(IDS).bind(self.no).bind(segment.place(first));
        let mut known: BTreeMap<i64, MessageId> = segment.tail_ids.iter().cloned().collect();
        for row in run(self.connection, query.bind(segment.place(last))).await? {
            let own = row.try_get::<i64, _>(0)? - segment.place(0);
            known.insert(own, MessageId::from(row.try_get::<&str, _>(1)?));
        }
        let lost = segment.place(first)..=segment.place(last);
        let forks = self.parts.forks.keys().filter(|place| lost.contains(place));
        self.parts.before.extend(forks.filter_map(|place| Some((*place, before?.clone()))));
        let mut named = 0;
        for (_, id) in known.range(first..=last) {
            named += 1;
            self.lose(LostKind::Message, id, "it is damaged");
        }
        let unnamed = last - first + 1 - named;
        if unnamed > 0 {
            let why = format!("{unnamed} messages, whose ids are lost too, are damaged");
            let name = format!("among {first} to {last} of branch {}", segment.shown_name());
            self.lose(LostKind::Message, name, why);
        }
        Ok(())
    }

    fn lose(&mut self, kind: LostKind, name: impl std::fmt::Display, why: impl Into<String>) {
        self.sink.lose(Loss::new(kind, name, why).of_chat(&self.chat));
    }

    async fn revisions(&mut self, id: &MessageId, revision: u32) -> Result<Vec<Revision>> {
        const REVISIONS: &str =
            "SELECT record, replaced_at FROM revision WHERE chat = ?1 AND id = ?2 ORDER BY no";
        if revision == 0 {
            return Ok(Vec::new());
        }
        let query = sqlx::query(REVISIONS).bind(self.no).bind(id.as_str());
        let mut revisions = Vec::new();
        for row in run(self.connection, query).await? {
            let at = Timestamp::from_micros(row.try_get(1)?);
            let mut record = pieces_of(&blob(row, 0)?);
            if let Some(PackedPiece::Node(node)) = record.pop() {
                revisions.push(Revision::new(node, at));
            }
        }
        Ok(revisions)
    }

    /// Returns the checkpoints whose messages are sound.
    async fn checkpoints(&mut self) -> Result<Vec<Checkpoint>> {
        const CHECKPOINTS: &str = "SELECT name, message, created_at FROM checkpoint WHERE chat = ?1
            ORDER BY created_at, name";
        let rows = run(self.connection, sqlx::query(CHECKPOINTS).bind(self.no)).await?;
        let mut kept = Vec::new();
        for row in &rows {
            let (name, message): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
            let at = Timestamp::from_micros(row.try_get(2)?);
            let checkpoint = Checkpoint::new(name.into(), message.into(), at);
            if self.parts.messages.contains(&checkpoint.message) {
                kept.push(checkpoint);
            } else {
                let why = format!("its message {message} is lost");
                self.lose(LostKind::Checkpoint, name, why);
            }
        }
        details::compare_counts(self.connection, self.no, &self.chat, rows.len(), self.sink)
            .await?;
        Ok(kept)
    }

    /// Makes a branch for each message that nothing else reaches.
    fn keep_ends(&mut self, checkpoints: &[Checkpoint], created_at: Timestamp) {
        let ChatParts { parents, ends, branches, .. } = &mut self.parts;
        let reached: HashSet<&MessageId> = parents
            .iter()
            .chain(checkpoints.iter().map(|checkpoint| &checkpoint.message))
            .collect();
        let names: HashSet<BranchName> =
            branches.iter().map(|branch| branch.name.clone()).collect();
        let heads: HashSet<MessageId> =
            branches.iter().filter_map(|branch| branch.head.clone()).collect();
        let mut number = 0;
        for (end, name) in ends.drain(..) {
            if reached.contains(&end) || heads.contains(&end) {
                continue;
            }
            let name = loop {
                number += 1;
                let of = name.as_ref().map_or("deleted", BranchName::as_str);
                let name = BranchName::from(format!("{of}-rest-{number}"));
                if !names.contains(&name) {
                    break name;
                }
            };
            branches.push(Branch::new(name, Some(end), 0, false, created_at));
        }
    }
}
