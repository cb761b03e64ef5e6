//! Searching all data of a user for copies of removed content.

use context_core::base::limits;
use context_core::memory::MemoryScope;
use context_core::store::{
    BlobStore, ChatQuery, MemoryList, MemoryRecordStore, PageWalk, RoundQuery, TrajectoryStore,
};
use context_core::{ChatId, ChatRef, ErrorKind, Result, Store, UserId};

use super::texts::Needles;
use super::{Remaining, RemainingKind, RemainingReason, RemovalOptions, reads, rounds};

const OPERATION: &str = "find_copies";

/// Returns the items of a user with removed words. Reads all data of the user.
pub(super) async fn find(
    store: &dyn Store,
    user: &UserId,
    needles: &Needles,
    options: &RemovalOptions,
) -> Result<Vec<Remaining>> {
    if needles.is_empty() {
        return Ok(Vec::new());
    }
    let mut copies = CopySearch { needles, remaining: Vec::new() };
    let mut query = ChatQuery { limit: limits::MAX_PAGE, ..ChatQuery::new(user.clone()) };
    let mut walk = PageWalk::new("list_chats", "chat");
    loop {
        let page = store.history().list_chats(&query).await?;
        let next = walk.next(&page)?;
        for summary in page.items {
            options.cancel.check(OPERATION)?;
            let chat = &summary.chat.chat;
            let metadata = serde_json::to_vec(&summary.chat.metadata).unwrap_or_default();
            let is_copy = summary.chat.title.as_ref().is_some_and(|title| needles.are_in(title));
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
    Ok(copies.remaining)
}

struct CopySearch<'a> {
    needles: &'a Needles,
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
            let node = &placed.node;
            let mut is_copy = self.needles.are_in_bytes(node.body().bytes());
            if !is_copy && node.revision > 0 {
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
            for id in reads::streams(streams, chat).await? {
                let chunks = reads::chunks(streams, chat, &id).await?;
                self.note(self.needles.are_in_chunks(&chunks), RemainingKind::Stream, name, id);
            }
        }
        match store.blobs() {
            Some(blobs) => self.search_blobs(blobs, chat).await,
            None => Ok(()),
        }
    }

    async fn search_blobs(&mut self, blobs: &dyn BlobStore, chat: &ChatRef) -> Result<()> {
        let mut after = None;
        let mut walk = PageWalk::new("blobs", "blob");
        loop {
            let page = blobs.blobs(chat, limits::MAX_PAGE, after.as_ref()).await?;
            let next = walk.next(&page)?;
            for blob in page.items {
                let read = blobs.read_blob(chat, &blob.id, 0..blob.bytes, None).await?;
                let text = read.as_deref().map(std::str::from_utf8);
                let is_copy =
                    matches!(text, Some(Ok(text)) if self.needles.are_in_bytes(text.as_bytes()));
                self.note(is_copy, RemainingKind::Blob, &chat.chat, blob.id);
            }
            after = next;
            if after.is_none() {
                return Ok(());
            }
        }
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
            let queues = serde_json::to_vec(&head.queues).unwrap_or_default();
            if self.needles.are_in(&head.title) || self.needles.are_in_bytes(&queues) {
                self.remaining.push(Remaining::new(RemainingKind::Round, None, round, reason));
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
            for node in record.iter().flat_map(|record| &record.nodes) {
                let json = serde_json::to_vec(&**node).unwrap_or_default();
                if self.needles.are_in_bytes(&json) {
                    let id = format!("{} in {round}", node.id);
                    self.remaining.push(Remaining::new(RemainingKind::Node, None, id, reason));
                }
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
