//! Stores with a planted fault, which prove that the check of histories finds such faults.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use context_core::base::CheckpointName;
use context_core::message::PlacedNode;
use context_core::store::{
    Branch, BranchDeletion, ChainEnd, Chat, ChatPatch, ChatQuery, ChatSize, ChatSummary,
    Checkpoint, Commit, CommitOutcome, Committed, Created, Cursor, FragmentStore, HistoryStore,
    MemoryRecordStore, NewChat, Page, Revision, StoreInfo, StreamStore, Target, TrajectoryStore,
    Window,
};
use context_core::{BranchName, Chain, ChatRef, MessageId, Metadata, Result, Store, Timestamp};
use tokio::task::yield_now;

/// The fault of a [`PlantedStore`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlantedFault {
    /// Reads the head and the counter of a chat, and writes without looking again. One of two
    /// concurrent writes is lost.
    LostUpdate,
    /// Returns every second chain of a branch as it was at an earlier read.
    StaleRead,
    /// Acknowledges an append before it is written, and writes it a little later.
    EarlyAcknowledgement,
    /// Forgets the keys of commits, so that a commit that is sent again is written again.
    DuplicateWrite,
    /// Acknowledges a commit whose time is before that of the last write, and does not write it:
    /// the last clock wins.
    LatestClockWins,
}

impl PlantedFault {
    /// The three faults that every check must find.
    pub const CLASSIC: [Self; 3] = [Self::LostUpdate, Self::StaleRead, Self::EarlyAcknowledgement];
}

/// A store that behaves like another one except for its fault.
pub struct PlantedStore(Arc<PlantedHistory>);

/// The implementation of the history. It is separate, so that `store.fragments()` is not ambiguous.
struct PlantedHistory {
    inner: Arc<dyn Store>,
    fault: PlantedFault,
    chains: Mutex<HashMap<(ChatRef, BranchName), Chain>>,
    reads: AtomicU64,
}

impl PlantedStore {
    /// Puts a fault before a store.
    pub fn new(inner: Arc<dyn Store>, fault: PlantedFault) -> Self {
        let (chains, reads) = (Mutex::default(), AtomicU64::new(0));
        Self(Arc::new(PlantedHistory { inner, fault, chains, reads }))
    }
}

impl fmt::Debug for PlantedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlantedStore").field("fault", &self.0.fault).finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for PlantedStore {
    fn info(&self) -> StoreInfo {
        self.0.inner.info()
    }

    fn history(&self) -> &dyn HistoryStore {
        &*self.0
    }

    fn fragments(&self) -> &dyn FragmentStore {
        self.0.inner.fragments()
    }

    fn streams(&self) -> Option<&dyn StreamStore> {
        self.0.inner.streams()
    }

    fn trajectories(&self) -> Option<&dyn TrajectoryStore> {
        self.0.inner.trajectories()
    }

    fn memories(&self) -> Option<&dyn MemoryRecordStore> {
        self.0.inner.memories()
    }

    async fn close(&self) -> Result<()> {
        self.0.inner.close().await
    }
}

impl PlantedHistory {
    fn history(&self) -> &dyn HistoryStore {
        self.inner.history()
    }

    /// Checks, lets others run, and then writes without a condition.
    async fn commit_unchecked(&self, mut commit: Commit) -> Result<CommitOutcome> {
        if commit.patch.is_some()
            && let Some(chat) = self.history().chat(&commit.chat).await?
        {
            let count = chat.metadata.get("count").and_then(|count| count.parse::<i64>().ok());
            let set = Metadata::default().with("count", count.unwrap_or(0) + 1);
            yield_now().await;
            commit.patch = Some(ChatPatch { set, ..ChatPatch::default() });
        }
        let Target::Extend { branch, expected } = commit.target.clone() else {
            return self.history().commit(commit).await;
        };
        let branches = self.history().branches(&commit.chat).await?;
        match branches.into_iter().find(|known| known.name == branch) {
            Some(known) if known.head == expected => {
                yield_now().await;
                let target = Target::Graft { branch, seen: None };
                match self.history().commit(Commit { target, ..commit }).await? {
                    CommitOutcome::Applied(committed) => {
                        Ok(CommitOutcome::Applied(committed.with_onto(None)))
                    }
                    outcome => Ok(outcome),
                }
            }
            _ => self.history().commit(commit).await,
        }
    }

    fn commit_later(&self, commit: Commit) -> CommitOutcome {
        let branch = match &commit.target {
            Target::Extend { branch, .. } => Some(branch.clone()),
            _ => None,
        };
        let head = commit.nodes.last().map(|node| node.id.clone());
        let inner = Arc::clone(&self.inner);
        tokio::spawn(async move {
            for _ in 0..30 {
                yield_now().await;
            }
            let _nobody_waits = inner.history().commit(commit).await;
        });
        CommitOutcome::Applied(Committed::new(branch, head))
    }
}

#[async_trait]
impl HistoryStore for PlantedHistory {
    async fn commit(&self, commit: Commit) -> Result<CommitOutcome> {
        match self.fault {
            PlantedFault::LostUpdate => self.commit_unchecked(commit).await,
            PlantedFault::EarlyAcknowledgement
                if matches!(commit.target, Target::Extend { .. }) && !commit.nodes.is_empty() =>
            {
                Ok(self.commit_later(commit))
            }
            PlantedFault::DuplicateWrite => {
                self.history().commit(Commit { key: None, ..commit }).await
            }
            PlantedFault::LatestClockWins if commit.nodes.is_empty() => {
                match self.history().chat(&commit.chat).await? {
                    Some(chat) if chat.updated_at > commit.at => {
                        Ok(CommitOutcome::Applied(Committed::new(None, None)))
                    }
                    _ => self.history().commit(commit).await,
                }
            }
            _ => self.history().commit(commit).await,
        }
    }

    async fn chain(&self, chat: &ChatRef, end: &ChainEnd, window: &Window) -> Result<Chain> {
        let chain = self.history().chain(chat, end, window).await?;
        let ChainEnd::Branch(branch) = end else { return Ok(chain) };
        if self.fault != PlantedFault::StaleRead {
            return Ok(chain);
        }
        let mut chains = self.chains.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (chat.clone(), branch.clone());
        let is_stale = self.reads.fetch_add(1, Ordering::Relaxed) % 2 == 1;
        let known = chains.get(&key).filter(|_| is_stale).cloned();
        chains.insert(key, chain.clone());
        Ok(known.unwrap_or(chain))
    }

    async fn create_chat(&self, new: NewChat) -> Result<Created> {
        self.history().create_chat(new).await
    }

    async fn chat(&self, chat: &ChatRef) -> Result<Option<Chat>> {
        self.history().chat(chat).await
    }

    async fn list_chats(&self, query: &ChatQuery) -> Result<Page<ChatSummary>> {
        self.history().list_chats(query).await
    }

    async fn update_chat(&self, chat: &ChatRef, patch: &ChatPatch, at: Timestamp) -> Result<Chat> {
        self.history().update_chat(chat, patch, at).await
    }

    async fn delete_chat(&self, chat: &ChatRef, idle_since: Option<Timestamp>) -> Result<bool> {
        self.history().delete_chat(chat, idle_since).await
    }

    async fn chat_size(&self, chat: &ChatRef) -> Result<ChatSize> {
        self.history().chat_size(chat).await
    }

    async fn branches(&self, chat: &ChatRef) -> Result<Vec<Branch>> {
        self.history().branches(chat).await
    }

    async fn activate_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        self.history().activate_branch(chat, branch, at).await
    }

    async fn rename_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        to: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        self.history().rename_branch(chat, branch, to, at).await
    }

    async fn delete_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        expected: Option<&MessageId>,
        at: Timestamp,
    ) -> Result<BranchDeletion> {
        self.history().delete_branch(chat, branch, expected, at).await
    }

    async fn set_checkpoint(
        &self,
        chat: &ChatRef,
        name: &CheckpointName,
        message: &MessageId,
        at: Timestamp,
    ) -> Result<Checkpoint> {
        self.history().set_checkpoint(chat, name, message, at).await
    }

    async fn checkpoints(&self, chat: &ChatRef) -> Result<Vec<Checkpoint>> {
        self.history().checkpoints(chat).await
    }

    async fn delete_checkpoint(
        &self,
        chat: &ChatRef,
        name: &CheckpointName,
        at: Timestamp,
    ) -> Result<bool> {
        self.history().delete_checkpoint(chat, name, at).await
    }

    async fn messages(&self, chat: &ChatRef, ids: &[MessageId]) -> Result<Vec<Option<PlacedNode>>> {
        self.history().messages(chat, ids).await
    }

    async fn all_messages(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<PlacedNode>> {
        self.history().all_messages(chat, limit, after).await
    }

    async fn revisions(&self, chat: &ChatRef, message: &MessageId) -> Result<Vec<Revision>> {
        self.history().revisions(chat, message).await
    }
}
