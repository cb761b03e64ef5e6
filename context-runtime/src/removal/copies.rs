//! Searching all data of a user for copies of removed content.

use context_core::base::limits;
use context_core::memory::MemoryScope;
use context_core::store::{
    BlobStore, ChatQuery, MemoryList, MemoryRecordStore, PageWalk, RoundQuery, StoredStream,
    TrajectoryStore,
};
use context_core::{ChatId, ChatRef, ErrorKind, Result, Store, UserId};

use super::texts::Needles;
use super::walk::RemovalWalk;
use super::{Remaining, RemainingKind, RemainingReason, memories, reads, rounds};

const OPERATION: &str = "find_copies";

/// A search for copies. Leaves out what a plan takes.
pub(super) struct CopySearch<'a> {
    store: &'a dyn Store,
    needles: &'a Needles,
    walk: &'a RemovalWalk<'a>,
    /// The chat with redacted messages. The plan has their new form.
    redacted: Option<&'a ChatRef>,
    /// Whether the searched users are others than the one whose content is removed.
    is_of_others: bool,
    /// The number of searched chats.
    chats: u64,
    /// The copies, with the source of their words. What cannot be read is listed with the first.
    found: Vec<(usize, Remaining)>,
}

impl<'a> CopySearch<'a> {
    pub(super) fn new(
        store: &'a dyn Store,
        needles: &'a Needles,
        walk: &'a RemovalWalk<'a>,
    ) -> Self {
        Self {
            store,
            needles,
            walk,
            redacted: None,
            is_of_others: false,
            chats: 0,
            found: Vec::new(),
        }
    }

    /// Sets that the searched users are others than the one whose content is removed.
    pub(super) fn of_others(mut self) -> Self {
        self.is_of_others = true;
        self
    }

    /// Sets the chat with redacted messages.
    pub(super) fn of_redacted(mut self, chat: &'a ChatRef) -> Self {
        self.redacted = Some(chat);
        self
    }

    /// Returns the copies, each with the number of the removal that took its words.
    pub(super) fn finish(self) -> impl Iterator<Item = (usize, Remaining)> {
        let planned = &self.walk.planned;
        self.found.into_iter().filter(|(_, left)| !planned.covers(left))
    }

    /// Searches all data of a user.
    pub(super) async fn search(&mut self, user: &UserId) -> Result<()> {
        if self.needles.is_empty() {
            return Ok(());
        }
        let before = self.found.len();
        self.search_chats(user).await?;
        if let Some(trajectories) = self.store.trajectories() {
            self.search_rounds(trajectories, user).await?;
        }
        if let Some(records) = self.store.memories() {
            self.search_memories(records, user).await?;
        }
        for (_, left) in self.found.iter_mut().skip(before).filter(|_| self.is_of_others) {
            left.user = Some(user.clone());
        }
        Ok(())
    }

    async fn search_chats(&mut self, user: &UserId) -> Result<()> {
        let mut query = ChatQuery { limit: limits::MAX_PAGE, ..ChatQuery::new(user.clone()) };
        let mut pages = PageWalk::new("list_chats", "chat");
        loop {
            let page = self.store.history().list_chats(&query).await?;
            let next = pages.next(&page)?;
            for summary in page.items {
                self.walk.options.cancel.check(OPERATION)?;
                self.walk.options.cancel.report("searched chat", self.chats);
                self.chats += 1;
                let chat = &summary.chat.chat;
                if self.walk.planned.is_gone("chat", None, chat.chat.as_str()) {
                    continue;
                }
                let metadata = serde_json::to_vec(&summary.chat.metadata).unwrap_or_default();
                let has_title = !self.walk.planned.is_gone("title", Some(&chat.chat), "");
                let title = summary.chat.title.as_ref().filter(|_| has_title);
                let source = title.and_then(|title| self.needles.find(title));
                let source = source.or_else(|| self.needles.find_in_bytes(&metadata));
                self.note(source, RemainingKind::Title, Some(&chat.chat), "");
                match self.search_chat(chat).await {
                    // Deleted in the meantime.
                    Err(error) if error.is_not_found() => {}
                    Err(error) if error.kind() == ErrorKind::Corrupt => {
                        let (kind, reason) = (RemainingKind::Chat, RemainingReason::Unreadable);
                        self.found.push((0, Remaining::new(kind, None, &chat.chat, reason)));
                    }
                    looked => looked?,
                }
            }
            query.after = next;
            if query.after.is_none() {
                return Ok(());
            }
        }
    }

    fn note(
        &mut self,
        source: Option<usize>,
        kind: RemainingKind,
        chat: Option<&ChatId>,
        id: impl std::fmt::Display,
    ) {
        if let Some(source) = source {
            let left = Remaining::new(kind, chat, id, RemainingReason::SameWords);
            self.found.push((source, left));
        }
    }

    async fn search_chat(&mut self, chat: &ChatRef) -> Result<()> {
        let (history, name) = (self.store.history(), Some(&chat.chat));
        for placed in reads::messages(history, chat).await? {
            let rewritten = self.walk.planned.nodes.get(&placed.node.id);
            let rewritten = rewritten.filter(|_| self.redacted == Some(chat));
            let node = rewritten.unwrap_or(&placed.node);
            let mut source = self.needles.find_in_bytes(node.body().bytes());
            if source.is_none() && rewritten.is_none() && node.revision > 0 {
                let earlier = history.revisions(chat, &node.id).await?;
                let mut bodies = earlier.iter().map(|was| was.node.body().bytes());
                source = bodies.find_map(|body| self.needles.find_in_bytes(body));
            }
            self.note(source, RemainingKind::Message, name, &node.id);
        }
        let mut fragments = self.store.fragments().fragments(chat).await?;
        if let Some(log) = self.store.fragment_log() {
            let log = log.fragment_log(chat).await?;
            let versions = log.versions().iter().filter_map(|version| version.fragment.as_ref());
            for earlier in versions {
                if !fragments.contains(earlier) {
                    fragments.push(earlier.clone());
                }
            }
        }
        for fragment in fragments {
            let source = self.needles.find_in_bytes(fragment.body.bytes());
            let id = fragment.id.as_ref().map(ToString::to_string).unwrap_or_default();
            self.note(source, RemainingKind::Fragment, name, id);
        }
        if let Some(streams) = self.store.streams() {
            for StoredStream { id, .. } in reads::streams(streams, chat).await? {
                let chunks = reads::chunks(streams, chat, &id).await?;
                self.note(self.needles.find_in_chunks(&chunks), RemainingKind::Stream, name, id);
            }
        }
        match self.store.blobs() {
            Some(blobs) => self.search_blobs(blobs, chat).await,
            None => Ok(()),
        }
    }

    async fn search_blobs(&mut self, blobs: &dyn BlobStore, chat: &ChatRef) -> Result<()> {
        for blob in reads::blobs(blobs, chat).await? {
            let read = blobs.read_blob(chat, &blob.id, 0..blob.bytes, None).await?;
            let text = read.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
            let source = text.and_then(|text| self.needles.find_in_bytes(text.as_bytes()));
            self.note(source, RemainingKind::Blob, Some(&chat.chat), blob.id);
        }
        Ok(())
    }

    async fn search_rounds(
        &mut self,
        trajectories: &dyn TrajectoryStore,
        user: &UserId,
    ) -> Result<()> {
        for head in rounds::heads(trajectories, RoundQuery::of_user(user.clone())).await? {
            self.walk.options.cancel.check(OPERATION)?;
            let round = &head.round;
            if self.walk.planned.is_gone("round", None, &round.to_string()) {
                continue;
            }
            let record = match rounds::load(trajectories, round).await {
                Ok(record) => record,
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    let (kind, reason) = (RemainingKind::Round, RemainingReason::Unreadable);
                    self.found.push((0, Remaining::new(kind, None, round, reason)));
                    continue;
                }
                Err(error) => return Err(error),
            };
            let query = head.query;
            let mut has_title = true;
            for node in record.iter().flat_map(|record| &record.nodes) {
                let id = rounds::node_name(node, round);
                if self.walk.planned.is_gone("node", None, &id) {
                    has_title = has_title && query != Some(node.id.ordinal);
                    continue;
                }
                let json = serde_json::to_vec(&**node).unwrap_or_default();
                self.note(self.needles.find_in_bytes(&json), RemainingKind::Node, None, id);
            }
            let queues = serde_json::to_vec(&head.queues).unwrap_or_default();
            let source = has_title.then(|| self.needles.find(&head.title)).flatten();
            let source = source.or_else(|| self.needles.find_in_bytes(&queues));
            self.note(source, RemainingKind::Round, None, round);
        }
        Ok(())
    }

    async fn search_memories(
        &mut self,
        records: &dyn MemoryRecordStore,
        user: &UserId,
    ) -> Result<()> {
        for stats in memories::stats_within(records, &MemoryScope::new(user.clone())).await? {
            self.walk.options.cancel.check(OPERATION)?;
            let list = MemoryList::new(vec![stats.scope], limits::MAX_PAGE);
            for record in memories::listed(records, list).await? {
                let data = serde_json::to_vec(&record.data).unwrap_or_default();
                let source = self.needles.find(&record.text);
                let source = source.or_else(|| self.needles.find_in_bytes(&data));
                self.note(source, RemainingKind::Memory, None, memories::name(&record));
            }
        }
        Ok(())
    }
}
