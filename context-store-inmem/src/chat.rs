//! One chat: its messages, branches, checkpoints and fragments, and how they are read.
//!
//! Plain data without a lock; [`commit`](crate::commit) has the one way to write messages.

use std::collections::{BTreeMap, HashMap};

use context_core::{
    Branch, BranchName, Chain, ChainEnd, Chat, ChatSummary, Checkpoint, CheckpointName, CommitKey, Committed,
    Error, MessageId, Placed, Result, Revision, StoredFragment,
};

pub(crate) struct ChatState {
    pub(crate) chat: Chat,
    /// The how-manieth chat of the store it is.
    pub(crate) number: u64,
    /// All messages, in the order they were written.
    pub(crate) nodes: Vec<Placed>,
    /// Where in `nodes` a message is.
    pub(crate) index: HashMap<MessageId, usize>,
    pub(crate) revisions: HashMap<MessageId, Vec<Revision>>,
    /// How many commits amended something.
    pub(crate) amendments: u64,
    /// In the order they were created. Which one is active, only `chat` says.
    pub(crate) branches: Vec<Branch>,
    pub(crate) checkpoints: BTreeMap<CheckpointName, Checkpoint>,
    pub(crate) fragments: Vec<StoredFragment>,
    /// What became of commits with a key: their digest and where they left the branch.
    pub(crate) keys: HashMap<CommitKey, ([u8; 32], Committed)>,
}

impl ChatState {
    pub(crate) fn new(chat: Chat, number: u64) -> Self {
        let main = Branch::new(chat.active.clone(), None, 0, true, chat.created_at);
        Self {
            chat,
            number,
            nodes: Vec::new(),
            index: HashMap::new(),
            revisions: HashMap::new(),
            amendments: 0,
            branches: vec![main],
            checkpoints: BTreeMap::new(),
            fragments: Vec::new(),
            keys: HashMap::new(),
        }
    }

    pub(crate) fn summary(&self) -> ChatSummary {
        ChatSummary::new(self.chat.clone(), self.nodes.len() as u64, self.branches.len() as u64)
    }

    pub(crate) fn branches(&self) -> Vec<Branch> {
        let mut branches = self.branches.clone();
        for branch in &mut branches {
            branch.active = branch.name == self.chat.active;
        }
        branches
    }

    pub(crate) fn branch(&self, operation: &'static str, name: &BranchName) -> Result<&Branch> {
        let found = self.branches.iter().find(|branch| branch.name == *name);
        found.ok_or_else(|| Error::not_found(operation, "branch", name))
    }

    pub(crate) fn find(&self, id: &MessageId) -> Option<&Placed> {
        self.index.get(id).map(|&position| &self.nodes[position])
    }

    pub(crate) fn placed(&self, operation: &'static str, id: &MessageId) -> Result<&Placed> {
        self.find(id).ok_or_else(|| Error::not_found(operation, "message", id))
    }

    pub(crate) fn chain(&self, end: &ChainEnd) -> Result<Chain> {
        let mut next = match end {
            ChainEnd::Branch(name) => self.branch("chain", name)?.head.as_ref(),
            ChainEnd::Message(id) => Some(&self.placed("chain", id)?.node.id),
        };
        let mut nodes = Vec::new();
        while let Some(id) = next {
            let placed = self.placed("chain", id)?;
            nodes.push(placed.node.clone());
            next = placed.parent.as_ref();
        }
        nodes.reverse();
        Ok(Chain::from_nodes(0, nodes).with_amendments(self.amendments))
    }

    pub(crate) fn put_fragments(&mut self, fragments: Vec<StoredFragment>) {
        for new in fragments {
            match self.fragments.iter_mut().find(|old| old.is_replaced_by(&new)) {
                Some(old) => *old = new,
                None => self.fragments.push(new),
            }
        }
    }
}
