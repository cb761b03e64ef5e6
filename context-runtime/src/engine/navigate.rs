//! Moving through the graph: rewind, fork, switch, checkpoint, restore. None of these changes a
//! message. With a workspace, the files move too.

use context_core::base::{CheckpointName, DiagnosticCode, Severity, SnapshotId};
use context_core::store::{ChatPatch, Checkpoint, Committed, ForkName, Target};
use context_core::workspace::Restored;
use context_core::{BranchName, Diagnostic, Error, ErrorKind, MessageId, Result};

use super::ContextEngine;
use super::workspace::{Destination, MovedFiles};

/// The result of a move.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Moved {
    /// The branch.
    pub branch: BranchName,
    /// Its head. `None` while it has no messages.
    pub head: Option<MessageId>,
    /// Pending messages that were dropped.
    pub dropped: Vec<MessageId>,
    /// The files that went back too. `None` without a [workspace](crate::workspace::Workspace), or
    /// if there is no snapshot for the destination: the files are as they were then.
    pub restored: Option<Restored>,
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
    ///
    /// With a [workspace](Self::set_workspace), the files go back first, to the newest
    /// [snapshot](Self::snapshot_workspace) for the message. If that fails, the conversation stays
    /// where it is. After a crash between the two, the same call again finishes the move, as
    /// [`finish_move`](Self::finish_move) does. If there is no snapshot, the files stay.
    pub async fn rewind(&mut self, message: &MessageId) -> Result<Moved> {
        self.rewind_to(message, None).await
    }

    async fn rewind_to(
        &mut self,
        message: &MessageId,
        snapshot: Option<SnapshotId>,
    ) -> Result<Moved> {
        const OPERATION: &str = "rewind";
        if self.workspace.is_some() {
            let found =
                self.parts.history().messages(&self.chat, std::slice::from_ref(message)).await?;
            if found.iter().all(Option::is_none) {
                return Err(Error::not_found(OPERATION, "message", message));
            }
        }
        let to = Destination::Message(message.clone());
        let files = self.move_files(to, Some(message), snapshot).await?;
        let patch = files.as_ref().map(|files| files.patch.clone());
        let committed = self.branch_at(OPERATION, message.clone(), true, patch).await?;
        self.end_move(files.as_ref()).await?;
        let branch = committed.branch.unwrap_or_else(|| self.branch.clone());
        let dropped = self.pending.clear();
        self.compaction = None;
        self.in_flight = None;
        self.view = self.view.take().and_then(|mut view| view.up_to(message));
        self.branch = branch.clone();
        let restored = files.and_then(|files| files.restored);
        Ok(Moved { branch, head: committed.head, dropped, restored })
    }

    /// Creates a new branch at the head of this one, for a side question, and stays on the current
    /// branch. Pending messages are kept. Open another engine on the returned branch to use it.
    /// [`fork`](Self::fork) makes a new chat.
    pub async fn fork_here(&mut self) -> Result<Moved> {
        let head = self.require_head("fork_here").await?;
        let committed = self.branch_at("fork_here", head, false, None).await?;
        let branch = committed.branch.unwrap_or_else(|| self.branch.clone());
        Ok(Moved { branch, head: committed.head, dropped: Vec::new(), restored: None })
    }

    /// Moves to another branch and makes it the active one. Pending messages are dropped and
    /// reported, also when the engine is on that branch already. With a
    /// [workspace](Self::set_workspace), the files are those of that branch's head again, as with
    /// [`rewind`](Self::rewind).
    pub async fn switch_branch(&mut self, branch: impl Into<BranchName>) -> Result<Moved> {
        let branch = branch.into();
        let files = match self.workspace.is_some() {
            true => self.move_files_to_branch(&branch).await?,
            false => None,
        };
        self.parts.history().activate_branch(&self.chat, &branch, self.parts.clock.now()).await?;
        if let Some(files) = &files {
            let _chat = self.update_chat(&files.patch).await?;
            self.end_move(Some(files)).await?;
        }
        if branch != self.branch {
            self.view = None;
            self.branch = branch.clone();
        }
        let dropped = self.pending.clear();
        self.compaction = None;
        self.in_flight = None;
        let head = self.view().await?.head().cloned();
        let restored = files.and_then(|files| files.restored);
        Ok(Moved { branch, head, dropped, restored })
    }

    async fn move_files_to_branch(&mut self, branch: &BranchName) -> Result<Option<MovedFiles>> {
        let found = self.branches().await?.into_iter().find(|found| found.name == *branch);
        let found = found.ok_or_else(|| Error::not_found("switch_branch", "branch", branch))?;
        self.move_files(Destination::Branch(branch.clone()), found.head.as_ref(), None).await
    }

    /// Points a checkpoint at the newest saved message of the branch. An existing checkpoint of
    /// this name moves there. With a [workspace](Self::set_workspace), a snapshot of the files
    /// belongs to it, as [`checkpoint_workspace`](Self::checkpoint_workspace) says.
    pub async fn checkpoint(&mut self, name: impl Into<CheckpointName>) -> Result<Checkpoint> {
        Ok(self.checkpoint_workspace(name).await?.checkpoint)
    }

    /// Goes back to a checkpoint, as [`rewind`](Self::rewind) does.
    pub async fn restore(&mut self, name: impl Into<CheckpointName>) -> Result<Moved> {
        let name = name.into();
        let checkpoints = self.parts.history().checkpoints(&self.chat).await?;
        let found = checkpoints.into_iter().find(|checkpoint| checkpoint.name == name);
        let checkpoint = found.ok_or_else(|| Error::not_found("restore", "checkpoint", &name))?;
        let snapshot = self.snapshot_of_checkpoint(&checkpoint).await?;
        self.rewind_to(&checkpoint.message, snapshot).await
    }

    /// Moves this engine alone to a branch of this name, which is created at the head if the chat
    /// has none.
    #[cfg(feature = "agents")]
    pub(crate) async fn move_to_new(&mut self, branch: BranchName) -> Result<()> {
        let head = self.require_head("fork").await?;
        let name = ForkName::Exact(branch.clone());
        let target = Target::Fork { name, at: Some(head), activate: false };
        let mut commit = self.new_commit(target);
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
        patch: Option<ChatPatch>,
    ) -> Result<Committed> {
        let name = ForkName::NextVersionOf(self.branch.clone());
        let target = Target::Fork { name, at: Some(at), activate };
        let mut commit = self.new_commit(target);
        (commit.key, commit.patch) = (self.parts.fresh_key(), patch);
        let outcome = self.parts.history().commit(commit).await?;
        outcome.committed().ok_or_else(|| {
            Error::new(ErrorKind::Bug, operation, "a branch with a free name met a conflict")
        })
    }
}
