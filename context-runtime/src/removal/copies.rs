//! Searching all data of a user for copies of removed content.

use context_core::base::limits;
use context_core::memory::MemoryScope;
use context_core::store::{
    BlobStore, ChatQuery, MemoryList, MemoryRecordStore, PageWalk, RoundQuery, StoredStream,
    TrajectoryStore,
};
use context_core::{ChatId, ChatRef, ErrorKind, Result, Store, UserId};

use super::texts::Needles;
use super::walk::{PlannedContent, RemovalWalk};
use super::{Remaining, RemainingKind, RemainingReason, RemovalOptions, reads, rounds};

const OPERATION: &str = "find_copies";

/// Adds the items of the user with removed words to the report. Reads all data of the user. A plan
/// leaves out what would go.
pub(super) async fn find(
    store: &dyn Store,
    chat: &ChatRef,
    needles: &Needles,
    walk: &mut RemovalWalk<'_>,
) -> Result<()> {
    if needles.is_empty() {
        return Ok(());
    }
    let (user, options, planned) = (&chat.user, walk.options, &walk.planned);
    let mut copies = CopySearch { needles, of: chat, planned, remaining: Vec::new() };
    let mut query = ChatQuery { limit: limits::MAX_PAGE, ..ChatQuery::new(user.clone()) };
    let mut pages = PageWalk::new("list_chats", "chat");
    loop {
        let page = store.history().list_chats(&query).await?;
        let next = pages.next(&page)?;
        for summary in page.items {
            options.cancel.check(OPERATION)?;
            let chat = &summary.chat.chat;
            if planned.is_gone("chat", None, chat.chat.as_str()) {
                continue;
            }
            let metadata = serde_json::to_vec(&summary.chat.metadata).unwrap_or_default();
            let is_copy = !planned.is_gone("title", Some(&chat.chat), "")
                && summary.chat.title.as_ref().is_some_and(|title| needles.are_in(title));
            copies.note(
                is_copy || needles.are_in_bytes(&metadata),
                RemainingKind::Title,
                &chat.chat,
                "",
            );
            match copies.search_chat(store, chat).await {
                // Deleted in the meantime.
                Err(error) if error.is_not_found() => {}
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    let (kind, reason) = (RemainingKind::Chat, RemainingReason::Unreadable);
                    copies.remaining.push(Remaining::new(kind, None, &chat.chat, reason));
                }
                looked => looked?,
            }
        }
        query.after = next;
        if query.after.is_none() {
            break;
        }
    }
    if let Some(trajectories) = store.trajectories() {
        copies.search_rounds(trajectories, user, options).await?;
    }
    if let Some(records) = store.memories() {
        copies.search_memories(records, user, options).await?;
    }
    let remaining = copies.remaining;
    walk.report.remaining.extend(remaining);
    Ok(())
}

struct CopySearch<'a> {
    needles: &'a Needles,
    /// The chat with the removed content.
    of: &'a ChatRef,
    planned: &'a PlannedContent,
    remaining: Vec<Remaining>,
}

impl CopySearch<'_> {
    fn note(
        &mut self,
        is_copy: bool,
        kind: RemainingKind,
        chat: &ChatId,
        id: impl std::fmt::Display,
    ) {
        if is_copy {
            self.remaining.push(Remaining::new(kind, Some(chat), id, RemainingReason::SameWords));
        }
    }

    async fn search_chat(&mut self, store: &dyn Store, chat: &ChatRef) -> Result<()> {
        let (history, name) = (store.history(), &chat.chat);
        for placed in reads::messages(history, chat).await? {
            let rewritten = self.planned.nodes.get(&placed.node.id).filter(|_| chat == self.of);
            let node = rewritten.unwrap_or(&placed.node);
            let mut is_copy = self.needles.are_in_bytes(node.body().bytes());
            if !is_copy && rewritten.is_none() && node.revision > 0 {
                let earlier = history.revisions(chat, &node.id).await?;
                is_copy =
                    earlier.iter().any(|was| self.needles.are_in_bytes(was.node.body().bytes()));
            }
            self.note(is_copy, RemainingKind::Message, name, &node.id);
        }
        let mut fragments = store.fragments().fragments(chat).await?;
        if let Some(log) = store.fragment_log() {
            let log = log.fragment_log(chat).await?;
            let versions = log.versions().iter().filter_map(|version| version.fragment.as_ref());
            for earlier in versions {
                if !fragments.contains(earlier) {
                    fragments.push(earlier.clone());
                }
            }
        }
        for fragment in fragments {
            let is_copy = self.needles.are_in_bytes(fragment.body.bytes());
            let id = fragment.id.as_ref().map(ToString::to_string).unwrap_or_default();
            self.note(is_copy, RemainingKind::Fragment, name, id);
        }
        if let Some(streams) = store.streams() {
            for StoredStream { id, .. } in reads::streams(streams, chat).await? {
                if !self.planned.is_gone("stream", Some(name), id.as_str()) {
                    let chunks = reads::chunks(streams, chat, &id).await?;
                    let is_copy = self.needles.are_in_chunks(&chunks);
                    self.note(is_copy, RemainingKind::Stream, name, id);
                }
            }
        }
        match store.blobs() {
            Some(blobs) => self.search_blobs(blobs, chat).await,
            None => Ok(()),
        }
    }

    async fn search_blobs(&mut self, blobs: &dyn BlobStore, chat: &ChatRef) -> Result<()> {
        for blob in reads::blobs(blobs, chat).await? {
            if self.planned.is_gone("blob", Some(&chat.chat), &blob.id.to_string()) {
                continue;
            }
            let read = blobs.read_blob(chat, &blob.id, 0..blob.bytes, None).await?;
            let text = read.as_deref().map(std::str::from_utf8);
            let is_copy =
                matches!(text, Some(Ok(text)) if self.needles.are_in_bytes(text.as_bytes()));
            self.note(is_copy, RemainingKind::Blob, &chat.chat, blob.id);
        }
        Ok(())
    }

    async fn search_rounds(
        &mut self,
        trajectories: &dyn TrajectoryStore,
        user: &UserId,
        options: &RemovalOptions,
    ) -> Result<()> {
        for head in rounds::heads(trajectories, RoundQuery::of_user(user.clone())).await? {
            options.cancel.check(OPERATION)?;
            let (round, reason) = (&head.round, RemainingReason::SameWords);
            if self.planned.is_gone("round", None, &round.to_string()) {
                continue;
            }
            let record = match rounds::load(trajectories, round).await {
                Ok(record) => record,
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    let reason = RemainingReason::Unreadable;
                    self.remaining.push(Remaining::new(RemainingKind::Round, None, round, reason));
                    continue;
                }
                Err(error) => return Err(error),
            };
            let query = head.query;
            let mut has_title = true;
            for node in record.iter().flat_map(|record| &record.nodes) {
                let id = rounds::node_name(node, round);
                if self.planned.is_gone("node", None, &id) {
                    has_title = has_title && query != Some(node.id.ordinal);
                    continue;
                }
                let json = serde_json::to_vec(&**node).unwrap_or_default();
                if self.needles.are_in_bytes(&json) {
                    self.remaining.push(Remaining::new(RemainingKind::Node, None, id, reason));
                }
            }
            let queues = serde_json::to_vec(&head.queues).unwrap_or_default();
            if has_title && self.needles.are_in(&head.title) || self.needles.are_in_bytes(&queues) {
                self.remaining.push(Remaining::new(RemainingKind::Round, None, round, reason));
            }
        }
        Ok(())
    }

    async fn search_memories(
        &mut self,
        records: &dyn MemoryRecordStore,
        user: &UserId,
        options: &RemovalOptions,
    ) -> Result<()> {
        let mut after = None;
        let mut walk = PageWalk::new("memory_stats", "scope");
        loop {
            let page = records.memory_stats(user, limits::MAX_PAGE, after.as_ref()).await?;
            let next = walk.next(&page)?;
            for stats in page.items {
                options.cancel.check(OPERATION)?;
                self.search_scope(records, stats.scope).await?;
            }
            after = next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    async fn search_scope(
        &mut self,
        records: &dyn MemoryRecordStore,
        scope: MemoryScope,
    ) -> Result<()> {
        let mut list = MemoryList::new(vec![scope], limits::MAX_PAGE);
        let mut walk = PageWalk::new("list_memories", "memory");
        loop {
            let page = records.list_memories(&list).await?;
            let next = walk.next(&page)?;
            for stored in page.items {
                if self.planned.has_forgotten(&stored.record) {
                    continue;
                }
                let data = serde_json::to_vec(&stored.record.data).unwrap_or_default();
                if self.needles.are_in(&stored.record.text) || self.needles.are_in_bytes(&data) {
                    let (kind, reason) = (RemainingKind::Memory, RemainingReason::SameWords);
                    self.remaining.push(Remaining::new(kind, None, &stored.record.id, reason));
                }
            }
            match next {
                Some(next) => list = list.after(Some(next)),
                None => return Ok(()),
            }
        }
    }
}
