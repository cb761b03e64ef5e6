//! A wrapper around the in-memory store that injects the faults.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use context_core::base::{CheckpointName, CommitKey, FragmentId, StreamId};
use context_core::message::PlacedNode;
use context_core::store::{
    BlobStore, Branch, BranchDeletion, ChainEnd, Chat, ChatPatch, ChatQuery, ChatSize, ChatSummary,
    Checkpoint, Commit, CommitOutcome, Committed, Created, Cursor, Durability, FragmentLogStore,
    FragmentStore, HistoryStore, LeaseStore, Maintenance, MemoryRecordStore, NewChat, OpenedChat,
    Page, RefLogStore, Revision, SearchStore, StoreInfo, StoredFragment, StreamEnd, StreamStore,
    TrajectoryStore, Window,
};
use context_core::trajectory::RoundRef;
use context_core::{
    BranchName, Chain, ChatId, ChatRef, MessageId, Result, Store, Timestamp, UserId,
};
use context_store_inmem::InMemoryStore;

use crate::fault::Fault;
use crate::memories::Stale;

/// The number of times that a writer lets others run before it goes on without a reader.
pub(crate) const MOST_TURNS: usize = 100_000;

#[derive(Clone)]
pub(crate) struct Mutant(Arc<BrokenStore>);

impl Mutant {
    pub(crate) fn new(fault: Fault) -> Self {
        Self(Arc::new(BrokenStore::new(fault)))
    }
}

/// The visible ends of streams, and whether a reader has seen them.
type Ending = HashMap<(ChatRef, StreamId), (Option<StreamEnd>, bool)>;

pub(crate) struct BrokenStore {
    pub(crate) fault: Fault,
    pub(crate) inner: InMemoryStore,
    pub(crate) keys: Mutex<HashMap<(ChatRef, CommitKey), Committed>>,
    pub(crate) owners: Mutex<HashMap<ChatId, UserId>>,
    pub(crate) amended: Mutex<HashMap<ChatRef, MessageId>>,
    deleted: Mutex<HashSet<ChatRef>>,
    /// Stored messages that are hidden.
    hidden: Mutex<HashSet<(ChatRef, MessageId)>>,
    /// Renamed branches.
    renamed: Mutex<HashSet<(ChatRef, BranchName)>>,
    /// Fragments of erased chats.
    pub(crate) erased_fragments: Mutex<HashMap<ChatRef, Vec<StoredFragment>>>,
    pub(crate) ending: Mutex<Ending>,
    /// Rounds that are being written.
    pub(crate) unfinished_rounds: Mutex<HashSet<RoundRef>>,
    /// Whether a commit is there in part.
    pub(crate) half_commit: AtomicBool,
    /// The number of reads of something that was there in part.
    pub(crate) reads_of_halves: AtomicUsize,
    /// Data of memories that should have been removed.
    pub(crate) stale: Mutex<Stale>,
    title: Mutex<Option<String>>,
    /// The durability that each digest of a commit was written with.
    pub(crate) asked: Mutex<HashMap<[u8; 32], Option<Durability>>>,
    counter: AtomicUsize,
}

impl BrokenStore {
    fn new(fault: Fault) -> Self {
        Self {
            fault,
            inner: InMemoryStore::default(),
            keys: Mutex::default(),
            owners: Mutex::default(),
            amended: Mutex::default(),
            deleted: Mutex::default(),
            hidden: Mutex::default(),
            renamed: Mutex::default(),
            erased_fragments: Mutex::default(),
            ending: Mutex::default(),
            unfinished_rounds: Mutex::default(),
            half_commit: AtomicBool::new(false),
            reads_of_halves: AtomicUsize::new(0),
            stale: Mutex::default(),
            title: Mutex::default(),
            asked: Mutex::default(),
            counter: AtomicUsize::new(0),
        }
    }

    pub(crate) fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    /// Waits until a reader has seen what is there in part, if there is a reader.
    pub(crate) async fn until_read(&self) {
        let before = self.reads_of_halves.load(Ordering::SeqCst);
        for _ in 0..MOST_TURNS {
            if self.reads_of_halves.load(Ordering::SeqCst) > before {
                break;
            }
            tokio::task::yield_now().await;
        }
    }

    fn hides(&self, chat: &ChatRef, placed: &PlacedNode) -> bool {
        lock(&self.hidden).contains(&(chat.clone(), placed.node.id.clone()))
    }

    pub(crate) fn history(&self) -> &dyn HistoryStore {
        self.inner.history()
    }
}

/// The durability of every mutant.
pub(crate) const OWN_DURABILITY: Durability = Durability::ProcessCrash;

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no holder panics")
}

#[async_trait]
impl Store for Mutant {
    fn info(&self) -> StoreInfo {
        StoreInfo::new("mutant", OWN_DURABILITY, true)
    }

    fn history(&self) -> &dyn HistoryStore {
        &*self.0
    }

    fn fragments(&self) -> &dyn FragmentStore {
        &*self.0
    }

    async fn open_chat(
        &self,
        chat: &ChatRef,
        branch: Option<&BranchName>,
        window: &Window,
    ) -> Result<Option<OpenedChat>> {
        let first = BranchName::from("main");
        let branch = match self.0.fault {
            Fault::OpensTheFirstBranch => branch.or(Some(&first)),
            _ => branch,
        };
        let mut opened = OpenedChat::read(self, chat, branch, window).await?;
        if let (Fault::OpensWithoutFragments, Some(opened)) = (self.0.fault, &mut opened) {
            opened.fragments.clear();
        }
        Ok(opened)
    }

    fn ref_log(&self) -> Option<&dyn RefLogStore> {
        Some(&*self.0)
    }

    fn fragment_log(&self) -> Option<&dyn FragmentLogStore> {
        Some(&*self.0)
    }

    fn search(&self) -> Option<&dyn SearchStore> {
        Some(&*self.0)
    }

    fn blobs(&self) -> Option<&dyn BlobStore> {
        self.0.inner.blobs()
    }

    fn streams(&self) -> Option<&dyn StreamStore> {
        Some(&*self.0)
    }

    fn leases(&self) -> Option<&dyn LeaseStore> {
        self.0.inner.leases()
    }

    fn trajectories(&self) -> Option<&dyn TrajectoryStore> {
        Some(&*self.0)
    }

    fn memories(&self) -> Option<&dyn MemoryRecordStore> {
        Some(&*self.0)
    }

    fn maintenance(&self) -> Option<&dyn Maintenance> {
        Some(&*self.0)
    }
}

impl fmt::Debug for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mutant {:?}", lock(&self.0.title))
    }
}

#[async_trait]
impl HistoryStore for BrokenStore {
    async fn create_chat(&self, new: NewChat) -> Result<Created> {
        if self.is(Fault::ShowsContent) {
            lock(&self.title).clone_from(&new.title);
        }
        let chat = new.chat.clone();
        let at = new.at;
        let created = self.history().create_chat(new).await?;
        let erased = lock(&self.erased_fragments).remove(&chat);
        if let Some(fragments) = erased {
            self.inner.fragments().put_fragments(&chat, &fragments, at).await?;
        }
        lock(&self.owners).entry(chat.chat.clone()).or_insert_with(|| chat.user.clone());
        let revived = lock(&self.deleted).remove(&chat);
        Ok(if revived { Created::New(created.into_chat()) } else { created })
    }

    async fn chat(&self, chat: &ChatRef) -> Result<Option<Chat>> {
        if lock(&self.deleted).contains(chat) {
            return Ok(None);
        }
        self.history().chat(chat).await
    }

    async fn list_chats(&self, query: &ChatQuery) -> Result<Page<ChatSummary>> {
        let mut page = self.history().list_chats(query).await?;
        page.items.retain(|item| !lock(&self.deleted).contains(&item.chat.chat));
        Ok(page)
    }

    async fn update_chat(&self, chat: &ChatRef, patch: &ChatPatch, at: Timestamp) -> Result<Chat> {
        self.history().update_chat(chat, patch, at).await
    }

    async fn delete_chat(&self, chat: &ChatRef, idle_since: Option<Timestamp>) -> Result<bool> {
        if self.is(Fault::DeleteLeavesMessages) {
            let known = self.history().chat(chat).await?.is_some();
            return Ok(known && lock(&self.deleted).insert(chat.clone()));
        }
        self.history().delete_chat(chat, idle_since).await
    }

    async fn chat_size(&self, chat: &ChatRef) -> Result<ChatSize> {
        self.history().chat_size(chat).await
    }

    async fn rename_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        to: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        lock(&self.renamed).insert((chat.clone(), to.clone()));
        self.history().rename_branch(chat, branch, to, at).await
    }

    async fn delete_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        expected: Option<&MessageId>,
        at: Timestamp,
    ) -> Result<BranchDeletion> {
        let head = self.branch(chat, branch).await?.and_then(|branch| branch.head);
        match (self.fault, &head) {
            (Fault::DeletesBranchesThatMoved, _) => {
                self.history().delete_branch(chat, branch, head.as_ref(), at).await
            }
            (Fault::DeletingTakesSharedMessages, Some(_)) if head.as_ref() == expected => {
                let chain = self
                    .history()
                    .chain(chat, &ChainEnd::Branch(branch.clone()), &Window::Whole)
                    .await?;
                lock(&self.hidden).extend(chain.iter().map(|node| (chat.clone(), node.id.clone())));
                self.history().delete_branch(chat, branch, expected, at).await
            }
            (Fault::DeletingLeavesOrphans, Some(head)) => {
                let n = self.counter.fetch_add(1, Ordering::Relaxed);
                self.history()
                    .set_checkpoint(chat, &format!("hidden-{n}").into(), head, at)
                    .await?;
                self.history().delete_branch(chat, branch, expected, at).await
            }
            _ => self.history().delete_branch(chat, branch, expected, at).await,
        }
    }

    async fn commit(&self, commit: Commit) -> Result<CommitOutcome> {
        self.durable_commit(commit).await
    }

    async fn branches(&self, chat: &ChatRef) -> Result<Vec<Branch>> {
        let mut branches = self.history().branches(chat).await?;
        if self.is(Fault::RenamingMovesBranches) {
            let renamed = lock(&self.renamed);
            branches.sort_by_key(|branch| renamed.contains(&(chat.clone(), branch.name.clone())));
        }
        Ok(branches)
    }

    async fn activate_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        self.history().activate_branch(chat, branch, at).await
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
        let mut checkpoints = self.history().checkpoints(chat).await?;
        checkpoints.retain(|checkpoint| !checkpoint.name.as_str().starts_with("hidden-"));
        Ok(checkpoints)
    }

    async fn delete_checkpoint(
        &self,
        chat: &ChatRef,
        name: &CheckpointName,
        at: Timestamp,
    ) -> Result<bool> {
        self.history().delete_checkpoint(chat, name, at).await
    }

    async fn chain(&self, chat: &ChatRef, end: &ChainEnd, window: &Window) -> Result<Chain> {
        let amended = lock(&self.amended).get(chat).cloned();
        match (self.fault, amended, window) {
            (Fault::MovesHeadOnAmend, Some(amended), _) => {
                self.history().chain(chat, &ChainEnd::Message(amended), window).await
            }
            (Fault::TruncatesWindows, _, Window::Last(n)) => {
                self.history().chain(chat, end, &Window::Last(*n.min(&50))).await
            }
            (Fault::HidesAmendments, ..) => {
                let chain =
                    self.history().chain(chat, end, &Window::Whole).await?.with_generation(0);
                Ok(window.of(&chain))
            }
            (Fault::HidesWhatWasSkipped, ..) => {
                let chain = self.history().chain(chat, end, window).await?;
                Ok(Chain::from_nodes(0, chain.iter().cloned()).with_generation(chain.generation()))
            }
            (Fault::AwaitsBetweenWrites, ..) => {
                let is_half = self.half_commit.load(Ordering::SeqCst);
                let chain = self.history().chain(chat, end, window).await;
                self.reads_of_halves.fetch_add(usize::from(is_half), Ordering::SeqCst);
                chain
            }
            (Fault::BoundsTheDepth, ..) => {
                let chain = self.history().chain(chat, end, &Window::Last(1000)).await?;
                Ok(window.of(&Chain::from_nodes(0, chain.iter().cloned())))
            }
            _ => self.history().chain(chat, end, window).await,
        }
    }

    async fn messages(&self, chat: &ChatRef, ids: &[MessageId]) -> Result<Vec<Option<PlacedNode>>> {
        let mut chat = chat.clone();
        if self.is(Fault::LeaksOtherUsers)
            && let Some(owner) = lock(&self.owners).get(&chat.chat)
        {
            chat.user = owner.clone();
        }
        assert!(!self.is(Fault::Panics) || !ids.is_empty(), "no ids");
        let mut slots = self.history().messages(&chat, ids).await?;
        for slot in &mut slots {
            *slot = slot.take().filter(|placed| !self.hides(&chat, placed));
        }
        if self.is(Fault::DropsHoles) {
            slots.retain(Option::is_some);
        }
        Ok(slots)
    }

    async fn all_messages(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<PlacedNode>> {
        let mut page = self.history().all_messages(chat, limit, after).await?;
        page.items.retain(|placed| !self.hides(chat, placed));
        Ok(page)
    }

    async fn revisions(&self, chat: &ChatRef, message: &MessageId) -> Result<Vec<Revision>> {
        let mut revisions = self.history().revisions(chat, message).await?;
        if self.is(Fault::LosesRevisions) && revisions.len() > 1 {
            revisions = revisions.split_off(revisions.len() - 1);
        }
        Ok(revisions)
    }
}

#[async_trait]
impl FragmentStore for BrokenStore {
    async fn fragments(&self, chat: &ChatRef) -> Result<Vec<StoredFragment>> {
        let mut fragments = self.inner.fragments().fragments(chat).await?;
        for fragment in &mut fragments {
            fragment.id = fragment.id.take().filter(|id| !id.as_str().starts_with("hidden-"));
        }
        Ok(fragments)
    }

    async fn put_fragments(
        &self,
        chat: &ChatRef,
        fragments: &[StoredFragment],
        at: Timestamp,
    ) -> Result<()> {
        let mut fragments = fragments.to_vec();
        for fragment in &mut fragments {
            match &fragment.id {
                Some(id) if self.is(Fault::MovesReplacedFragments) => {
                    self.inner.fragments().remove_fragment(chat, id, at).await?;
                }
                None if self.is(Fault::KeepsFragmentsTwice) => {
                    let n = self.counter.fetch_add(1, Ordering::Relaxed);
                    fragment.id = Some(format!("hidden-{n}").into());
                }
                _ => {}
            }
        }
        self.inner.fragments().put_fragments(chat, &fragments, at).await
    }

    async fn remove_fragment(
        &self,
        chat: &ChatRef,
        id: &FragmentId,
        at: Timestamp,
    ) -> Result<bool> {
        self.inner.fragments().remove_fragment(chat, id, at).await
    }
}
