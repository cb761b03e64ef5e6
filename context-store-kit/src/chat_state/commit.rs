//! Commits: decide everything, then write everything.
//!
//! No change is made before the decision, so no rollback is needed.

use std::sync::Arc;

use context_core::message::PlacedNode;
use context_core::store::{Branch, Commit, CommitOutcome, Revision, Target};
use context_core::{BranchName, MessageId, Node, Result, Timestamp};

use super::ChatState;
use crate::{
    BranchHead, CommitDecision, CommitFacts, changes, decide_commit, is_known_by_key,
    named_messages, needs_chat, seen_on,
};

impl ChatState {
    /// Writes a commit, or returns the reason for not writing it.
    pub fn commit(&mut self, commit: Commit) -> Result<CommitOutcome> {
        commit.check()?;
        let plan = match decide_commit(&commit, self.facts(&commit))? {
            CommitDecision::Answer(outcome) => return Ok(outcome),
            CommitDecision::Write(plan) => plan,
        };

        // No check can fail from here on.
        if let Some(chat) = plan.patched {
            self.chat = chat;
        }
        self.touch(commit.at);
        self.add_nodes(plan.base, &commit.nodes);
        for ((node, replaced), position) in changes(&commit).zip(&plan.changed) {
            self.amend(*position, node, replaced);
        }
        self.changes += u64::from(!plan.changed.is_empty());
        let first = commit.nodes.first().map(|node| &node.id);
        self.place_fragments(commit.fragments, commit.at, first);
        if let Some(name) = &plan.committed.branch {
            let head = plan.committed.head.clone();
            let length =
                head.as_ref().and_then(|head| self.find(head)).map_or(0, |head| head.depth + 1);
            match self.branches.iter_mut().find(|branch| branch.name == *name) {
                Some(branch) => (branch.head, branch.length) = (head, length),
                None => {
                    self.branches.push(Branch::new(name.clone(), head, length, false, commit.at));
                }
            }
            if matches!(commit.target, Target::Fork { activate: true, .. }) {
                self.chat.active = name.clone();
            }
        }
        for change in plan.refs {
            self.ref_log.push(commit.at, change);
        }
        if let (Some(key), Some(digest)) = (commit.key, plan.digest) {
            self.keys.insert(key, (digest, plan.committed.clone()));
        }
        Ok(CommitOutcome::Applied(plan.committed))
    }

    /// Looks up what decides a commit. A message is known by its index.
    fn facts(&self, commit: &Commit) -> CommitFacts<usize> {
        let mut facts = CommitFacts::new();
        facts.known = commit.key.as_ref().and_then(|key| self.keys.get(key)).cloned();
        if facts.known.is_some() && is_known_by_key(commit) {
            return facts;
        }
        let position = |id: &MessageId| Some((id.clone(), *self.index.get(id)?));
        facts.stored = named_messages(commit).filter_map(position).collect();
        if let Some((branch, last)) = facts.repeated_on(commit)
            && self.depth_on(branch, last).is_some()
        {
            let stored = commit.nodes.iter().filter_map(|node| self.find(&node.id));
            facts.repeated = stored.cloned().collect();
        }
        let head = |name: &BranchName| {
            let branch = self.branches.iter().find(|branch| branch.name == *name);
            branch.map_or(BranchHead::Missing, |branch| BranchHead::At(branch.head.clone()))
        };
        match &commit.target {
            Target::Stay => {}
            Target::Extend { branch, .. } | Target::Graft { branch, .. } => {
                facts.head = head(branch);
                facts.seen = seen_on(commit).and_then(|(branch, seen)| self.depth_on(branch, seen));
            }
            Target::Fork { name, .. } => {
                facts.head = head(name.base());
                facts.names = self.branches.iter().map(|branch| branch.name.clone()).collect();
            }
        }
        facts.lease = self.lease.clone();
        facts.chat = needs_chat(commit).then(|| self.chat.clone());
        facts
    }

    /// Returns the depth of a message, if it is on the chain of a branch. Takes time in the number
    /// of messages after it.
    fn depth_on(&self, branch: &BranchName, message: &MessageId) -> Option<u64> {
        let wanted = self.find(message)?;
        let branch = self.branches.iter().find(|known| known.name == *branch)?;
        let mut at = self.find(branch.head.as_ref()?)?;
        while at.depth > wanted.depth {
            at = self.find(at.parent.as_ref()?)?;
        }
        (at.node.id == *message).then_some(at.depth)
    }

    /// Adds messages, each after the previous one.
    fn add_nodes(&mut self, base: Option<MessageId>, nodes: &[Arc<Node>]) {
        let first = base.as_ref().and_then(|base| self.find(base)).map_or(0, |base| base.depth + 1);
        let mut last = base;
        for (node, depth) in nodes.iter().zip(first..) {
            self.index.insert(node.id.clone(), self.nodes.len());
            self.nodes.push(PlacedNode::new(Arc::clone(node), last, depth));
            last = Some(node.id.clone());
        }
    }

    /// Replaces the body of a stored message. The old one becomes a revision with this time;
    /// without a time, earlier revisions are dropped as well.
    fn amend(&mut self, position: usize, by: &Node, replaced: Option<Timestamp>) {
        let node = &mut self.nodes[position].node;
        let old = std::mem::replace(node, Arc::new(node.amended(by)));
        match replaced {
            Some(at) => {
                self.revisions.entry(by.id.clone()).or_default().push(Revision::new(old, at));
            }
            None => drop(self.revisions.remove(&by.id)),
        }
    }
}
