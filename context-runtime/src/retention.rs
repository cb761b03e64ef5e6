//! Retention: which chats and branches of a user go when they are old or too many, and which blobs
//! and streams of chats that stay.
//!
//! A policy is looked at first ([`plan`](Retention::plan)) and done then ([`Removal::run`]), so
//! that what would go can be shown. A branch in use is never cut: not the active branch of a chat
//! that stays, not one that a checkpoint stands on, and nothing that was written to since it was
//! looked at. The chat a user worked on last always stays.

use std::time::Duration;

use context_core::base::limits;
use context_core::store::{
    BlobPrune, BlobStore, BranchDeletion, ChatQuery, HistoryStore, PageWalk, StreamPrune,
    StreamStore,
};
use context_core::{
    BranchName, CancelSignal, ChatRef, MessageId, Result, Store, Timestamp, UserId,
};
use serde::Serialize;

use crate::removal::{RemovalOptions, delete_chat};

/// What may stay. Nothing is removed for a limit that is not set.
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
    /// Chats that nobody wrote to for longer than this go.
    pub idle_chats: Option<Duration>,
    /// The number of chats that stay, those written to last.
    pub max_chats: Option<usize>,
    /// Chats stay as long as they take at most this many bytes together, those written to last
    /// first.
    pub max_bytes: Option<u64>,
    /// In chats that stay, branches whose newest message is older than this go.
    pub idle_branches: Option<Duration>,
    /// In chats that stay, blobs that nobody put or read for longer than this go. Messages that
    /// name one keep the name.
    pub idle_blobs: Option<Duration>,
    /// In chats that stay, streams that ended longer ago than this go, and those that nobody wrote
    /// to for longer.
    pub idle_streams: Option<Duration>,
}

/// Why something goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RemovalReason {
    /// Nobody wrote to it for longer than it may stay.
    Idle,
    /// Enough others were written to later.
    Count,
    /// Others that were written to later take the bytes there are.
    Bytes,
}

/// A chat that goes, or what goes of one that stays: a branch, or all blobs or streams that are
/// old; as it was when it was looked at.
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
    /// When it was last written to; of blobs, when the newest of them was last put or read.
    pub last_used: Timestamp,
    /// Why it goes.
    pub reason: RemovalReason,
}

impl Retention {
    /// What of a user's chats goes by this policy at this time; the chats that were written to last
    /// come first. Asks `cancel` between chats.
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
        let mut after = None;
        let mut walk = PageWalk::new("blobs", "blob");
        loop {
            let page = store.blobs(chat, limits::MAX_PAGE, after.as_ref()).await?;
            let next = walk.next(&page)?;
            for blob in
                page.items.iter().filter(|blob| is_older(blob.used_at, self.idle_blobs, now))
            {
                gone.blobs += 1;
                gone.last_used = gone.last_used.max(blob.used_at);
            }
            after = next;
            if after.is_none() {
                return Ok((gone.blobs > 0).then_some(gone));
            }
        }
    }

    async fn plan_streams(
        &self,
        store: &dyn StreamStore,
        chat: &ChatRef,
        now: Timestamp,
    ) -> Result<Option<Removal>> {
        let mut gone =
            Removal::new(chat.clone(), Timestamp::from_micros(i64::MIN), RemovalReason::Idle);
        let mut after = None;
        let mut walk = PageWalk::new("streams", "stream");
        loop {
            let page = store.streams(chat, limits::MAX_PAGE, after.as_ref()).await?;
            let next = walk.next(&page)?;
            for last_used in
                page.items.iter().map(|stream| stream.finished_at.unwrap_or(stream.updated_at))
            {
                if is_older(last_used, self.idle_streams, now) {
                    gone.streams += 1;
                    gone.last_used = gone.last_used.max(last_used);
                }
            }
            after = next;
            if after.is_none() {
                return Ok((gone.streams > 0).then_some(gone));
            }
        }
    }
}

impl Removal {
    /// A whole chat.
    fn new(chat: ChatRef, last_used: Timestamp, reason: RemovalReason) -> Self {
        Self { chat, branch: None, head: None, blobs: 0, streams: 0, last_used, reason }
    }

    /// Removes it, unless it was written to since the policy looked at it; a chat with all that
    /// came from it, as [`delete_chat`](crate::removal::delete_chat) says. True if it is gone; of
    /// blobs and streams, if any is.
    pub async fn run(&self, store: &dyn Store, now: Timestamp) -> Result<bool> {
        let history = store.history();
        let ChatRef { user, chat } = &self.chat;
        if self.blobs > 0 || self.streams > 0 {
            let gone = match (store.blobs(), store.streams()) {
                (Some(blobs), _) if self.blobs > 0 => {
                    let prune = BlobPrune::new(user, self.last_used).of_chat(chat);
                    blobs.prune_blobs(&prune).await.map(|pruned| pruned.references > 0)
                }
                (_, Some(streams)) if self.streams > 0 => {
                    let prune = StreamPrune::new(user, self.last_used)
                        .of_chat(chat)
                        .abandoned(self.last_used);
                    streams.prune_streams(&prune).await.map(|pruned| pruned.streams > 0)
                }
                _ => Ok(false),
            };
            // The chat was deleted in the meantime.
            return gone.or_else(|error| if error.is_not_found() { Ok(false) } else { Err(error) });
        }
        let Some(branch) = &self.branch else {
            // What came from the chat goes with it. To look for copies for each of many chats would
            // read everything as often.
            let options = RemovalOptions::at(now).find_copies(false);
            return Ok(
                delete_chat(store, &self.chat, Some(self.last_used), &options).await?.chats > 0
            );
        };
        match history.delete_branch(&self.chat, branch, self.head.as_ref(), now).await {
            Ok(BranchDeletion::Deleted { .. }) => Ok(true),
            Ok(_) => Ok(false),
            // Made active or deleted in the meantime.
            Err(error)
                if matches!(
                    error.kind(),
                    context_core::ErrorKind::Invalid | context_core::ErrorKind::NotFound
                ) =>
            {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

fn is_older(last_used: Timestamp, most: Option<Duration>, now: Timestamp) -> bool {
    let idle = now.as_micros().saturating_sub(last_used.as_micros());
    most.is_some_and(|most| idle > i64::try_from(most.as_micros()).unwrap_or(i64::MAX))
}
