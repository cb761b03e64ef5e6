//! Branches and checkpoints of a chat, and the removal of unreachable messages.

use std::collections::HashSet;

use super::ChatState;
use context_core::base::{CheckpointName, limits};
use context_core::store::{Branch, BranchDeletion, Checkpoint, RefChange, RefLog};
use context_core::{BranchName, Error, MessageId, Result, Timestamp};

impl ChatState {
    /// Returns the branches in creation order.
    pub fn branches(&self) -> Vec<Branch> {
        let mut branches = self.branches.clone();
        for branch in &mut branches {
            branch.active = branch.name == self.chat.active;
        }
        branches
    }

    /// Makes a branch the active one.
    pub fn activate_branch(&mut self, branch: &BranchName, at: Timestamp) -> Result<()> {
        self.branch("activate_branch", branch)?;
        let from = std::mem::replace(&mut self.chat.active, branch.clone());
        if from != *branch {
            self.ref_log.push(at, RefChange::BranchActivated { from, to: branch.clone() });
        }
        self.touch(at);
        Ok(())
    }

    /// Renames a branch.
    pub fn rename_branch(
        &mut self,
        branch: &BranchName,
        to: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        const OPERATION: &str = "rename_branch";
        limits::check_id(OPERATION, "branch", to.as_str())?;
        self.branch(OPERATION, branch)?;
        if branch != to && self.branch(OPERATION, to).is_ok() {
            return Err(
                Error::invalid(OPERATION, "another branch has this name").with("branch", to)
            );
        }
        for renamed in self.branches.iter_mut().filter(|renamed| renamed.name == *branch) {
            renamed.name = to.clone();
        }
        if self.chat.active == *branch {
            self.chat.active = to.clone();
        }
        if branch != to {
            let change = RefChange::BranchRenamed { from: branch.clone(), to: to.clone() };
            self.ref_log.push(at, change);
        }
        self.touch(at);
        Ok(())
    }

    /// Deletes a branch whose head is the expected one, and messages that nothing else reaches.
    pub fn delete_branch(
        &mut self,
        branch: &BranchName,
        expected: Option<&MessageId>,
        at: Timestamp,
    ) -> Result<BranchDeletion> {
        const OPERATION: &str = "delete_branch";
        let head = &self.branch(OPERATION, branch)?.head;
        if head.as_ref() != expected {
            return Ok(BranchDeletion::Conflict { actual: head.clone() });
        }
        if self.chat.active == *branch {
            let message = "the active branch cannot be deleted; make another one active first";
            return Err(Error::invalid(OPERATION, message).with("branch", branch));
        }
        self.branches.retain(|other| other.name != *branch);
        self.touch(at);
        let messages = self.prune();
        let (branch, head) = (branch.clone(), expected.cloned());
        self.ref_log.push(at, RefChange::BranchDeleted { branch, head, messages });
        Ok(BranchDeletion::Deleted { messages })
    }

    /// Returns the checkpoints, ordered by name.
    pub fn checkpoints(&self) -> Vec<Checkpoint> {
        self.checkpoints.values().cloned().collect()
    }

    /// Sets a checkpoint to a message.
    pub fn set_checkpoint(
        &mut self,
        name: &CheckpointName,
        message: &MessageId,
        at: Timestamp,
    ) -> Result<Checkpoint> {
        const OPERATION: &str = "set_checkpoint";
        limits::check_id(OPERATION, "checkpoint", name.as_str())?;
        self.placed(OPERATION, message)?;
        let checkpoint = Checkpoint::new(name.clone(), message.clone(), at);
        let from = self.checkpoints.insert(name.clone(), checkpoint.clone()).map(|it| it.message);
        if from.as_ref() != Some(message) {
            let messages = if from.is_some() { self.prune() } else { 0 };
            let (checkpoint, to) = (name.clone(), message.clone());
            self.ref_log.push(at, RefChange::CheckpointSet { checkpoint, from, to, messages });
        }
        self.touch(at);
        Ok(checkpoint)
    }

    /// Deletes a checkpoint. Returns false if it did not exist.
    pub fn delete_checkpoint(&mut self, name: &CheckpointName, at: Timestamp) -> bool {
        self.touch(at);
        let Some(deleted) = self.checkpoints.remove(name) else { return false };
        let messages = self.prune();
        let (checkpoint, from) = (deleted.name, deleted.message);
        self.ref_log.push(at, RefChange::CheckpointDeleted { checkpoint, from, messages });
        true
    }

    /// Returns the log of references.
    pub fn ref_log(&self) -> &RefLog {
        &self.ref_log
    }

    /// Deletes all entries of the log of references. Returns their number.
    pub fn clear_ref_log(&mut self) -> u64 {
        std::mem::take(&mut self.ref_log).entries().len() as u64
    }

    /// Removes messages that no branch and no checkpoint reaches. Returns their number.
    fn prune(&mut self) -> u64 {
        let heads = self.branches.iter().filter_map(|branch| branch.head.as_ref());
        let marks = self.checkpoints.values().map(|checkpoint| &checkpoint.message);
        let mut reached = HashSet::with_capacity(self.nodes.len());
        for end in heads.chain(marks) {
            let mut next = Some(end);
            while let Some(id) = next.filter(|id| reached.insert((*id).clone())) {
                next = self.find(id).and_then(|placed| placed.parent.as_ref());
            }
        }
        let before = self.nodes.len();
        self.nodes.retain(|placed| reached.contains(&placed.node.id));
        let pruned = (before - self.nodes.len()) as u64;
        if pruned > 0 {
            self.revisions.retain(|id, _| reached.contains(id));
            self.reindex();
            self.changes += 1;
        }
        pruned
    }

    pub(super) fn reindex(&mut self) {
        let positions = self.nodes.iter().enumerate();
        self.index =
            positions.map(|(position, placed)| (placed.node.id.clone(), position)).collect();
    }
}
