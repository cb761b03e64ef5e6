//! The part of a [`Tree`] that a chat does not have yet: new messages after an existing head, new
//! branches at existing messages, messages that have grown, a moved active branch.
//!
//! Branches are compared by their heads, and not by their names. A file may end its main
//! conversation elsewhere after a step back, but no head of a chat moves backwards and no branch is
//! renamed: the new messages become a new branch of the chat, which becomes the active one.

mod continuation;
mod difference;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use context_core::base::limits;
use context_core::message::PlacedNode;
use context_core::store::{Branch, Commit, ForkName, Target};
use context_core::{BranchName, ChatRef, MessageId, Node, Timestamp};

use self::continuation::Continuation;
pub use self::difference::TreeDifference;
use crate::{Tree, TreeError};

/// The number of messages before the end of each branch that are compared with the tree. Earlier
/// ones are identified by their ids and their number.
const COMPARED: usize = 32;

/// A branch of a chat, as it is before or after the growth.
#[derive(Debug)]
struct ChatBranch {
    name: BranchName,
    /// The position of the head in the tree. `None` for a branch without messages.
    head: Option<usize>,
    active: bool,
    /// Whether a branch of the tree ends here.
    is_matched: bool,
}

/// A branch of a chat that ends in a message that is not in the tree.
#[derive(Debug)]
struct ContinuedBranch {
    name: BranchName,
    /// The position of the last message of the tree on the branch.
    left_at: Option<usize>,
}

/// A change of a branch.
#[derive(Debug)]
struct Step {
    branch: BranchName,
    /// Whether the branch is new.
    is_new: bool,
    activate: bool,
    /// The position of the message that the new messages follow.
    base: Option<usize>,
    /// The positions of the new messages.
    nodes: Vec<usize>,
}

/// The part of a tree that a chat does not have.
#[derive(Debug)]
pub struct TreeGrowth<'a> {
    tree: &'a Tree,
    branches: Vec<ChatBranch>,
    /// The branches of the chat by their heads.
    by_head: HashMap<Option<usize>, Vec<usize>>,
    names: HashSet<BranchName>,
    continued: Vec<ContinuedBranch>,
    /// Whether the chat has each message.
    is_stored: Vec<bool>,
    compared: Vec<usize>,
    steps: Vec<Step>,
    /// The index of the branch that corresponds to `main` of the tree.
    current: Option<usize>,
    amendments: Vec<Arc<Node>>,
}

impl<'a> TreeGrowth<'a> {
    /// Compares a tree with the branches of a chat. `left_at` has the last message of the tree on
    /// each branch whose head is not in the tree; a branch without such a message may be left out.
    ///
    /// The result is complete only after [`TreeGrowth::compare`].
    pub fn new(
        tree: &'a Tree,
        branches: &[Branch],
        left_at: &HashMap<BranchName, MessageId>,
    ) -> Result<Self, TreeDifference> {
        let mut growth = Self {
            tree,
            branches: Vec::new(),
            by_head: HashMap::new(),
            names: branches.iter().map(|branch| branch.name.clone()).collect(),
            continued: Vec::new(),
            is_stored: vec![false; tree.nodes().len()],
            compared: Vec::new(),
            steps: Vec::new(),
            current: None,
            amendments: Vec::new(),
        };
        let mut lengths: Vec<u64> = Vec::with_capacity(tree.nodes().len());
        for position in 0..tree.nodes().len() {
            // A parent comes before its children.
            lengths.push(1 + tree.parent(position).map_or(0, |parent| lengths[parent]));
        }
        for branch in branches {
            growth.add_branch(branch, left_at.get(&branch.name), &lengths)?;
        }
        growth.compared.sort_unstable();
        growth.compared.dedup();
        growth.plan()?;
        Ok(growth)
    }

    /// Returns the growth of a chat that has only an empty branch `main`, as a new chat does.
    pub(crate) fn of_new_chat(tree: &'a Tree) -> Result<Self, TreeError> {
        tree.check()?;
        let main = Branch::new(BranchName::main(), None, 0, true, Timestamp::default());
        Ok(Self::new(tree, &[main], &HashMap::new()).expect("an empty chat has nothing else"))
    }

    /// Takes a branch of the chat into account.
    fn add_branch(
        &mut self,
        branch: &Branch,
        left_at: Option<&MessageId>,
        lengths: &[u64],
    ) -> Result<(), TreeDifference> {
        let name = branch.name.clone();
        let head = branch.head.as_ref().and_then(|head| self.tree.position(head));
        let Some(head) = head.map(Some).or(branch.head.is_none().then_some(None)) else {
            let left_at = left_at.and_then(|message| self.tree.position(message));
            self.mark(left_at);
            self.continued.push(ContinuedBranch { name, left_at });
            return Ok(());
        };
        // The ids of messages are unique in a chat, so an equal number of ancestors means the same
        // ancestors, unless one of them was replaced.
        if let Some(head) = head.filter(|head| branch.length != lengths[*head]) {
            return Err(TreeDifference::Message { message: self.tree.node(head).id.clone() });
        }
        self.mark(head);
        self.by_head.entry(head).or_default().push(self.branches.len());
        self.branches.push(ChatBranch { name, head, active: branch.active, is_matched: false });
        Ok(())
    }

    /// Marks a message and its ancestors as stored.
    fn mark(&mut self, end: Option<usize>) {
        self.compared.extend(self.tree.ancestry(end).take(COMPARED));
        let mut at = end;
        while let Some(position) =
            at.filter(|at| !std::mem::replace(&mut self.is_stored[*at], true))
        {
            at = self.tree.parent(position);
        }
    }

    fn plan(&mut self) -> Result<(), TreeDifference> {
        let mut had_child = vec![false; self.is_stored.len()];
        for position in (0..self.is_stored.len()).filter(|at| self.is_stored[*at]) {
            if let Some(parent) = self.tree.parent(position) {
                had_child[parent] = true;
            }
        }
        let was_stored = self.is_stored.clone();
        let is_continued = self.before_continuations();
        let active = self.branches.iter().position(|branch| branch.active);
        let mut left: Vec<(&BranchName, usize)> = Vec::new();
        for same_name in [true, false] {
            let heads: Vec<_> = match same_name {
                true => self.tree.heads().collect(),
                false => std::mem::take(&mut left),
            };
            for (name, head) in heads {
                match self.unmatched(Some(head), |branch| !same_name || branch.name == *name) {
                    Some(index) => self.matched(name, index),
                    None => left.push((name, head)),
                }
            }
        }
        for (name, head) in left {
            if was_stored[head] && is_continued[head] {
                continue;
            }
            let mut nodes: Vec<usize> =
                self.tree.ancestry(Some(head)).take_while(|at| !self.is_stored[*at]).collect();
            nodes.reverse();
            let base = nodes.first().map_or(Some(head), |first| self.tree.parent(*first));
            let at_base = match (nodes.is_empty(), base) {
                (true, _) => None,
                (false, None) => self.unmatched(None, |branch| branch.name == *name),
                // Someone went back to this message in the chat.
                (false, Some(at)) if had_child[at] => None,
                (false, Some(_)) => self
                    .unmatched(base, |branch| branch.name == *name)
                    .or_else(|| self.unmatched(base, |_| true)),
            };
            nodes.iter().for_each(|position| self.is_stored[*position] = true);
            let (index, is_new) = match at_base {
                Some(index) => (index, false),
                None => {
                    let is_end = base.is_none_or(|base| was_stored[base] && !had_child[base]);
                    let others = self.continued.iter().find(|other| other.left_at == base);
                    // A new root is no continuation, unless the chat has nothing of the tree.
                    let is_other = base.is_some() || !was_stored.contains(&true);
                    if let Some(other) = others.filter(|_| !nodes.is_empty() && is_end && is_other)
                    {
                        return Err(self.continued_at(other));
                    }
                    let name = self.free_name(name);
                    self.names.insert(name.clone());
                    self.branches.push(ChatBranch {
                        name,
                        head: base,
                        active: false,
                        is_matched: false,
                    });
                    (self.branches.len() - 1, true)
                }
            };
            self.matched(name, index);
            self.branches[index].head = Some(head);
            // The active branch follows the file, unless it is not a branch of the file.
            let activate = is_new
                && self.current == Some(index)
                && active.is_some_and(|active| self.branches[active].head.is_some());
            let branch = self.branches[index].name.clone();
            self.steps.push(Step { branch, is_new, activate, base, nodes });
        }
        let is_of_file = active.is_some_and(|active| self.branches[active].is_matched);
        self.steps.iter_mut().for_each(|step| step.activate &= is_of_file);
        self.current = self.current.filter(|current| is_of_file && active != Some(*current));
        Ok(())
    }

    /// Returns a branch with this head at which no branch of the tree ends.
    fn unmatched(&self, head: Option<usize>, fits: impl Fn(&ChatBranch) -> bool) -> Option<usize> {
        let mut indexes = self.by_head.get(&head)?.iter().copied();
        indexes.find(|index| !self.branches[*index].is_matched && fits(&self.branches[*index]))
    }

    fn matched(&mut self, name: &BranchName, index: usize) {
        self.branches[index].is_matched = true;
        if *name == BranchName::main() {
            self.current = Some(index);
        }
    }

    /// Returns for each message whether it is on a branch that continues with messages that are not
    /// in the tree.
    fn before_continuations(&self) -> Vec<bool> {
        let mut is_before = vec![false; self.is_stored.len()];
        for branch in &self.continued {
            for position in self.tree.ancestry(branch.left_at) {
                if std::mem::replace(&mut is_before[position], true) {
                    break;
                }
            }
        }
        is_before
    }

    fn continued_at(&self, other: &ContinuedBranch) -> TreeDifference {
        TreeDifference::Continued {
            branch: other.name.clone(),
            message: other.left_at.map(|at| self.tree.node(at).id.clone()),
        }
    }

    /// Returns the name if it is free, else the first free version of it.
    fn free_name(&self, name: &BranchName) -> BranchName {
        let is_taken = |name: &BranchName| self.names.contains(name);
        if !is_taken(name) {
            return name.clone();
        }
        let text = name.as_str();
        let base = match text.rsplit_once("-v") {
            Some((base, version)) if version.parse::<u32>().is_ok() => BranchName::from(base),
            _ => name.clone(),
        };
        let versions = (2..).map(|k| base.version(k));
        versions.into_iter().find(|name| !is_taken(name)).unwrap_or(base)
    }

    /// Returns the ids of the messages that [`TreeGrowth::compare`] needs.
    pub fn compared(&self) -> Vec<MessageId> {
        self.compared.iter().map(|position| self.tree.node(*position).id.clone()).collect()
    }

    /// Compares the messages of [`TreeGrowth::compared`], as the chat has them, with those of the
    /// tree. A message that continues the stored one becomes an amendment. A message that was
    /// amended otherwise stays as it is. Any other difference is the error.
    pub fn compare(&mut self, stored: &[Option<PlacedNode>]) -> Result<(), TreeDifference> {
        let mut own = vec![false; self.is_stored.len()];
        for branch in &self.branches {
            for position in self.tree.ancestry(branch.head) {
                if std::mem::replace(&mut own[position], true) {
                    break;
                }
            }
        }
        let mut amendments = Vec::new();
        for (index, position) in self.compared.iter().enumerate() {
            let node = self.tree.node(*position);
            let differs = || TreeDifference::Message { message: node.id.clone() };
            let placed = stored.get(index).and_then(Option::as_ref).ok_or_else(differs)?;
            let parent = self.tree.parent(*position).map(|parent| &self.tree.node(parent).id);
            if placed.node.id != node.id || placed.parent.as_ref() != parent {
                return Err(differs());
            }
            match Continuation::between(&placed.node, node) {
                Continuation::Same => {}
                Continuation::Grown if own[*position] => amendments.push(Arc::clone(node)),
                Continuation::Edited => {}
                _ => return Err(differs()),
            }
        }
        self.amendments = amendments;
        Ok(())
    }

    /// Returns whether the chat has everything of the tree.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.amendments.is_empty()
    }

    /// Returns the number of new messages.
    pub fn messages(&self) -> usize {
        self.steps.iter().map(|step| step.nodes.len()).sum()
    }

    /// Returns the number of stored messages that have grown.
    pub fn amended(&self) -> usize {
        self.amendments.len()
    }

    /// Returns the number of new branches.
    pub fn branches(&self) -> usize {
        self.steps.iter().filter(|step| step.is_new).count()
    }

    /// Returns whether the chat has a message with this property.
    pub fn has_stored(&self, fits: impl Fn(&Node) -> bool) -> bool {
        let new: HashSet<_> =
            self.steps.iter().flat_map(|step| step.nodes.iter().copied()).collect();
        let stored = (0..self.is_stored.len()).filter(|at| self.is_stored[*at]);
        stored.filter(|at| !new.contains(at)).any(|at| fits(self.tree.node(at)))
    }

    /// Returns the stored branch that has to become active, if the tree changed in any way.
    pub fn activate(&self) -> Option<&BranchName> {
        let current = &self.branches[self.current?];
        let is_new = self.steps.iter().any(|step| step.is_new && step.branch == current.name);
        (!is_new).then_some(&current.name)
    }

    /// Returns the commits, in order: what has grown, then for each branch the messages that the
    /// chat does not have, in as many commits as the limits of stores require. After an
    /// interruption, a growth that is compared anew has the missing ones.
    pub fn commits(&self, chat: &ChatRef, at: Timestamp) -> Vec<Commit> {
        let mut commits = Vec::new();
        for nodes in self.amendments.chunks(limits::MAX_COMMIT_ITEMS) {
            let mut commit = Commit::new(chat.clone(), Target::Stay, at);
            commit.amendments = nodes.to_vec();
            commits.push(commit);
        }
        for step in &self.steps {
            let id = |position: usize| self.tree.node(position).id.clone();
            let (mut base, mut is_new) = (step.base.map(id), step.is_new);
            let chunks: Vec<&[usize]> = match step.nodes.is_empty() {
                true => vec![&[]],
                false => step.nodes.chunks(limits::MAX_COMMIT_ITEMS).collect(),
            };
            for positions in chunks {
                let branch = step.branch.clone();
                let target = match std::mem::take(&mut is_new) {
                    true => Target::Fork {
                        name: ForkName::Exact(branch),
                        at: base,
                        activate: step.activate,
                    },
                    false => Target::Extend { branch, expected: base },
                };
                let mut commit = Commit::new(chat.clone(), target, at);
                commit.nodes = positions.iter().map(|at| Arc::clone(self.tree.node(*at))).collect();
                base = positions.last().map(|last| id(*last));
                commits.push(commit);
            }
        }
        commits
    }
}

impl Tree {
    /// Returns the commits that write the tree to a new chat, in order. Fails if a node is on no
    /// branch. [`TreeGrowth`] has those for a chat that exists.
    pub fn commits(&self, chat: &ChatRef, at: Timestamp) -> Result<Vec<Commit>, TreeError> {
        Ok(TreeGrowth::of_new_chat(self)?.commits(chat, at))
    }
}
