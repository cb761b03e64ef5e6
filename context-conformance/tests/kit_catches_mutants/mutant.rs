//! One wrapper around the reference store that can be broken in many ways.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use context_core::{
    Branch, BranchDeletion, BranchName, Chain, ChainEnd, Chat, ChatId, ChatPatch, ChatQuery, ChatRef,
    ChatSize, ChatSummary, Checkpoint, CheckpointName, Commit, CommitKey, CommitOutcome, Committed, Created,
    Cursor, Durability, Encoded, ForkName, FragmentId, FragmentStore, HistoryStore, Maintenance, MessageId,
    NewChat, Node, Page, Placed, Result, Revision, Store, StoreInfo, StoredFragment, Target, Timestamp,
    UserId, Window,
};
use context_store_inmem::InMemoryStore;
use tokio::task::yield_now;

use crate::fault::Fault;

#[derive(Clone)]
pub(crate) struct Mutant(Arc<Broken>);

impl Mutant {
    pub(crate) fn new(fault: Fault) -> Self {
        Self(Arc::new(Broken::new(fault)))
    }
}

struct Broken {
    fault: Fault,
    inner: InMemoryStore,
    keys: Mutex<HashMap<(ChatRef, CommitKey), Committed>>,
    owners: Mutex<HashMap<ChatId, UserId>>,
    amended: Mutex<HashMap<ChatRef, MessageId>>,
    deleted: Mutex<HashSet<ChatRef>>,
    title: Mutex<Option<String>>,
    counter: AtomicUsize,
}

impl Broken {
    fn new(fault: Fault) -> Self {
        Self {
            fault,
            inner: InMemoryStore::default(),
            keys: Mutex::default(),
            owners: Mutex::default(),
            amended: Mutex::default(),
            deleted: Mutex::default(),
            title: Mutex::default(),
            counter: AtomicUsize::new(0),
        }
    }

    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn history(&self) -> &dyn HistoryStore {
        self.inner.history()
    }

    /// Writes at the head, wherever that is.
    async fn force(&self, mut commit: Commit) -> Result<CommitOutcome> {
        loop {
            let outcome = self.history().commit(commit.clone()).await?;
            match (outcome, &mut commit.target) {
                (CommitOutcome::Conflict { actual }, Target::Extend { expected, .. }) => *expected = actual,
                (outcome, _) => return Ok(outcome),
            }
        }
    }

    async fn head(&self, chat: &ChatRef, name: &BranchName) -> Result<Option<Option<MessageId>>> {
        let branches = self.history().branches(chat).await?;
        Ok(branches.into_iter().find(|branch| branch.name == *name).map(|branch| branch.head))
    }

    fn spoil(&self, node: &Arc<Node>) -> Arc<Node> {
        let bytes = node.body().bytes();
        let end = match self.fault {
            Fault::TruncatesBodies => bytes.len().min(1 << 16),
            Fault::EndsBodiesAtNul => bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()),
            _ => return Arc::clone(node),
        };
        let body = Encoded::new(node.body().kind(), node.body().version(), bytes.slice(..end));
        let mut spoilt = Node::from_encoded(node.id.clone(), node.kind, node.created_at, body);
        spoilt.tokens = node.tokens;
        Arc::new(spoilt)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no holder panics")
}

impl Store for Mutant {
    fn info(&self) -> StoreInfo {
        StoreInfo::new("mutant", Durability::ProcessCrash, true)
    }

    fn history(&self) -> &dyn HistoryStore {
        &*self.0
    }

    fn fragments(&self) -> &dyn FragmentStore {
        &*self.0
    }

    fn maintenance(&self) -> Option<&dyn Maintenance> {
        self.0.inner.maintenance()
    }
}

impl fmt::Debug for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mutant {:?}", lock(&self.0.title))
    }
}

#[async_trait]
impl HistoryStore for Broken {
    async fn create_chat(&self, new: NewChat) -> Result<Created> {
        if self.is(Fault::ShowsContent) {
            lock(&self.title).clone_from(&new.title);
        }
        let chat = new.chat.clone();
        let created = self.history().create_chat(new).await?;
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

    async fn commit(&self, mut commit: Commit) -> Result<CommitOutcome> {
        commit.nodes = commit.nodes.iter().map(|node| self.spoil(node)).collect();
        match (self.fault, commit.target.clone()) {
            (Fault::IgnoresExpected, Target::Extend { .. }) => self.force(commit).await,
            (Fault::HidesTheActualHead, _) => match self.history().commit(commit).await? {
                CommitOutcome::Conflict { .. } => Ok(CommitOutcome::Conflict { actual: None }),
                outcome => Ok(outcome),
            },
            (Fault::WritesBeforeChecking, _) => {
                self.inner.fragments().put_fragments(&commit.chat, &commit.fragments, commit.at).await?;
                self.history().commit(commit).await
            }
            (Fault::ForgetsKeys, _) => self.history().commit(Commit { key: None, ..commit }).await,
            (Fault::ReplaysWithoutComparing, _) => {
                let key = commit.key.clone().map(|key| (commit.chat.clone(), key));
                let known = key.as_ref().and_then(|key| lock(&self.keys).get(key).cloned());
                if let Some(committed) = known {
                    return Ok(CommitOutcome::Replayed(committed));
                }
                let outcome = self.history().commit(commit).await?;
                if let (Some(key), CommitOutcome::Applied(committed)) = (key, &outcome) {
                    lock(&self.keys).insert(key, committed.clone());
                }
                Ok(outcome)
            }
            (Fault::ChecksAwaitsActs, Target::Extend { branch, expected }) => {
                match self.head(&commit.chat, &branch).await? {
                    Some(actual) if actual != expected => Ok(CommitOutcome::Conflict { actual }),
                    _ => {
                        yield_now().await;
                        self.force(commit).await
                    }
                }
            }
            (Fault::AwaitsBetweenWrites, Target::Extend { branch, .. }) if commit.nodes.len() > 1 => {
                let rest = commit.nodes.split_off(1);
                let expected = Some(commit.nodes[0].id.clone());
                let first = Commit {
                    nodes: commit.nodes.clone(),
                    ..Commit::new(commit.chat.clone(), commit.target.clone(), commit.at)
                };
                match self.history().commit(first).await? {
                    CommitOutcome::Applied(_) | CommitOutcome::Replayed(_) => {}
                    refused => return Ok(refused),
                }
                yield_now().await;
                let target = Target::Extend { branch, expected };
                self.history().commit(Commit { target, nodes: rest, ..commit }).await
            }
            (Fault::CountsVersions, Target::Fork { name: ForkName::NextVersionOf(base), at, activate }) => {
                let branches = self.history().branches(&commit.chat).await?;
                let prefix = format!("{base}-v");
                let count = branches
                    .iter()
                    .filter(|b| b.name == base || b.name.as_str().starts_with(&prefix))
                    .count();
                let name = ForkName::Exact(base.version(count as u32 + 1));
                self.history().commit(Commit { target: Target::Fork { name, at, activate }, ..commit }).await
            }
            (Fault::ReadsThenPatches, _) => {
                if let Some(patch) = commit.patch.take()
                    && let Some(mut chat) = self.history().chat(&commit.chat).await?
                {
                    patch.apply(&mut chat)?;
                    yield_now().await;
                    commit.patch = Some(ChatPatch {
                        title: Some(chat.title),
                        set: chat.metadata,
                        ..ChatPatch::default()
                    });
                }
                self.history().commit(commit).await
            }
            _ => {
                let chat = commit.chat.clone();
                let amended = commit.amendments.last().map(|node| node.id.clone());
                let outcome = self.history().commit(commit).await?;
                if let (CommitOutcome::Applied(_), Some(amended)) = (&outcome, amended) {
                    lock(&self.amended).insert(chat, amended);
                }
                Ok(outcome)
            }
        }
    }

    async fn branches(&self, chat: &ChatRef) -> Result<Vec<Branch>> {
        self.history().branches(chat).await
    }

    async fn activate_branch(&self, chat: &ChatRef, branch: &BranchName, at: Timestamp) -> Result<()> {
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
        self.history().checkpoints(chat).await
    }

    async fn delete_checkpoint(&self, chat: &ChatRef, name: &CheckpointName) -> Result<bool> {
        self.history().delete_checkpoint(chat, name).await
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
                let chain = self.history().chain(chat, end, &Window::Whole).await?.with_edition(0);
                Ok(window.of(&chain))
            }
            (Fault::HidesWhatWasSkipped, ..) => {
                let chain = self.history().chain(chat, end, window).await?;
                Ok(Chain::from_nodes(0, chain.iter().cloned()).with_edition(chain.edition()))
            }
            (Fault::BoundsTheDepth, ..) => {
                let chain = self.history().chain(chat, end, &Window::Last(1000)).await?;
                Ok(window.of(&Chain::from_nodes(0, chain.iter().cloned())))
            }
            _ => self.history().chain(chat, end, window).await,
        }
    }

    async fn messages(&self, chat: &ChatRef, ids: &[MessageId]) -> Result<Vec<Option<Placed>>> {
        let mut chat = chat.clone();
        if self.is(Fault::LeaksOtherUsers)
            && let Some(owner) = lock(&self.owners).get(&chat.chat)
        {
            chat.user = owner.clone();
        }
        assert!(!self.is(Fault::Panics) || !ids.is_empty(), "no ids");
        let mut slots = self.history().messages(&chat, ids).await?;
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
    ) -> Result<Page<Placed>> {
        self.history().all_messages(chat, limit, after).await
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
impl FragmentStore for Broken {
    async fn fragments(&self, chat: &ChatRef) -> Result<Vec<StoredFragment>> {
        let mut fragments = self.inner.fragments().fragments(chat).await?;
        for fragment in &mut fragments {
            fragment.id = fragment.id.take().filter(|id| !id.as_str().starts_with("hidden-"));
        }
        Ok(fragments)
    }

    async fn put_fragments(&self, chat: &ChatRef, fragments: &[StoredFragment], at: Timestamp) -> Result<()> {
        let mut fragments = fragments.to_vec();
        for fragment in &mut fragments {
            match &fragment.id {
                Some(id) if self.is(Fault::MovesReplacedFragments) => {
                    self.inner.fragments().remove_fragment(chat, id).await?;
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

    async fn remove_fragment(&self, chat: &ChatRef, id: &FragmentId) -> Result<bool> {
        self.inner.fragments().remove_fragment(chat, id).await
    }
}
