//! Commits: check everything, then write everything.
//!
//! No change is made before all checks have passed, so no rollback is needed. The checks run in the
//! order that [`HistoryStore::commit`](crate::store::HistoryStore::commit) documents.

use std::sync::Arc;

use context_core::base::limits;
use context_core::message::Placed;
use context_core::store::{
    Branch, ChainEnd, Commit, CommitOutcome, Committed, ForkName, Revision, Target, Window,
};
use context_core::{BranchName, Error, MessageId, Node, Result, Timestamp};

use super::ChatState;

const OPERATION: &str = "commit";

impl ChatState {
    /// Writes a commit, or returns the reason for not writing it.
    pub fn commit(&mut self, commit: Commit) -> Result<CommitOutcome> {
        commit.check()?;
        let digest = commit.key.is_some().then(|| commit.digest());
        if let (Some(key), Some(digest)) = (&commit.key, digest)
            && let Some((written, committed)) = self.keys.get(key)
        {
            if *written == digest {
                return Ok(CommitOutcome::Replayed(committed.clone()));
            }
            return Err(
                Error::invalid(OPERATION, "the key was used for another commit").with("key", key)
            );
        }
        if let Some(outcome) = self.written_before(&commit) {
            return Ok(outcome);
        }
        let branch = match self.aim(&commit.target)? {
            Aim::At(branch) => branch,
            Aim::Missed { actual } => return Ok(CommitOutcome::Conflict { actual }),
        };
        for node in commit.amendments.iter().chain(&commit.redactions) {
            self.placed(OPERATION, &node.id)?;
        }
        let mut chat = self.chat.clone();
        if let Some(patch) = &commit.patch {
            patch.apply(&mut chat)?;
        }

        // No check can fail from here on.
        chat.updated_at = chat.updated_at.max(commit.at);
        self.chat = chat;
        let head = self.add_nodes(commit.base().cloned(), &commit.nodes);
        for node in &commit.amendments {
            self.amend(node, commit.at);
        }
        for node in &commit.redactions {
            self.amend(node, commit.at);
            self.revisions.remove(&node.id);
        }
        self.changes += u64::from(!commit.amendments.is_empty() || !commit.redactions.is_empty());
        self.place_fragments(commit.fragments);
        let committed = match branch {
            None => Committed::new(None, None),
            Some(name) => {
                let length =
                    head.as_ref().and_then(|head| self.find(head)).map_or(0, |head| head.depth + 1);
                match self.branches.iter_mut().find(|branch| branch.name == name) {
                    Some(branch) => (branch.head, branch.length) = (head.clone(), length),
                    None => {
                        let branch =
                            Branch::new(name.clone(), head.clone(), length, false, commit.at);
                        self.branches.push(branch);
                    }
                }
                if matches!(commit.target, Target::Fork { activate: true, .. }) {
                    self.chat.active = name.clone();
                }
                Committed::new(Some(name), head)
            }
        };
        if let (Some(key), Some(digest)) = (commit.key, digest) {
            self.keys.insert(key, (digest, committed.clone()));
        }
        Ok(CommitOutcome::Applied(committed))
    }

    /// Determines the outcome if some of the new messages are stored already.
    fn written_before(&self, commit: &Commit) -> Option<CommitOutcome> {
        let ids = || commit.nodes.iter().map(|node| &node.id);
        let taken: Vec<_> = ids().filter(|id| self.index.contains_key(*id)).cloned().collect();
        if taken.is_empty() {
            return None;
        }
        let parents = std::iter::once(commit.base()).chain(ids().map(Some));
        let same = commit.nodes.iter().zip(parents).all(|(node, parent)| {
            let stored = self.find(&node.id);
            stored.is_some_and(|stored| {
                stored.parent.as_ref() == parent && stored.node.same_content(node)
            })
        });
        let last = ids().next_back();
        match &commit.target {
            Target::Extend { branch, .. } | Target::Fork { name: ForkName::Exact(branch), .. }
                if same && self.holds(branch, last) =>
            {
                Some(CommitOutcome::Replayed(Committed::new(Some(branch.clone()), last.cloned())))
            }
            _ => Some(CommitOutcome::Exists { ids: taken }),
        }
    }

    /// Returns whether a branch has this message.
    fn holds(&self, branch: &BranchName, message: Option<&MessageId>) -> bool {
        let chain = self.chain(&ChainEnd::Branch(branch.clone()), &Window::Whole);
        message.is_some_and(|id| chain.is_ok_and(|chain| chain.position(id).is_some()))
    }

    /// Finds the branch to move, or chooses the name of the branch to create.
    fn aim(&self, target: &Target) -> Result<Aim> {
        match target {
            Target::Stay => Ok(Aim::At(None)),
            Target::Extend { branch, expected } => {
                let branch = self.branch(OPERATION, branch)?;
                if branch.head == *expected {
                    return Ok(Aim::At(Some(branch.name.clone())));
                }
                Ok(Aim::Missed { actual: branch.head.clone() })
            }
            Target::Fork { name, at, .. } => {
                at.iter().try_for_each(|at| self.placed(OPERATION, at).map(drop))?;
                let taken =
                    |name: &BranchName| self.branches.iter().any(|branch| branch.name == *name);
                let Some(chosen) = name.choose(taken) else {
                    let actual = self.branch(OPERATION, name.base())?.head.clone();
                    return Ok(Aim::Missed { actual });
                };
                limits::check_id(OPERATION, "branch", chosen.as_str())?;
                Ok(Aim::At(Some(chosen)))
            }
        }
    }

    /// Adds messages, each after the previous one, and returns the last one.
    fn add_nodes(&mut self, base: Option<MessageId>, nodes: &[Arc<Node>]) -> Option<MessageId> {
        let first = base.as_ref().and_then(|base| self.find(base)).map_or(0, |base| base.depth + 1);
        let mut last = base;
        for (node, depth) in nodes.iter().zip(first..) {
            self.index.insert(node.id.clone(), self.nodes.len());
            self.nodes.push(Placed::new(Arc::clone(node), last, depth));
            last = Some(node.id.clone());
        }
        last
    }

    /// Replaces the body of a stored message and keeps the old one as a revision.
    fn amend(&mut self, by: &Node, at: Timestamp) {
        if let Some(&position) = self.index.get(&by.id) {
            let node = &mut self.nodes[position].node;
            let old = std::mem::replace(node, Arc::new(node.amended(by)));
            self.revisions.entry(by.id.clone()).or_default().push(Revision::new(old, at));
        }
    }
}

/// The resolved target of a commit.
enum Aim {
    /// This branch, new or existing, or none.
    At(Option<BranchName>),
    /// The head of the branch is not the expected one, or the name is taken.
    Missed {
        /// The actual head.
        actual: Option<MessageId>,
    },
}
