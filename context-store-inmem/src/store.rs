//! The store: one lock around all chats, and the traits of the seam in front of it.
//!
//! Every call takes the lock once, does all of its work under it and never awaits. So each call is one
//! transaction, and a dropped future has either not begun or is done.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use async_trait::async_trait;
use context_core::{
    Branch, BranchName, CancelSignal, Chain, ChainEnd, Chat, ChatPatch, ChatQuery, ChatRef, ChatSummary,
    CheckReport, Checkpoint, CheckpointName, Commit, CommitOutcome, Created, Cursor, Durability, Error,
    ErrorKind, FragmentId, FragmentStore, HistoryStore, Maintenance, MessageId, NewChat, Page, Placed,
    Result, Revision, Store, StoreInfo, StoredFragment, Timestamp, Window, check_chat_graph, limits,
};

use crate::chat::ChatState;

/// A store in memory. Clones are handles to the same chats.
///
/// It promises [`Durability::Process`]: nothing survives the last handle.
#[derive(Clone, Default)]
pub struct InMemoryStore(Shared);

/// Implements the traits apart from [`InMemoryStore`], so that `store.fragments()` can only mean one thing.
#[derive(Clone, Default)]
struct Shared(Arc<RwLock<Chats>>);

#[derive(Default)]
struct Chats {
    by_ref: BTreeMap<ChatRef, ChatState>,
    /// How many chats were ever created: numbers them, to order chats of the same moment.
    created: u64,
}

impl Store for InMemoryStore {
    fn info(&self) -> StoreInfo {
        StoreInfo::new("inmem", Durability::Process, false)
    }

    fn history(&self) -> &dyn HistoryStore {
        &self.0
    }

    fn fragments(&self) -> &dyn FragmentStore {
        &self.0
    }

    fn maintenance(&self) -> Option<&dyn Maintenance> {
        Some(&self.0)
    }
}

impl fmt::Debug for InMemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InMemoryStore").finish_non_exhaustive()
    }
}

impl Shared {
    fn read(&self, operation: &'static str) -> Result<RwLockReadGuard<'_, Chats>> {
        self.0.read().map_err(|_| poisoned(operation))
    }

    fn write(&self, operation: &'static str) -> Result<RwLockWriteGuard<'_, Chats>> {
        self.0.write().map_err(|_| poisoned(operation))
    }
}

fn poisoned(operation: &'static str) -> Error {
    Error::new(ErrorKind::Bug, operation, "an earlier call panicked while it wrote")
}

impl Chats {
    fn get(&self, operation: &'static str, chat: &ChatRef) -> Result<&ChatState> {
        self.by_ref.get(chat).ok_or_else(|| Error::not_found(operation, "chat", &chat.chat))
    }

    fn get_mut(&mut self, operation: &'static str, chat: &ChatRef) -> Result<&mut ChatState> {
        self.by_ref.get_mut(chat).ok_or_else(|| Error::not_found(operation, "chat", &chat.chat))
    }
}

#[async_trait]
impl HistoryStore for Shared {
    async fn create_chat(&self, new: NewChat) -> Result<Created> {
        limits::check_new_chat(&new)?;
        let mut chats = self.write("create_chat")?;
        if let Some(existing) = chats.by_ref.get(&new.chat) {
            return Ok(Created::Existing(existing.chat.clone()));
        }
        chats.created += 1;
        let chat = Chat::new(new);
        let state = ChatState::new(chat.clone(), chats.created);
        chats.by_ref.insert(chat.chat.clone(), state);
        Ok(Created::New(chat))
    }

    async fn chat(&self, chat: &ChatRef) -> Result<Option<Chat>> {
        Ok(self.read("chat")?.by_ref.get(chat).map(|state| state.chat.clone()))
    }

    async fn list_chats(&self, query: &ChatQuery) -> Result<Page<ChatSummary>> {
        const OPERATION: &str = "list_chats";
        query.check()?;
        let after = query.after.as_ref().map(|cursor| place_of(OPERATION, cursor)).transpose()?;
        let chats = self.read(OPERATION)?;
        let place = |state: &ChatState| (state.chat.updated_at.as_micros(), state.number);
        let mut found: Vec<_> = chats
            .by_ref
            .values()
            .filter(|state| state.chat.chat.user == query.user && query.matches(&state.chat))
            .filter(|state| after.is_none_or(|after| place(state) < after))
            .collect();
        found.sort_by_key(|state| std::cmp::Reverse(place(state)));
        let more = found.len() > query.limit;
        found.truncate(query.limit);
        let next = found.last().filter(|_| more).map(|last| {
            let (updated, number) = place(last);
            Cursor::new(format!("{updated}:{number}"))
        });
        Ok(Page { items: found.into_iter().map(ChatState::summary).collect(), next })
    }

    async fn update_chat(&self, chat: &ChatRef, patch: &ChatPatch, at: Timestamp) -> Result<Chat> {
        const OPERATION: &str = "update_chat";
        limits::check_chat(OPERATION, chat)?;
        let mut chats = self.write(OPERATION)?;
        let state = chats.get_mut(OPERATION, chat)?;
        let mut changed = state.chat.clone();
        patch.apply(&mut changed)?;
        changed.updated_at = changed.updated_at.max(at);
        state.chat = changed.clone();
        Ok(changed)
    }

    async fn delete_chat(&self, chat: &ChatRef) -> Result<bool> {
        Ok(self.write("delete_chat")?.by_ref.remove(chat).is_some())
    }

    async fn commit(&self, commit: Commit) -> Result<CommitOutcome> {
        limits::check_commit(&commit)?;
        self.write("commit")?.get_mut("commit", &commit.chat)?.commit(commit)
    }

    async fn branches(&self, chat: &ChatRef) -> Result<Vec<Branch>> {
        Ok(self.read("branches")?.get("branches", chat)?.branches())
    }

    async fn activate_branch(&self, chat: &ChatRef, branch: &BranchName, at: Timestamp) -> Result<()> {
        const OPERATION: &str = "activate_branch";
        let mut chats = self.write(OPERATION)?;
        let state = chats.get_mut(OPERATION, chat)?;
        state.branch(OPERATION, branch)?;
        state.chat.active = branch.clone();
        state.chat.updated_at = state.chat.updated_at.max(at);
        Ok(())
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
        let mut chats = self.write(OPERATION)?;
        let state = chats.get_mut(OPERATION, chat)?;
        state.placed(OPERATION, message)?;
        let checkpoint = Checkpoint::new(name.clone(), message.clone(), at);
        state.checkpoints.insert(name.clone(), checkpoint.clone());
        state.chat.updated_at = state.chat.updated_at.max(at);
        Ok(checkpoint)
    }

    async fn checkpoints(&self, chat: &ChatRef) -> Result<Vec<Checkpoint>> {
        let chats = self.read("checkpoints")?;
        Ok(chats.get("checkpoints", chat)?.checkpoints.values().cloned().collect())
    }

    async fn delete_checkpoint(&self, chat: &ChatRef, name: &CheckpointName) -> Result<bool> {
        const OPERATION: &str = "delete_checkpoint";
        let mut chats = self.write(OPERATION)?;
        Ok(chats.get_mut(OPERATION, chat)?.checkpoints.remove(name).is_some())
    }

    async fn chain(&self, chat: &ChatRef, end: &ChainEnd, window: &Window) -> Result<Chain> {
        let chats = self.read("chain")?;
        Ok(window.of(&chats.get("chain", chat)?.chain(end)?))
    }

    async fn messages(&self, chat: &ChatRef, ids: &[MessageId]) -> Result<Vec<Option<Placed>>> {
        let chats = self.read("messages")?;
        let state = chats.get("messages", chat)?;
        Ok(ids.iter().map(|id| state.find(id).cloned()).collect())
    }

    async fn all_messages(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Placed>> {
        const OPERATION: &str = "all_messages";
        if !(1..=limits::MAX_PAGE).contains(&limit) {
            let message = "a page holds at least one item and at most the limit";
            return Err(Error::invalid(OPERATION, message)
                .with("asked", limit)
                .with("limit", limits::MAX_PAGE));
        }
        let start: usize = match after {
            None => 0,
            Some(cursor) => cursor.as_str().parse().map_err(|_| bad_cursor(OPERATION))?,
        };
        let chats = self.read(OPERATION)?;
        // Messages are kept as they were written, so a parent comes before its children.
        let all = &chats.get(OPERATION, chat)?.nodes;
        let items: Vec<_> = all.iter().skip(start).take(limit).cloned().collect();
        let end = start.saturating_add(items.len());
        Ok(Page { items, next: (end < all.len()).then(|| Cursor::new(end.to_string())) })
    }

    async fn revisions(&self, chat: &ChatRef, message: &MessageId) -> Result<Vec<Revision>> {
        let chats = self.read("revisions")?;
        Ok(chats.get("revisions", chat)?.revisions.get(message).cloned().unwrap_or_default())
    }
}

fn place_of(operation: &'static str, cursor: &Cursor) -> Result<(i64, u64)> {
    let place = cursor.as_str().split_once(':');
    let place = place.and_then(|(updated, number)| Some((updated.parse().ok()?, number.parse().ok()?)));
    place.ok_or_else(|| bad_cursor(operation))
}

fn bad_cursor(operation: &'static str) -> Error {
    Error::invalid(operation, "the cursor is not one of this listing")
}

#[async_trait]
impl FragmentStore for Shared {
    async fn fragments(&self, chat: &ChatRef) -> Result<Vec<StoredFragment>> {
        Ok(self.read("fragments")?.get("fragments", chat)?.fragments.clone())
    }

    async fn put_fragments(&self, chat: &ChatRef, fragments: &[StoredFragment], at: Timestamp) -> Result<()> {
        const OPERATION: &str = "put_fragments";
        fragments.iter().try_for_each(|fragment| limits::check_fragment(OPERATION, fragment))?;
        let mut chats = self.write(OPERATION)?;
        let state = chats.get_mut(OPERATION, chat)?;
        state.put_fragments(fragments.to_vec());
        state.chat.updated_at = state.chat.updated_at.max(at);
        Ok(())
    }

    async fn remove_fragment(&self, chat: &ChatRef, id: &FragmentId) -> Result<bool> {
        const OPERATION: &str = "remove_fragment";
        let mut chats = self.write(OPERATION)?;
        let fragments = &mut chats.get_mut(OPERATION, chat)?.fragments;
        let before = fragments.len();
        fragments.retain(|fragment| fragment.id.as_ref() != Some(id));
        Ok(fragments.len() < before)
    }
}

#[async_trait]
impl Maintenance for Shared {
    async fn check(&self, cancel: &CancelSignal) -> Result<CheckReport> {
        let chats = self.read("check")?;
        let mut report = CheckReport::default();
        for state in chats.by_ref.values() {
            cancel.check("check")?;
            let checkpoints: Vec<_> = state.checkpoints.values().cloned().collect();
            let findings = check_chat_graph(&state.chat, &state.nodes, &state.branches(), &checkpoints);
            report.findings.extend(findings);
            report.messages += state.nodes.len() as u64;
            report.chats += 1;
        }
        Ok(report)
    }
}
