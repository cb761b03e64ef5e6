//! Retention: removal of old or surplus chats and branches of a user, and of old blobs and streams
//! of the remaining chats.
//!
//! A policy first [plans](Retention::plan) removals, which [`Removal::run`] then carries out, so
//! that a program can show them before. Branches in use are never removed: the active branch of a
//! remaining chat, a branch with a checkpoint, and anything that was written to after planning. The
//! chat that the user worked on last always stays.

use std::time::Duration;

use context_core::base::limits;
use context_core::store::{
    Blob, BlobPrune, BlobStore, ChatQuery, HistoryStore, PageWalk, StoredStream, StreamPrune,
    StreamStore,
};
use context_core::{
    BranchName, CancelSignal, ChatRef, ErrorKind, MessageId, Result, Store, Timestamp, UserId,
};
use serde::Serialize;

use crate::removal::{
    RemovalOptions, RemovalPlan, RemovalReport, delete_branch_at, delete_chat, reads,
};

/// The limits of a retention policy. A limit that is not set removes nothing.
///
/// ```
/// use std::time::Duration;
///
/// use context_runtime::{CancelSignal, Clock, ContextEngine, Retention, SystemClock, user};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = context_runtime::open("mem:").await?;
/// for name in ["first", "second", "third"] {
///     let mut chat = ContextEngine::builder(store.clone()).user("ada").chat(name).open().await?;
///     chat.set([user("A train?")]).save().await?;
/// }
/// let mut policy = Retention::default();
/// policy.max_chats = Some(2);
/// policy.idle_chats = Some(Duration::from_secs(30 * 86_400));
/// let now = SystemClock.now();
/// let removals = policy.plan(&*store, &"ada".into(), now, &CancelSignal::never()).await?;
/// assert_eq!(removals.len(), 1); // to be shown
/// assert!(removals[0].run(&*store, now).await?); // and done
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// Chats without writes for longer than this are removed.
    pub idle_chats: Option<Duration>,
    /// The maximum number of chats. The most recently written ones stay.
    pub max_chats: Option<usize>,
    /// The maximum total size of chats in bytes. The most recently written ones stay.
    pub max_bytes: Option<u64>,
    /// In remaining chats, branches whose newest message is older than this are removed.
    pub idle_branches: Option<Duration>,
    /// In remaining chats, blobs that were neither stored nor read for longer than this are
    /// removed. Messages that refer to one keep the reference.
    pub idle_blobs: Option<Duration>,
    /// In remaining chats, streams that ended longer ago than this are removed, and those without
    /// writes for longer.
    pub idle_streams: Option<Duration>,
}

/// The reason for a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RemovalReason {
    /// There were no writes for longer than allowed.
    Idle,
    /// Enough other chats were written to more recently.
    Count,
    /// More recently written chats use up the allowed bytes.
    Bytes,
}

/// A planned removal: a whole chat, or part of a remaining chat, which is a branch, or all old
/// blobs or streams. Describes the state at the time of planning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[must_use = "nothing is removed before it is run"]
#[non_exhaustive]
pub struct Removal {
    /// The chat.
    pub chat: ChatRef,
    /// The branch, if only a branch is removed.
    pub branch: Option<BranchName>,
    /// The head of that branch.
    pub head: Option<MessageId>,
    /// The number of blobs, if only blobs are removed.
    pub blobs: u64,
    /// The number of streams, if only streams are removed.
    pub streams: u64,
    /// The time of the last write. For blobs, when the newest of them was last stored or read.
    pub last_used: Timestamp,
    /// The reason.
    pub reason: RemovalReason,
}

impl Retention {
    /// Returns the removals for a user's chats at this time, most recently written chats first.
    /// Checks `cancel` between chats.
    pub async fn plan(
        &self,
        store: &dyn Store,
        user: &UserId,
        now: Timestamp,
        cancel: &CancelSignal,
    ) -> Result<Vec<Removal>> {
        let history = store.history();
        let mut query = ChatQuery { limit: limits::MAX_PAGE, ..ChatQuery::new(user.clone()) };
        let (mut removals, mut kept, mut bytes) = (Vec::new(), 0, 0u64);
        let mut walk = PageWalk::new("list_chats", "chat");
        loop {
            let page = history.list_chats(&query).await?;
            let next = walk.next(&page)?;
            for summary in page.items {
                cancel.check("retain")?;
                let (chat, last_used) = (summary.chat.chat, summary.chat.updated_at);
                if self.max_bytes.is_some() {
                    bytes = bytes.saturating_add(history.chat_size(&chat).await?.bytes);
                }
                let reason = if kept == 0 {
                    None
                } else if is_older(last_used, self.idle_chats, now) {
                    Some(RemovalReason::Idle)
                } else if self.max_chats.is_some_and(|most| kept >= most) {
                    Some(RemovalReason::Count)
                } else if self.max_bytes.is_some_and(|most| bytes > most) {
                    Some(RemovalReason::Bytes)
                } else {
                    None
                };
                match reason {
                    Some(reason) => removals.push(Removal::new(chat, last_used, reason)),
                    None => {
                        kept += 1;
                        if self.idle_branches.is_some() && summary.branches > 1 {
                            self.plan_branches(history, &chat, now, &mut removals).await?;
                        }
                        if let Some(blobs) = store.blobs().filter(|_| self.idle_blobs.is_some()) {
                            removals.extend(self.plan_blobs(blobs, &chat, now).await?);
                        }
                        if let Some(streams) =
                            store.streams().filter(|_| self.idle_streams.is_some())
                        {
                            removals.extend(self.plan_streams(streams, &chat, now).await?);
                        }
                    }
                }
            }
            query.after = next;
            if query.after.is_none() {
                return Ok(removals);
            }
        }
    }

    async fn plan_branches(
        &self,
        history: &dyn HistoryStore,
        chat: &ChatRef,
        now: Timestamp,
        removals: &mut Vec<Removal>,
    ) -> Result<()> {
        let marked: Vec<_> = history
            .checkpoints(chat)
            .await?
            .into_iter()
            .map(|checkpoint| checkpoint.message)
            .collect();
        for branch in history.branches(chat).await? {
            if branch.active || branch.head.as_ref().is_some_and(|head| marked.contains(head)) {
                continue;
            }
            let newest = match &branch.head {
                None => None,
                Some(head) => {
                    let found = history.messages(chat, std::slice::from_ref(head)).await?;
                    found.into_iter().next().flatten().map(|placed| placed.node.created_at)
                }
            };
            let last_used = newest.unwrap_or_default().max(branch.created_at);
            if is_older(last_used, self.idle_branches, now) {
                let gone = Removal::new(chat.clone(), last_used, RemovalReason::Idle);
                removals.push(Removal { branch: Some(branch.name), head: branch.head, ..gone });
            }
        }
        Ok(())
    }

    async fn plan_blobs(
        &self,
        store: &dyn BlobStore,
        chat: &ChatRef,
        now: Timestamp,
    ) -> Result<Option<Removal>> {
        let mut gone =
            Removal::new(chat.clone(), Timestamp::from_micros(i64::MIN), RemovalReason::Idle);
        for blob in reads::blobs(store, chat).await? {
            if is_older(blob.used_at, self.idle_blobs, now) {
                gone.blobs += 1;
                gone.last_used = gone.last_used.max(blob.used_at);
            }
        }
        Ok((gone.blobs > 0).then_some(gone))
    }

    async fn plan_streams(
        &self,
        store: &dyn StreamStore,
        chat: &ChatRef,
        now: Timestamp,
    ) -> Result<Option<Removal>> {
        let mut gone =
            Removal::new(chat.clone(), Timestamp::from_micros(i64::MIN), RemovalReason::Idle);
        for stream in reads::streams(store, chat).await? {
            let last_used = stream.finished_at.unwrap_or(stream.updated_at);
            if is_older(last_used, self.idle_streams, now) {
                gone.streams += 1;
                gone.last_used = gone.last_used.max(last_used);
            }
        }
        Ok((gone.streams > 0).then_some(gone))
    }
}

impl Removal {
    /// Creates the removal of a whole chat.
    fn new(chat: ChatRef, last_used: Timestamp, reason: RemovalReason) -> Self {
        Self { chat, branch: None, head: None, blobs: 0, streams: 0, last_used, reason }
    }

    /// Carries out the removal, unless there was a write since planning. A chat is removed with
    /// everything derived from it, as by [`delete_chat`](crate::removal::delete_chat). Returns
    /// whether it was removed; for blobs and streams, whether any was.
    pub async fn run(&self, store: &dyn Store, now: Timestamp) -> Result<bool> {
        // Searching for copies is turned off, because it would read all data once per chat.
        let options = RemovalOptions::at(now).find_copies(false);
        Ok(self.run_with(store, &options).await?.removed().next().is_some())
    }

    /// Like [`run`](Self::run), with these options. Returns what was removed, which is nothing
    /// after a write. In a dry run, returns what would be removed.
    pub async fn run_with(
        &self,
        store: &dyn Store,
        options: &RemovalOptions,
    ) -> Result<RemovalReport> {
        if options.dry_run {
            let plans = Self::plan_all(std::slice::from_ref(self), store, options).await?;
            return Ok(plans.into_iter().next().unwrap_or_default());
        }
        if self.blobs > 0 || self.streams > 0 {
            return self.prune(store).await;
        }
        let Some(branch) = &self.branch else {
            return delete_chat(store, &self.chat, Some(self.last_used), options).await;
        };
        match delete_branch_at(store, &self.chat, branch, self.head.as_ref(), options).await {
            Ok(report) => Ok(report.unwrap_or_default()),
            // Made active or deleted in the meantime.
            Err(error) if matches!(error.kind(), ErrorKind::Invalid | ErrorKind::NotFound) => {
                Ok(RemovalReport::default())
            }
            Err(error) => Err(error),
        }
    }

    /// Returns what each removal would remove, as [`run_with`](Self::run_with) does in a dry run,
    /// with one search for copies after all of them: words that go with another removal do not
    /// remain, and a copy of words that several have is listed with the first. For blobs and
    /// streams, no copies are searched for: they hold what messages refer to, or say too.
    pub async fn plan_all(
        removals: &[Self],
        store: &dyn Store,
        options: &RemovalOptions,
    ) -> Result<Vec<RemovalReport>> {
        let options = options.clone().dry_run(true);
        let mut plan = RemovalPlan::new(store, &options);
        for removal in removals {
            let chat = &removal.chat;
            match &removal.branch {
                Some(branch) => plan.add_branch(chat, branch).await?,
                None if removal.blobs > 0 || removal.streams > 0 => {
                    let (blobs, streams) = match removal.parts(store).await {
                        // The chat was deleted in the meantime.
                        Err(error) if error.is_not_found() => Default::default(),
                        read => read?,
                    };
                    plan.add_parts(chat, blobs, streams).await?;
                }
                None => plan.add_chat(chat, Some(removal.last_used)).await?,
            }
        }
        plan.finish().await
    }

    /// Returns the blobs or streams to remove.
    async fn parts(&self, store: &dyn Store) -> Result<(Vec<Blob>, Vec<StoredStream>)> {
        let (mut blobs, mut streams) = (Vec::new(), Vec::new());
        if let Some(store) = store.blobs().filter(|_| self.blobs > 0) {
            let prune = self.blob_prune();
            blobs = reads::blobs(store, &self.chat).await?;
            blobs.retain(|blob| blob.used_at <= prune.unused_since);
        }
        if let Some(store) = store.streams().filter(|_| self.streams > 0) {
            let prune = self.stream_prune();
            streams = reads::streams(store, &self.chat).await?;
            streams.retain(|stream| prune.takes(stream));
        }
        Ok((blobs, streams))
    }

    /// The removal of the blobs.
    fn blob_prune(&self) -> BlobPrune {
        BlobPrune::new(self.chat.user.clone(), self.last_used).of_chat(&self.chat.chat)
    }

    /// The removal of the streams.
    fn stream_prune(&self) -> StreamPrune {
        let prune = StreamPrune::new(self.chat.user.clone(), self.last_used);
        prune.of_chat(&self.chat.chat).abandoned(self.last_used)
    }

    async fn prune(&self, store: &dyn Store) -> Result<RemovalReport> {
        let mut report = RemovalReport::default();
        let pruned = match (store.blobs(), store.streams()) {
            (Some(blobs), _) if self.blobs > 0 => {
                let pruned = blobs.prune_blobs(&self.blob_prune()).await;
                pruned.map(|pruned| report.blobs = pruned.references)
            }
            (_, Some(streams)) if self.streams > 0 => {
                let pruned = streams.prune_streams(&self.stream_prune()).await;
                pruned.map(|pruned| report.streams = pruned.streams)
            }
            _ => Ok(()),
        };
        // The chat may have been deleted in the meantime.
        pruned.or_else(|error| if error.is_not_found() { Ok(()) } else { Err(error) })?;
        Ok(report)
    }
}

fn is_older(last_used: Timestamp, most: Option<Duration>, now: Timestamp) -> bool {
    let idle = now.as_micros().saturating_sub(last_used.as_micros());
    most.is_some_and(|most| idle > i64::try_from(most.as_micros()).unwrap_or(i64::MAX))
}
