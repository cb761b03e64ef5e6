//! The expected state of a store after any sequence of writes: a small pure model.
//!
//! The model is written to be obviously correct: linear searches and clones everywhere. It ignores
//! limits, listing times and users, for which there are other cases.

use std::collections::BTreeMap;
use std::sync::Arc;

use context_core::base::{CheckpointName, CommitKey};
use context_core::message::PlacedNode;
use context_core::store::{
    Branch, BranchDeletion, Chat, ChatSummary, Checkpoint, Commit, CommitOutcome, Committed,
    RefChange, RefLog, Revision, StoredFragment, Target,
};
use context_core::{BranchName, Chain, ErrorKind, MessageId, Node, Timestamp};

use crate::visible_chat::VisibleChat;

/// The model of one chat.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) chat: Chat,
    pub(crate) branches: Vec<Branch>,
    pub(crate) messages: BTreeMap<MessageId, PlacedNode>,
    pub(crate) revisions: BTreeMap<MessageId, Vec<Revision>>,
    pub(crate) checkpoints: BTreeMap<CheckpointName, Checkpoint>,
    pub(crate) fragments: Vec<StoredFragment>,
    refs: RefLog,
    pub(crate) keys: BTreeMap<CommitKey, ([u8; 32], Committed)>,
    /// The number of times that stored messages were changed or removed.
    pub(crate) changes: u64,
}

/// The expected result of a commit: an outcome, or an error of some kind.
pub(crate) type Expected = Result<CommitOutcome, ErrorKind>;

impl Model {
    pub(crate) fn new(chat: Chat) -> Self {
        let main = Branch::new(chat.active.clone(), None, 0, true, chat.created_at);
        Self {
            chat,
            branches: vec![main],
            messages: BTreeMap::new(),
            revisions: BTreeMap::new(),
            checkpoints: BTreeMap::new(),
            fragments: Vec::new(),
            refs: RefLog::default(),
            keys: BTreeMap::new(),
            changes: 0,
        }
    }

    /// Records a write. The time never goes backwards, whatever the callers' clocks say.
    pub(crate) fn touch(&mut self, at: Timestamp) {
        self.chat.updated_at = self.chat.updated_at.max(at);
    }

    pub(crate) fn branch(&self, name: &BranchName) -> Option<&Branch> {
        self.branches.iter().find(|branch| branch.name == *name)
    }

    fn head(&self, name: &BranchName) -> Option<MessageId> {
        self.branch(name)?.head.clone()
    }

    /// Returns the messages from the root to this one.
    pub(crate) fn path(&self, end: Option<&MessageId>) -> Vec<Arc<Node>> {
        let mut path = Vec::new();
        let mut next = end.and_then(|id| self.messages.get(id));
        while let Some(placed) = next {
            path.insert(0, Arc::clone(&placed.node));
            next = placed.parent.as_ref().and_then(|id| self.messages.get(id));
        }
        path
    }

    /// Returns what a store shows, with the log of references if the store keeps one.
    pub(crate) fn visible(&self, has_ref_log: bool) -> VisibleChat {
        let mut branches = self.branches.clone();
        let changed = self
            .messages
            .values()
            .filter(|placed| placed.node.revision > 0)
            .map(|placed| &placed.node.id);
        let revisions =
            |id: &MessageId| (id.clone(), self.revisions.get(id).cloned().unwrap_or_default());
        branches.iter_mut().for_each(|branch| branch.active = branch.name == self.chat.active);
        let chain = |branch: &Branch| {
            (branch.name.clone(), Chain::from_nodes(0, self.path(branch.head.as_ref())))
        };
        VisibleChat {
            summary: ChatSummary::new(
                self.chat.clone(),
                self.messages.len() as u64,
                branches.len() as u64,
            ),
            chains: branches.iter().map(chain).collect(),
            branches,
            messages: self.messages.values().cloned().collect(),
            revisions: changed.map(revisions).collect(),
            checkpoints: self.checkpoints.values().cloned().collect(),
            fragments: self.fragments.clone(),
            refs: has_ref_log.then(|| self.refs.clone()),
        }
    }

    pub(crate) fn set_checkpoint(&mut self, checkpoint: Checkpoint) -> bool {
        let known = self.messages.contains_key(&checkpoint.message);
        if known {
            let (name, to, at) =
                (checkpoint.name.clone(), checkpoint.message.clone(), checkpoint.created_at);
            self.touch(at);
            let from = self.checkpoints.insert(name.clone(), checkpoint).map(|old| old.message);
            let messages = self.prune();
            if from.as_ref() != Some(&to) {
                self.refs
                    .push(at, RefChange::CheckpointSet { checkpoint: name, from, to, messages });
            }
        }
        known
    }

    pub(crate) fn delete_checkpoint(&mut self, name: &CheckpointName, at: Timestamp) -> bool {
        self.touch(at);
        let Some(Checkpoint { message: from, .. }) = self.checkpoints.remove(name) else {
            return false;
        };
        let (checkpoint, messages) = (name.clone(), self.prune());
        self.refs.push(at, RefChange::CheckpointDeleted { checkpoint, from, messages });
        true
    }

    pub(crate) fn rename(
        &mut self,
        from: &BranchName,
        to: &BranchName,
        at: Timestamp,
    ) -> Result<(), ErrorKind> {
        self.branch(from).ok_or(ErrorKind::NotFound)?;
        if from != to && self.branch(to).is_some() {
            return Err(ErrorKind::Invalid);
        }
        self.branches
            .iter_mut()
            .filter(|branch| branch.name == *from)
            .for_each(|branch| branch.name = to.clone());
        if self.chat.active == *from {
            self.chat.active = to.clone();
        }
        if from != to {
            self.refs.push(at, RefChange::BranchRenamed { from: from.clone(), to: to.clone() });
        }
        self.touch(at);
        Ok(())
    }

    pub(crate) fn delete_branch(
        &mut self,
        name: &BranchName,
        expected: Option<&MessageId>,
        at: Timestamp,
    ) -> Result<BranchDeletion, ErrorKind> {
        let actual = self.branch(name).ok_or(ErrorKind::NotFound)?.head.clone();
        if actual.as_ref() != expected {
            return Ok(BranchDeletion::Conflict { actual });
        }
        if self.chat.active == *name {
            return Err(ErrorKind::Invalid);
        }
        self.branches.retain(|branch| branch.name != *name);
        self.touch(at);
        let (branch, messages) = (name.clone(), self.prune());
        self.refs.push(at, RefChange::BranchDeleted { branch, head: actual, messages });
        Ok(BranchDeletion::Deleted { messages })
    }

    /// Removes every message that is on no path to a head or checkpoint. Returns their number.
    fn prune(&mut self) -> u64 {
        let heads = self.branches.iter().filter_map(|branch| branch.head.as_ref());
        let ends = heads.chain(self.checkpoints.values().map(|checkpoint| &checkpoint.message));
        let kept: Vec<_> =
            ends.flat_map(|end| self.path(Some(end))).map(|node| node.id.clone()).collect();
        let before = self.messages.len();
        self.messages.retain(|id, _| kept.contains(id));
        self.revisions.retain(|id, _| kept.contains(id));
        let gone = (before - self.messages.len()) as u64;
        self.changes += u64::from(gone > 0);
        gone
    }

    pub(crate) fn activate(&mut self, name: &BranchName, at: Timestamp) -> bool {
        let known = self.branch(name).is_some();
        if known {
            self.make_active(name, at);
            self.touch(at);
        }
        known
    }

    fn make_active(&mut self, name: &BranchName, at: Timestamp) {
        let from = std::mem::replace(&mut self.chat.active, name.clone());
        if from != *name {
            self.refs.push(at, RefChange::BranchActivated { from, to: name.clone() });
        }
    }

    pub(crate) fn put_fragments(&mut self, new: &[StoredFragment]) {
        for new in new {
            match self.fragments.iter_mut().find(|old| old.is_replaced_by(new)) {
                Some(old) => *old = new.clone(),
                None => self.fragments.push(new.clone()),
            }
        }
    }

    pub(crate) fn commit(&mut self, commit: &Commit) -> Expected {
        use ErrorKind::{Invalid, NotFound};

        if let Some((digest, committed)) = commit.key.as_ref().and_then(|key| self.keys.get(key)) {
            let same = *digest == commit.digest();
            return if same {
                Ok(CommitOutcome::Replayed(self.with_what_is_left(commit, committed.clone())))
            } else {
                Err(Invalid)
            };
        }
        if let Some(outcome) = self.stored_before(commit) {
            return Ok(outcome);
        }
        let conflict = |actual| Ok(CommitOutcome::Conflict { actual });
        let (name, base) = match &commit.target {
            Target::Stay => (None, None),
            Target::Extend { branch, expected } => match self.branch(branch) {
                None => return Err(NotFound),
                Some(found) if found.head != *expected => return conflict(found.head.clone()),
                Some(found) => (Some(branch.clone()), found.head.clone()),
            },
            Target::Graft { branch, seen } => match self.branch(branch) {
                None => return Err(NotFound),
                Some(found) => {
                    let path = self.path(found.head.as_ref());
                    if seen.as_ref().is_some_and(|seen| path.iter().all(|node| node.id != *seen)) {
                        return conflict(found.head.clone());
                    }
                    (Some(branch.clone()), found.head.clone())
                }
            },
            Target::Fork { name, at, .. } => {
                if at.as_ref().is_some_and(|at| !self.messages.contains_key(at)) {
                    return Err(NotFound);
                }
                match name.choose(|name| self.branch(name).is_some()) {
                    None => return conflict(self.head(name.base())),
                    Some(name) => (Some(name), at.clone()),
                }
            }
        };
        if commit
            .amendments
            .iter()
            .chain(&commit.redactions)
            .any(|node| !self.messages.contains_key(&node.id))
        {
            return Err(NotFound);
        }
        if let Some(patch) = &commit.patch {
            patch.apply(&mut self.chat).map_err(|error| error.kind())?;
        }
        self.touch(commit.at);
        let onto = base.clone().filter(|_| matches!(commit.target, Target::Graft { .. }));
        let mut head = base;
        for node in &commit.nodes {
            let depth = self.path(head.as_ref()).len() as u64;
            self.messages.insert(node.id.clone(), PlacedNode::new(Arc::clone(node), head, depth));
            head = Some(node.id.clone());
        }
        for by in &commit.amendments {
            if let Some(placed) = self.messages.get_mut(&by.id) {
                let was = Revision::new(Arc::clone(&placed.node), commit.at);
                self.revisions.entry(by.id.clone()).or_default().push(was);
                placed.node = Arc::new(placed.node.amended(by));
            }
        }
        for by in &commit.redactions {
            if let Some(placed) = self.messages.get_mut(&by.id) {
                placed.node = Arc::new(placed.node.amended(by));
            }
            self.revisions.remove(&by.id);
        }
        self.changes += u64::from(!commit.amendments.is_empty() || !commit.redactions.is_empty());
        self.put_fragments(&commit.fragments);
        if let Some(name) = &name {
            if self.branch(name).is_none() {
                self.branches.push(Branch::new(name.clone(), None, 0, false, commit.at));
                let (branch, from) = (name.clone(), commit.base().cloned());
                self.refs.push(commit.at, RefChange::BranchCreated { branch, from });
            }
            let length = self.path(head.as_ref()).len() as u64;
            for branch in self.branches.iter_mut().filter(|branch| branch.name == *name) {
                (branch.head, branch.length) = (head.clone(), length);
            }
            if matches!(commit.target, Target::Fork { activate: true, .. }) {
                self.make_active(name, commit.at);
            }
        }
        if !commit.redactions.is_empty() {
            let messages = commit.redactions.len() as u64;
            self.refs.push(commit.at, RefChange::MessagesRedacted { messages });
        }
        let committed = Committed::new(name.clone(), name.and(head)).with_onto(onto);
        if let Some(key) = &commit.key {
            self.keys.insert(key.clone(), (commit.digest(), committed.clone()));
        }
        Ok(CommitOutcome::Applied(committed))
    }

    fn stored_before(&self, commit: &Commit) -> Option<CommitOutcome> {
        let stored = commit.nodes.iter().filter(|node| self.messages.contains_key(&node.id));
        let ids: Vec<_> = stored.map(|node| node.id.clone()).collect();
        let last = ids.last()?;
        let branch = match &commit.target {
            Target::Extend { branch, .. } | Target::Graft { branch, .. } => Some(branch),
            Target::Fork { name: context_core::store::ForkName::Exact(name), .. } => Some(name),
            _ => None,
        };
        let head = branch.and_then(|name| self.head(name));
        let path = self.path(head.as_ref());
        let from = path
            .iter()
            .position(|node| commit.nodes.first().is_some_and(|first| first.id == node.id));
        let behind = from.and_then(|from| from.checked_sub(1)).map(|i| &path[i].id);
        let run = from.and_then(|from| path.get(from..from + commit.nodes.len()));
        let same = run.is_some_and(|run| {
            run.iter().zip(&commit.nodes).all(|(a, b)| a.id == b.id && a.same_content(b))
        });
        let grafts = matches!(commit.target, Target::Graft { .. });
        let before = &path[..from.unwrap_or(0)];
        let follows = match commit.base() {
            Some(base) if grafts => before.iter().any(|node| node.id == *base),
            None if grafts => true,
            base => behind == base,
        };
        if same && follows {
            let committed = Committed::new(branch.cloned(), Some(last.clone()));
            let onto = behind.cloned().filter(|_| grafts);
            return Some(CommitOutcome::Replayed(committed.with_onto(onto)));
        }
        Some(CommitOutcome::Exists { ids })
    }

    /// A store may find out again where a graft began, so it forgets that with the messages.
    fn with_what_is_left(&self, commit: &Commit, committed: Committed) -> Committed {
        let path = committed.branch.as_ref().and_then(|name| self.head(name));
        let path = self.path(path.as_ref());
        let left = commit.nodes.iter().all(|new| path.iter().any(|node| node.id == new.id));
        if left { committed } else { committed.with_onto(None) }
    }
}
