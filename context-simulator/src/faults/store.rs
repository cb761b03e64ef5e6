//! The store wrapper that injects faults.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use context_core::base::{BlobId, CheckpointName, FragmentId};
use context_core::message::PlacedNode;
use context_core::store::{
    Blob, BlobPrune, BlobStore, BlobsPruned, Branch, BranchDeletion, ChainEnd, Chat, ChatPatch,
    ChatQuery, ChatSize, ChatSummary, CheckReport, Checkpoint, Commit, CommitOutcome, Created,
    Cursor, Erasure, FragmentLogStore, FragmentStore, HistoryStore, LeaseStore, Maintenance,
    MemoryRecordStore, NewBlob, NewChat, Page, RefLogStore, Revision, SearchHit, SearchQuery,
    SearchStore, StoreFacts, StoreInfo, StoredFragment, StreamStore, TrajectoryStore, Vacuumed,
    Window,
};
use context_core::{
    BranchName, CancelSignal, Chain, ChatRef, Error, ErrorKind, MessageId, Result, Store,
    Timestamp, UserId,
};

use super::plan::{Fault, FaultPlan, Operation};

/// A store wrapper that injects the faults of a plan and passes all other calls to the inner store.
/// Use it to test how a caller handles a lost reply, an unreachable store, or a store that does not
/// answer.
///
/// Calls are counted by their kind, over all tasks. A failed call returns
/// [`Unavailable`](ErrorKind::Unavailable), with the fault in its context.
///
/// ```
/// use std::sync::Arc;
///
/// use context_simulator::faults::{Fault, FaultPlan, FaultStore, Operation};
/// use context_core::{ChatRef, ErrorKind, Store, Timestamp};
/// use context_core::store::NewChat;
/// use context_store_inmem::InMemoryStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> context_core::Result<()> {
/// let plan = FaultPlan::default().with(Operation::CreateChat, 0, Fault::AfterApply);
/// let store = FaultStore::new(Arc::new(InMemoryStore::default()), plan);
/// let chat = ChatRef::new("ada", "trip");
/// let lost = store.history().create_chat(NewChat::new(chat.clone(), Timestamp::default())).await;
/// assert_eq!(lost.unwrap_err().kind(), ErrorKind::Unavailable);
/// assert!(store.history().chat(&chat).await?.is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FaultStore(Arc<FaultInjector>);

/// The implementation of the store traits. It is separate from [`FaultStore`], so that
/// `store.fragments()` is not ambiguous.
pub(super) struct FaultInjector {
    pub(super) inner: Arc<dyn Store>,
    pub(super) faults: Arc<PlannedFaults>,
}

/// The plan, and the calls that were made so far.
pub(super) struct PlannedFaults {
    plan: FaultPlan,
    calls: Mutex<CallCounts>,
}

/// The calls so far, and the faults that were armed for the next ones.
#[derive(Default)]
struct CallCounts {
    made: HashMap<Operation, u32>,
    armed: Vec<(Operation, Fault)>,
}

impl FaultStore {
    /// Creates a store that behaves like `inner` except for the faults of the plan.
    pub fn new(inner: Arc<dyn Store>, plan: FaultPlan) -> Self {
        let faults = Arc::new(PlannedFaults { plan, calls: Mutex::default() });
        Self(Arc::new(FaultInjector { inner, faults }))
    }

    /// Returns the number of calls of this kind so far.
    pub fn calls(&self, operation: Operation) -> u32 {
        self.0.faults.counts().made.get(&operation).copied().unwrap_or(0)
    }

    /// Arms a fault for the next call of this kind, after those that were armed for it before. It
    /// takes precedence over the plan.
    pub fn arm(&self, operation: Operation, fault: Fault) {
        self.0.faults.counts().armed.push((operation, fault));
    }

    /// Returns the faults that were armed and did not happen yet.
    pub fn armed(&self) -> usize {
        self.0.faults.counts().armed.len()
    }

    /// Disarms the faults that were armed and did not happen yet.
    pub fn disarm(&self) {
        self.0.faults.counts().armed.clear();
    }
}

impl fmt::Debug for FaultStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultStore")
            .field("inner", &self.0.inner)
            .field("plan", &self.0.faults.plan)
            .finish()
    }
}

#[async_trait::async_trait]
impl Store for FaultStore {
    fn info(&self) -> StoreInfo {
        self.0.inner.info()
    }

    fn history(&self) -> &dyn HistoryStore {
        &*self.0
    }

    fn fragments(&self) -> &dyn FragmentStore {
        &*self.0
    }

    fn ref_log(&self) -> Option<&dyn RefLogStore> {
        self.0.inner.ref_log().map(|_| &*self.0 as &dyn RefLogStore)
    }

    fn fragment_log(&self) -> Option<&dyn FragmentLogStore> {
        self.0.inner.fragment_log().map(|_| &*self.0 as &dyn FragmentLogStore)
    }

    fn search(&self) -> Option<&dyn SearchStore> {
        self.0.inner.search().map(|_| &*self.0 as &dyn SearchStore)
    }

    fn blobs(&self) -> Option<&dyn BlobStore> {
        self.0.inner.blobs().map(|_| &*self.0 as &dyn BlobStore)
    }

    fn streams(&self) -> Option<&dyn StreamStore> {
        self.0.inner.streams().map(|_| &*self.0 as &dyn StreamStore)
    }

    fn leases(&self) -> Option<&dyn LeaseStore> {
        self.0.inner.leases()
    }

    fn trajectories(&self) -> Option<&dyn TrajectoryStore> {
        self.0.inner.trajectories().map(|_| &*self.0 as &dyn TrajectoryStore)
    }

    fn memories(&self) -> Option<&dyn MemoryRecordStore> {
        self.0.inner.memories().map(|_| &*self.0 as &dyn MemoryRecordStore)
    }

    fn maintenance(&self) -> Option<&dyn Maintenance> {
        self.0.inner.maintenance().map(|_| &*self.0 as &dyn Maintenance)
    }

    async fn close(&self) -> context_core::Result<()> {
        self.0.inner.close().await
    }
}

impl PlannedFaults {
    /// Makes a call, or injects the planned fault.
    pub(super) async fn call<T>(
        &self,
        operation: Operation,
        work: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        let failed = |message| {
            Err(Error::new(ErrorKind::Unavailable, operation.as_str(), message)
                .with("fault", "planned"))
        };
        match self.next(operation) {
            None => work.await,
            Some(Fault::BeforeApply) => failed("the store is away"),
            Some(Fault::AfterApply) => {
                let _lost = work.await;
                failed("the reply was lost")
            }
            Some(Fault::Hang) => std::future::pending().await,
            Some(Fault::HangAfterApply) => {
                let _lost = work.await;
                std::future::pending().await
            }
            Some(Fault::Delay(turns)) => {
                for _ in 0..turns {
                    tokio::task::yield_now().await;
                }
                work.await
            }
        }
    }

    /// Counts a call and returns its fault, if any.
    fn next(&self, operation: Operation) -> Option<Fault> {
        let mut counts = self.counts();
        let count = counts.made.entry(operation).or_default();
        let nth = *count;
        *count = count.saturating_add(1);
        let armed = counts.armed.iter().position(|(armed, _)| *armed == operation);
        match armed {
            Some(at) => Some(counts.armed.remove(at).1),
            None => self.plan.fault(operation, nth),
        }
    }

    fn counts(&self) -> MutexGuard<'_, CallCounts> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FaultInjector {
    /// Makes a call, or injects the planned fault.
    pub(super) async fn call<T>(
        &self,
        operation: Operation,
        work: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        self.faults.call(operation, work).await
    }

    fn search_store(&self) -> Result<&dyn SearchStore> {
        self.inner.search().ok_or_else(|| lacks("search"))
    }

    fn blob_store(&self) -> Result<&dyn BlobStore> {
        self.inner.blobs().ok_or_else(|| lacks("blobs"))
    }

    fn maintenance_store(&self) -> Result<&dyn Maintenance> {
        self.inner.maintenance().ok_or_else(|| lacks("maintenance"))
    }
}

/// Returns an error for a store that lost an ability it had. Not reachable otherwise.
pub(super) fn lacks(operation: &'static str) -> Error {
    Error::new(ErrorKind::Unsupported, operation, "the store inside has no such ability")
}

#[async_trait]
impl HistoryStore for FaultInjector {
    async fn create_chat(&self, new: NewChat) -> Result<Created> {
        self.call(Operation::CreateChat, self.inner.history().create_chat(new)).await
    }

    async fn chat(&self, chat: &ChatRef) -> Result<Option<Chat>> {
        self.call(Operation::Chat, self.inner.history().chat(chat)).await
    }

    async fn list_chats(&self, query: &ChatQuery) -> Result<Page<ChatSummary>> {
        self.call(Operation::ListChats, self.inner.history().list_chats(query)).await
    }

    async fn update_chat(&self, chat: &ChatRef, patch: &ChatPatch, at: Timestamp) -> Result<Chat> {
        self.call(Operation::UpdateChat, self.inner.history().update_chat(chat, patch, at)).await
    }

    async fn delete_chat(&self, chat: &ChatRef, idle_since: Option<Timestamp>) -> Result<bool> {
        self.call(Operation::DeleteChat, self.inner.history().delete_chat(chat, idle_since)).await
    }

    async fn chat_size(&self, chat: &ChatRef) -> Result<ChatSize> {
        self.call(Operation::ChatSize, self.inner.history().chat_size(chat)).await
    }

    async fn commit(&self, commit: Commit) -> Result<CommitOutcome> {
        self.call(Operation::Commit, self.inner.history().commit(commit)).await
    }

    async fn branches(&self, chat: &ChatRef) -> Result<Vec<Branch>> {
        self.call(Operation::Branches, self.inner.history().branches(chat)).await
    }

    async fn activate_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        self.call(Operation::ActivateBranch, self.inner.history().activate_branch(chat, branch, at))
            .await
    }

    async fn rename_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        to: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        self.call(Operation::RenameBranch, self.inner.history().rename_branch(chat, branch, to, at))
            .await
    }

    async fn delete_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        expected: Option<&MessageId>,
        at: Timestamp,
    ) -> Result<BranchDeletion> {
        self.call(
            Operation::DeleteBranch,
            self.inner.history().delete_branch(chat, branch, expected, at),
        )
        .await
    }

    async fn set_checkpoint(
        &self,
        chat: &ChatRef,
        name: &CheckpointName,
        message: &MessageId,
        at: Timestamp,
    ) -> Result<Checkpoint> {
        self.call(
            Operation::SetCheckpoint,
            self.inner.history().set_checkpoint(chat, name, message, at),
        )
        .await
    }

    async fn checkpoints(&self, chat: &ChatRef) -> Result<Vec<Checkpoint>> {
        self.call(Operation::Checkpoints, self.inner.history().checkpoints(chat)).await
    }

    async fn delete_checkpoint(
        &self,
        chat: &ChatRef,
        name: &CheckpointName,
        at: Timestamp,
    ) -> Result<bool> {
        let delete = self.inner.history().delete_checkpoint(chat, name, at);
        self.call(Operation::DeleteCheckpoint, delete).await
    }

    async fn chain(&self, chat: &ChatRef, end: &ChainEnd, window: &Window) -> Result<Chain> {
        self.call(Operation::Chain, self.inner.history().chain(chat, end, window)).await
    }

    async fn messages(&self, chat: &ChatRef, ids: &[MessageId]) -> Result<Vec<Option<PlacedNode>>> {
        self.call(Operation::Messages, self.inner.history().messages(chat, ids)).await
    }

    async fn all_messages(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<PlacedNode>> {
        self.call(Operation::AllMessages, self.inner.history().all_messages(chat, limit, after))
            .await
    }

    async fn revisions(&self, chat: &ChatRef, message: &MessageId) -> Result<Vec<Revision>> {
        self.call(Operation::Revisions, self.inner.history().revisions(chat, message)).await
    }
}

#[async_trait]
impl FragmentStore for FaultInjector {
    async fn fragments(&self, chat: &ChatRef) -> Result<Vec<StoredFragment>> {
        self.call(Operation::Fragments, self.inner.fragments().fragments(chat)).await
    }

    async fn put_fragments(
        &self,
        chat: &ChatRef,
        fragments: &[StoredFragment],
        at: Timestamp,
    ) -> Result<()> {
        self.call(
            Operation::PutFragments,
            self.inner.fragments().put_fragments(chat, fragments, at),
        )
        .await
    }

    async fn remove_fragment(
        &self,
        chat: &ChatRef,
        id: &FragmentId,
        at: Timestamp,
    ) -> Result<bool> {
        let remove = self.inner.fragments().remove_fragment(chat, id, at);
        self.call(Operation::RemoveFragment, remove).await
    }
}

#[async_trait]
impl SearchStore for FaultInjector {
    async fn search(&self, query: &SearchQuery) -> Result<Page<SearchHit>> {
        self.call(Operation::Search, self.search_store()?.search(query)).await
    }
}

#[async_trait]
impl BlobStore for FaultInjector {
    async fn put_blob(&self, chat: &ChatRef, blob: NewBlob) -> Result<Blob> {
        self.call(Operation::PutBlob, self.blob_store()?.put_blob(chat, blob)).await
    }

    async fn blob(&self, chat: &ChatRef, id: &BlobId) -> Result<Option<Blob>> {
        self.call(Operation::Blob, self.blob_store()?.blob(chat, id)).await
    }

    async fn read_blob(
        &self,
        chat: &ChatRef,
        id: &BlobId,
        range: Range<u64>,
        at: Option<Timestamp>,
    ) -> Result<Option<Bytes>> {
        self.call(Operation::ReadBlob, self.blob_store()?.read_blob(chat, id, range, at)).await
    }

    async fn blobs(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Blob>> {
        self.call(Operation::Blobs, self.blob_store()?.blobs(chat, limit, after)).await
    }

    async fn remove_blob(&self, chat: &ChatRef, id: &BlobId) -> Result<BlobsPruned> {
        self.call(Operation::RemoveBlob, self.blob_store()?.remove_blob(chat, id)).await
    }

    async fn prune_blobs(&self, prune: &BlobPrune) -> Result<BlobsPruned> {
        self.call(Operation::PruneBlobs, self.blob_store()?.prune_blobs(prune)).await
    }
}

#[async_trait]
impl Maintenance for FaultInjector {
    async fn check(&self, cancel: &CancelSignal) -> Result<CheckReport> {
        self.call(Operation::Check, self.maintenance_store()?.check(cancel)).await
    }

    async fn users(&self, limit: usize, after: Option<&Cursor>) -> Result<Page<UserId>> {
        self.maintenance_store()?.users(limit, after).await
    }

    async fn erase_user(&self, user: &UserId, cancel: &CancelSignal) -> Result<Erasure> {
        self.call(Operation::EraseUser, self.maintenance_store()?.erase_user(user, cancel)).await
    }

    async fn facts(&self) -> Result<StoreFacts> {
        self.maintenance_store()?.facts().await
    }

    async fn vacuum(&self) -> Result<Vacuumed> {
        self.call(Operation::Vacuum, self.maintenance_store()?.vacuum()).await
    }

    async fn backup(&self, to: &Path) -> Result<()> {
        self.call(Operation::Backup, self.maintenance_store()?.backup(to)).await
    }
}
