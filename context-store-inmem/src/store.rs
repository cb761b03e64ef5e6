//! The store: a lock around all chats, and the traits of the seam.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use async_trait::async_trait;
use context_core::{
    Branch, BranchDeletion, BranchName, CancelSignal, Chain, ChainEnd, Chat, ChatPatch, ChatQuery, ChatRef,
    ChatSize, ChatState, ChatSummary, CheckReport, Checkpoint, CheckpointName, Commit, CommitOutcome,
    Created, Cursor, Durability, Erasure, Error, ErrorKind, FragmentId, FragmentStore, HistoryStore,
    Maintenance, MessageId, NewChat, Page, Placed, Result, Revision, SearchHit, SearchQuery, SearchStore,
    Store, StoreInfo, StoredFragment, Timestamp, UserId, Window, limits,
};

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
    /// How many chats were ever created.
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

    fn search(&self) -> Option<&dyn SearchStore> {
        Some(&self.0)
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
    /// Looks at a chat.
    fn read<T>(
        &self,
        operation: &'static str,
        chat: &ChatRef,
        look: impl FnOnce(&ChatState) -> Result<T>,
    ) -> Result<T> {
        look(self.chats(operation)?.by_ref.get(chat).ok_or_else(|| absent(operation, chat))?)
    }

    /// Changes a chat. What a [`ChatState`] refuses it has not changed, so there is nothing to roll back.
    fn write<T>(
        &self,
        operation: &'static str,
        chat: &ChatRef,
        change: impl FnOnce(&mut ChatState) -> Result<T>,
    ) -> Result<T> {
        let mut chats = self.chats_mut(operation)?;
        change(chats.by_ref.get_mut(chat).ok_or_else(|| absent(operation, chat))?)
    }

    fn chats(&self, operation: &'static str) -> Result<RwLockReadGuard<'_, Chats>> {
        self.0.read().map_err(|_| poisoned(operation))
    }

    fn chats_mut(&self, operation: &'static str) -> Result<RwLockWriteGuard<'_, Chats>> {
        self.0.write().map_err(|_| poisoned(operation))
    }
}

fn absent(operation: &'static str, chat: &ChatRef) -> Error {
    Error::not_found(operation, "chat", &chat.chat)
}

fn poisoned(operation: &'static str) -> Error {
    Error::new(ErrorKind::Bug, operation, "an earlier call panicked while it wrote")
}

#[async_trait]
impl HistoryStore for Shared {
    async fn create_chat(&self, new: NewChat) -> Result<Created> {
        limits::check_new_chat(&new)?;
        let mut chats = self.chats_mut("create_chat")?;
        if let Some(existing) = chats.by_ref.get(&new.chat) {
            return Ok(Created::Existing(existing.chat().clone()));
        }
        chats.created += 1;
        let state = ChatState::new(Chat::new(new), chats.created);
        let chat = state.chat().clone();
        chats.by_ref.insert(chat.chat.clone(), state);
        Ok(Created::New(chat))
    }

    async fn chat(&self, chat: &ChatRef) -> Result<Option<Chat>> {
        Ok(self.chats("chat")?.by_ref.get(chat).map(|state| state.chat().clone()))
    }

    async fn list_chats(&self, query: &ChatQuery) -> Result<Page<ChatSummary>> {
        ChatState::list(self.chats("list_chats")?.by_ref.values(), query)
    }

    async fn update_chat(&self, chat: &ChatRef, patch: &ChatPatch, at: Timestamp) -> Result<Chat> {
        limits::check_chat("update_chat", chat)?;
        self.write("update_chat", chat, |state| state.update(patch, at))
    }

    async fn delete_chat(&self, chat: &ChatRef, idle_since: Option<Timestamp>) -> Result<bool> {
        let mut chats = self.chats_mut("delete_chat")?;
        let state = chats.by_ref.get(chat);
        let idle = |state: &ChatState| idle_since.is_none_or(|since| state.chat().updated_at <= since);
        Ok(state.is_some_and(idle) && chats.by_ref.remove(chat).is_some())
    }

    async fn chat_size(&self, chat: &ChatRef) -> Result<ChatSize> {
        self.read("chat_size", chat, |state| Ok(state.size()))
    }

    async fn commit(&self, commit: Commit) -> Result<CommitOutcome> {
        limits::check_commit(&commit)?;
        let chat = commit.chat.clone();
        self.write("commit", &chat, |state| state.commit(commit))
    }

    async fn branches(&self, chat: &ChatRef) -> Result<Vec<Branch>> {
        self.read("branches", chat, |state| Ok(state.branches()))
    }

    async fn activate_branch(&self, chat: &ChatRef, branch: &BranchName, at: Timestamp) -> Result<()> {
        self.write("activate_branch", chat, |state| state.activate_branch(branch, at))
    }

    async fn rename_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        to: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        self.write("rename_branch", chat, |state| state.rename_branch(branch, to, at))
    }

    async fn delete_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        expected: Option<&MessageId>,
        at: Timestamp,
    ) -> Result<BranchDeletion> {
        self.write("delete_branch", chat, |state| state.delete_branch(branch, expected, at))
    }

    async fn set_checkpoint(
        &self,
        chat: &ChatRef,
        name: &CheckpointName,
        message: &MessageId,
        at: Timestamp,
    ) -> Result<Checkpoint> {
        self.write("set_checkpoint", chat, |state| state.set_checkpoint(name, message, at))
    }

    async fn checkpoints(&self, chat: &ChatRef) -> Result<Vec<Checkpoint>> {
        self.read("checkpoints", chat, |state| Ok(state.checkpoints()))
    }

    async fn delete_checkpoint(&self, chat: &ChatRef, name: &CheckpointName) -> Result<bool> {
        self.write("delete_checkpoint", chat, |state| Ok(state.delete_checkpoint(name)))
    }

    async fn chain(&self, chat: &ChatRef, end: &ChainEnd, window: &Window) -> Result<Chain> {
        self.read("chain", chat, |state| state.chain(end, window))
    }

    async fn messages(&self, chat: &ChatRef, ids: &[MessageId]) -> Result<Vec<Option<Placed>>> {
        self.read("messages", chat, |state| Ok(state.messages(ids)))
    }

    async fn all_messages(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Placed>> {
        self.read("all_messages", chat, |state| state.all_messages(limit, after))
    }

    async fn revisions(&self, chat: &ChatRef, message: &MessageId) -> Result<Vec<Revision>> {
        self.read("revisions", chat, |state| Ok(state.revisions(message)))
    }
}

#[async_trait]
impl FragmentStore for Shared {
    async fn fragments(&self, chat: &ChatRef) -> Result<Vec<StoredFragment>> {
        self.read("fragments", chat, |state| Ok(state.fragments().to_vec()))
    }

    async fn put_fragments(&self, chat: &ChatRef, fragments: &[StoredFragment], at: Timestamp) -> Result<()> {
        self.write("put_fragments", chat, |state| state.put_fragments(fragments, at))
    }

    async fn remove_fragment(&self, chat: &ChatRef, id: &FragmentId) -> Result<bool> {
        self.write("remove_fragment", chat, |state| Ok(state.remove_fragment(id)))
    }
}

/// Without an index: a search reads every message of its scope.
#[async_trait]
impl SearchStore for Shared {
    async fn search(&self, query: &SearchQuery) -> Result<Page<SearchHit>> {
        ChatState::search(self.chats("search")?.by_ref.values(), query)
    }
}

#[async_trait]
impl Maintenance for Shared {
    async fn check(&self, cancel: &CancelSignal) -> Result<CheckReport> {
        let chats = self.chats("check")?;
        let mut report = CheckReport::default();
        for state in chats.by_ref.values() {
            cancel.check("check")?;
            report.findings.extend(state.check());
            report.messages += state.size().messages;
            report.chats += 1;
        }
        Ok(report)
    }

    async fn erase_user(&self, user: &UserId, cancel: &CancelSignal) -> Result<Erasure> {
        limits::check_id("erase_user", "user", user.as_str())?;
        cancel.check("erase_user")?;
        let mut chats = self.chats_mut("erase_user")?;
        let mut erased = Erasure::default();
        chats.by_ref.retain(|chat, state| {
            let theirs = chat.user == *user;
            if theirs {
                erased.chats += 1;
                erased.messages += state.size().messages;
            }
            !theirs
        });
        erased.remaining = chats.by_ref.keys().filter(|chat| chat.user == *user).count() as u64;
        Ok(erased)
    }
}
