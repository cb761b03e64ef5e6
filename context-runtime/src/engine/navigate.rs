//! Moving through the graph: rewind, fork, switch, checkpoint, restore. None of these changes a
//! message.

use context_core::base::{CheckpointName, DiagnosticCode, Severity};
use context_core::store::{Checkpoint, Commit, Committed, ForkName, Target};
use context_core::{BranchName, Diagnostic, Error, ErrorKind, MessageId, Result};

use super::ContextEngine;

/// The result of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moved {
    /// The branch.
    pub branch: BranchName,
    /// Its head. `None` while it has no messages.
    pub head: Option<MessageId>,
    /// Pending messages that were dropped.
    pub dropped: Vec<MessageId>,
}

impl Moved {
    /// Returns the dropped messages as a diagnostic.
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        let ids: Vec<_> = self.dropped.iter().map(MessageId::as_str).collect();
        (!ids.is_empty()).then(|| {
            let text = format!("{} messages that were not saved: {}", ids.len(), ids.join(", "));
            Diagnostic::new(
                DiagnosticCode::PendingDropped,
                Severity::Warning,
                self.branch.as_str(),
                text,
            )
        })
    }
}

impl ContextEngine {
    /// Goes back to a message, which may be on any branch of the chat. Creates a new branch that
    /// ends with this message, makes it the active one and moves the engine there. Stored messages
    /// are kept. Pending messages are dropped and reported.
    pub async fn rewind(&mut self, message: &MessageId) -> Result<Moved> {
        let committed = self.branch_at("rewind", message.clone(), true).await?;
        let branch = committed.branch.unwrap_or_else(|| self.branch.clone());
        let dropped = self.pending.clear();
        self.compaction = None;
        self.in_flight = None;
        self.view = self.view.take().and_then(|mut view| view.up_to(message));
        self.branch = branch.clone();
        Ok(Moved { branch, head: committed.head, dropped })
    }

    /// Creates a new branch at the head of this one, for a side question, and stays on the current
    /// branch. Pending messages are kept. Open another engine on the returned branch to use it.
    /// [`fork`](Self::fork) makes a new chat.
    pub async fn fork_here(&mut self) -> Result<Moved> {
        let head = self.require_head("fork_here").await?;
        let committed = self.branch_at("fork_here", head, false).await?;
        let branch = committed.branch.unwrap_or_else(|| self.branch.clone());
        Ok(Moved { branch, head: committed.head, dropped: Vec::new() })
    }

    /// Moves to another branch and makes it the active one. Pending messages are dropped and
    /// reported, also when the engine is on that branch already.
    pub async fn switch_branch(&mut self, branch: impl Into<BranchName>) -> Result<Moved> {
        let branch = branch.into();
        self.parts.history().activate_branch(&self.chat, &branch, self.parts.clock.now()).await?;
        if branch != self.branch {
            self.view = None;
            self.branch = branch.clone();
        }
        let dropped = self.pending.clear();
        self.compaction = None;
        self.in_flight = None;
        let head = self.view().await?.head().cloned();
        Ok(Moved { branch, head, dropped })
    }

    /// Points a checkpoint at the newest saved message of the branch. An existing checkpoint of
    /// this name moves there.
    pub async fn checkpoint(&mut self, name: impl Into<CheckpointName>) -> Result<Checkpoint> {
        let head = self.require_head("checkpoint").await?;
        let now = self.parts.clock.now();
        self.parts.history().set_checkpoint(&self.chat, &name.into(), &head, now).await
    }

    /// Goes back to a checkpoint, as [`rewind`](Self::rewind) does.
    pub async fn restore(&mut self, name: impl Into<CheckpointName>) -> Result<Moved> {
        let name = name.into();
        let checkpoints = self.parts.history().checkpoints(&self.chat).await?;
        let found = checkpoints.into_iter().find(|checkpoint| checkpoint.name == name);
        let checkpoint = found.ok_or_else(|| Error::not_found("restore", "checkpoint", &name))?;
        self.rewind(&checkpoint.message).await
    }

    /// Moves this engine alone to a branch of this name, which is created at the head if the chat
    /// has none.
    #[cfg(feature = "agents")]
    pub(crate) async fn move_to_new(&mut self, branch: BranchName) -> Result<()> {
        let head = self.require_head("fork").await?;
        let name = ForkName::Exact(branch.clone());
        let target = Target::Fork { name, at: Some(head), activate: false };
        let mut commit = Commit::new(self.chat.clone(), target, self.parts.clock.now());
        commit.key = self.parts.fresh_key();
        // The only conflict is a taken name: the branch exists.
        let _created_or_found = self.parts.history().commit(commit).await?;
        (self.branch, self.view) = (branch, None);
        Ok(())
    }

    async fn branch_at(
        &mut self,
        operation: &'static str,
        at: MessageId,
        activate: bool,
    ) -> Result<Committed> {
        let name = ForkName::NextVersionOf(self.branch.clone());
        let target = Target::Fork { name, at: Some(at), activate };
        let mut commit = Commit::new(self.chat.clone(), target, self.parts.clock.now());
        commit.key = self.parts.fresh_key();
        let outcome = self.parts.history().commit(commit).await?;
        outcome.committed().ok_or_else(|| {
            Error::new(ErrorKind::Bug, operation, "a branch with a free name met a conflict")
        })
    }
}
