//! Retention: which chats and branches of a user go when they are old or too many.
//!
//! A policy is looked at first ([`plan`](Retention::plan)) and done then ([`Removal::run`]), so that what would go can
//! be shown. A branch in use is never cut: not the active branch of a chat that stays, not one that a checkpoint
//! stands on, and nothing that was written to since it was looked at. The chat a user worked on last always stays.

use std::time::Duration;

use context_core::{
    BranchDeletion, BranchName, CancelSignal, ChatQuery, ChatRef, HistoryStore, MessageId, Result, Store,
    Timestamp, UserId, limits,
};
use serde::Serialize;

/// What may stay. Nothing is removed for a limit that is not set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// Chats that nobody wrote to for longer than this go.
    pub idle_chats: Option<Duration>,
    /// Only so many chats stay, those written to last.
    pub max_chats: Option<usize>,
    /// Chats stay as long as they take at most this many bytes together, those written to last first.
    pub max_bytes: Option<u64>,
    /// In chats that stay, branches whose newest message is older than this go.
    pub idle_branches: Option<Duration>,
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

/// A chat or a branch that goes, as it was when it was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[must_use = "nothing is removed before it is run"]
#[non_exhaustive]
pub struct Removal {
    /// The chat.
    pub chat: ChatRef,
    /// The branch, if only that goes.
    pub branch: Option<BranchName>,
    /// The head of that branch.
    pub head: Option<MessageId>,
    /// When it was last written to.
    pub last_used: Timestamp,
    /// Why it goes.
    pub reason: RemovalReason,
}

impl Retention {
    /// What of a user's chats goes by this policy at this time; the chats that were written to last come first.
    /// Asks `cancel` between chats.
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
        loop {
            let page = history.list_chats(&query).await?;
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
                    Some(reason) => {
                        removals.push(Removal { chat, branch: None, head: None, last_used, reason });
                    }
                    None => {
                        kept += 1;
                        if self.idle_branches.is_some() && summary.branches > 1 {
                            self.plan_branches(history, &chat, now, &mut removals).await?;
                        }
                    }
                }
            }
            query.after = page.next;
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
        let marked: Vec<_> =
            history.checkpoints(chat).await?.into_iter().map(|checkpoint| checkpoint.message).collect();
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
                let (chat, name, reason) = (chat.clone(), Some(branch.name), RemovalReason::Idle);
                removals.push(Removal { chat, branch: name, head: branch.head, last_used, reason });
            }
        }
        Ok(())
    }
}

impl Removal {
    /// Removes it, unless it was written to since the policy looked at it. True if it is gone.
    pub async fn run(&self, store: &dyn Store, now: Timestamp) -> Result<bool> {
        let history = store.history();
        let Some(branch) = &self.branch else {
            return history.delete_chat(&self.chat, Some(self.last_used)).await;
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
