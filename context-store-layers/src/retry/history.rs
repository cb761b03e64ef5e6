//! Chats and their history: the answers after a lost reply, call by call.

use context_core::base::CommitKey;
use context_core::store::{
    Branch, BranchDeletion, Chat, ChatPatch, ChatSize, Commit, CommitOutcome, Created, ForkName,
    NewChat, Target,
};
use context_core::{BranchName, ChatRef, Error, ErrorKind, MessageId, Result, Retry, Timestamp};

use super::Shared;
use crate::forward::forward;

/// Whether a repeated commit could be applied twice, or could not be recognized as applied.
fn needs_key(commit: &Commit) -> bool {
    if commit.key.is_some() {
        return false;
    }
    match &commit.target {
        Target::Stay | Target::Fork { name: ForkName::NextVersionOf(_), .. } => true,
        // New messages are recognized by their ids. Without any, the repeated fork would find its
        // own branch and report that its name is taken.
        Target::Fork { name: ForkName::Exact(_), .. } => commit.nodes.is_empty(),
        Target::Extend { .. } | Target::Graft { .. } => {
            let changes = !commit.amendments.is_empty()
                || !commit.redactions.is_empty()
                || !commit.fragments.is_empty()
                || commit.patch.is_some();
            commit.nodes.is_empty() && changes
        }
    }
}

fn find<'a>(branches: &'a [Branch], name: &BranchName) -> Option<&'a Branch> {
    branches.iter().find(|branch| branch.name == *name)
}

/// Whether an earlier branch is now called `to`, a name that no branch had before.
fn is_renamed(seen: &Branch, to: &BranchName, before: &[Branch], now: &[Branch]) -> bool {
    find(before, to).is_none()
        && find(now, to).is_some_and(|branch| branch.created_at == seen.created_at)
}

/// The error for a chat that was written to between the read and the deletion.
fn busy() -> Error {
    Error::new(ErrorKind::Unavailable, "delete_chat", "other writers keep writing to the chat")
}

impl Shared {
    async fn create(&self, new: NewChat) -> Result<Created> {
        let mut tries = self.tries();
        loop {
            match self.inner.history().create_chat(new.clone()).await {
                Ok(Created::Existing(chat)) if tries.lost() && chat == Chat::new(new.clone()) => {
                    return Ok(Created::New(chat));
                }
                Ok(created) => return Ok(created),
                Err(error) => tries.failed(error).await?,
            }
        }
    }

    /// Applies a patch that adds numbers, as a commit whose key tells whether it was applied.
    async fn add(&self, chat: &ChatRef, patch: &ChatPatch, at: Timestamp) -> Result<Chat> {
        const OPERATION: &str = "update_chat";
        let commit =
            Commit { patch: Some(patch.clone()), ..Commit::new(chat.clone(), Target::Stay, at) };
        if self.keyed(commit).await?.committed().is_none() {
            return Err(Error::new(
                ErrorKind::Bug,
                OPERATION,
                "a patch lost a race that it is not in",
            ));
        }
        // The commit is applied, so the caller must not be told to repeat it.
        let chat_now = self.again(|| self.inner.history().chat(chat)).await;
        let chat_now = chat_now.map_err(|error| error.with_retry(Retry::AfterRefresh))?;
        chat_now.ok_or_else(|| Error::not_found(OPERATION, "chat", &chat.chat))
    }

    async fn keyed(&self, mut commit: Commit) -> Result<CommitOutcome> {
        let ours = needs_key(&commit);
        if ours {
            commit.key = Some(CommitKey::from(self.ids.next_id()));
        }
        let mut tries = self.tries();
        loop {
            match self.inner.history().commit(commit.clone()).await {
                // Nobody else has the key, so the replayed commit is an earlier try of this call.
                Ok(CommitOutcome::Replayed(committed)) if ours => {
                    return Ok(CommitOutcome::Applied(committed));
                }
                Ok(outcome) => return Ok(outcome),
                Err(error) => tries.failed(error).await.map_err(|error| match error.retry() {
                    Retry::Safe if ours => error.with_retry(Retry::AfterRefresh),
                    _ => error,
                })?,
            }
        }
    }

    async fn delete(&self, chat: &ChatRef, idle_since: Option<Timestamp>) -> Result<bool> {
        let history = self.inner.history();
        let Some(seen) = self.look(|| history.chat(chat)).await?.flatten() else {
            return self.again(|| history.delete_chat(chat, idle_since)).await;
        };
        let mut tries = self.tries();
        let mut idle = idle_since;
        loop {
            match history.delete_chat(chat, idle).await {
                Ok(true) => return Ok(true),
                Ok(false) if !tries.lost() => return Ok(false),
                Ok(false) => tries.failed(busy()).await?,
                Err(error) => tries.failed(error).await?,
            }
            // A failed try may have deleted the chat. The chat that exists now must be the one that
            // was read before.
            match self.look(|| history.chat(chat)).await?.flatten() {
                Some(now) if now.created_at == seen.created_at => {
                    if idle_since.is_some_and(|since| now.updated_at > since) {
                        return Ok(false);
                    }
                    idle = idle_since.or(Some(now.updated_at));
                }
                _ => return Ok(true),
            }
        }
    }

    async fn rename(
        &self,
        chat: &ChatRef,
        from: &BranchName,
        to: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        let history = self.inner.history();
        let before = self.look(|| history.branches(chat)).await?.unwrap_or_default();
        let mut tries = self.tries();
        loop {
            let Err(error) = history.rename_branch(chat, from, to, at).await else { return Ok(()) };
            if tries.lost()
                && matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Invalid)
                && let Some(seen) = find(&before, from)
                && let Some(now) = self.look(|| history.branches(chat)).await?
                && is_renamed(seen, to, &before, &now)
            {
                return Ok(());
            }
            tries.failed(error).await?;
        }
    }

    async fn prune(
        &self,
        chat: &ChatRef,
        name: &BranchName,
        expected: Option<&MessageId>,
        at: Timestamp,
    ) -> Result<BranchDeletion> {
        let history = self.inner.history();
        let before = self.look(|| history.branches(chat)).await?.unwrap_or_default();
        let size = self.look(|| history.chat_size(chat)).await?.unwrap_or_default();
        let mut tries = self.tries();
        loop {
            let result = history.delete_branch(chat, name, expected, at).await;
            let unclear = match &result {
                Ok(deletion) => matches!(deletion, BranchDeletion::Conflict { .. }),
                Err(error) => error.is_not_found(),
            };
            if tries.lost()
                && unclear
                && let Some(seen) = find(&before, name)
                && let Some(now) = self.look(|| history.branches(chat)).await?
                && !now
                    .iter()
                    .any(|branch| branch.name == *name && branch.created_at == seen.created_at)
                && !now.iter().any(|branch| is_renamed(seen, &branch.name, &before, &now))
            {
                let left =
                    self.look(|| history.chat_size(chat)).await?.unwrap_or(ChatSize::default());
                return Ok(BranchDeletion::Deleted {
                    messages: size.messages.saturating_sub(left.messages),
                });
            }
            match result {
                Ok(deletion) => return Ok(deletion),
                Err(error) => tries.failed(error).await?,
            }
        }
    }
}

forward! {
    HistoryStore for Shared:
        chat list_chats chat_size branches activate_branch set_checkpoint checkpoints chain
            messages all_messages revisions;
    {
        async fn create_chat(&self, new: NewChat) -> Result<Created> {
            self.create(new).await
        }

        async fn update_chat(&self, chat: &ChatRef, patch: &ChatPatch,
            at: Timestamp) -> Result<Chat> {
            if !patch.add.is_empty() {
                return self.add(chat, patch, at).await;
            }
            self.again(|| self.inner.history().update_chat(chat, patch, at)).await
        }

        async fn delete_chat(&self, chat: &ChatRef, idle_since: Option<Timestamp>) -> Result<bool> {
            self.delete(chat, idle_since).await
        }

        async fn commit(&self, commit: Commit) -> Result<CommitOutcome> {
            self.keyed(commit).await
        }

        async fn rename_branch(
            &self,
            chat: &ChatRef,
            branch: &BranchName,
            to: &BranchName,
            at: Timestamp,
        ) -> Result<()> {
            self.rename(chat, branch, to, at).await
        }

        async fn delete_branch(
            &self,
            chat: &ChatRef,
            branch: &BranchName,
            expected: Option<&MessageId>,
            at: Timestamp,
        ) -> Result<BranchDeletion> {
            self.prune(chat, branch, expected, at).await
        }

        async fn delete_checkpoint(
            &self,
            chat: &ChatRef,
            name: &CheckpointName,
            at: Timestamp,
        ) -> Result<bool> {
            let history = self.inner.history();
            let before = self.look(|| history.checkpoints(chat)).await?.unwrap_or_default();
            let there = before.iter().any(|checkpoint| checkpoint.name == *name);
            self.remove(there, || history.delete_checkpoint(chat, name, at)).await
        }
    }
}
