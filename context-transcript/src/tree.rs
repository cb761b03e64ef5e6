//! A conversation with all its branches, built in memory.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use context_core::base::display::shown;
use context_core::{BranchName, Chain, Error, ErrorKind, MessageId, Node};

use crate::chat::title;

/// The nodes and branches of a new chat: each node has a parent or is a root, and each branch names
/// its head.
///
/// ```
/// use context_core::{Message, Node, Timestamp};
/// use context_transcript::{Tree, TreeError};
///
/// let node = |id: &str, text: &str| Node::new(id, Message::from(text), Timestamp::default());
/// let mut tree = Tree::default();
/// let question = tree.add(node("q", "Two tickets?"), None)?;
/// let first = tree.add(node("a1", "When?"), Some(question))?;
/// let second = tree.add(node("a2", "Where to?"), Some(question))?;
/// tree.branch("main", second)?;
/// tree.branch("main-v2", first)?;
/// assert_eq!(tree.branches().count(), 2);
/// assert_eq!(tree.chain(&"main".into()).expect("a branch").len(), 2);
/// # Ok::<_, TreeError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tree {
    nodes: Vec<(Arc<Node>, Option<usize>)>,
    branches: Vec<(BranchName, usize)>,
    positions: HashMap<MessageId, usize>,
    names: HashSet<BranchName>,
}

/// The reason why a [`Tree`] is invalid.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// A parent or head that was not added before.
    #[error("there is no node {index}")]
    NoSuchNode {
        /// The position.
        index: usize,
    },
    /// Two nodes have the same id.
    #[error("message {} occurs twice", shown(.message))]
    SameId {
        /// The id.
        message: MessageId,
    },
    /// Two branches have the same name.
    #[error("branch {} occurs twice", shown(.branch))]
    SameBranch {
        /// The name.
        branch: BranchName,
    },
    /// `main`, which every chat has from the start, was added after other branches.
    #[error("main must be the first branch")]
    MainIsLate,
    /// A node that no branch reaches.
    #[error("message {} is on no branch", shown(.message))]
    OnNoBranch {
        /// The id.
        message: MessageId,
    },
}

context_core::readable_debug!(TreeError);

impl From<TreeError> for Error {
    fn from(error: TreeError) -> Self {
        Error::new(ErrorKind::Invalid, "plan", error.to_string()).with_source(error)
    }
}

impl Tree {
    /// Creates a tree of one branch, `main`.
    pub fn of_chain(
        nodes: impl IntoIterator<Item = impl Into<Arc<Node>>>,
    ) -> Result<Self, TreeError> {
        let (mut tree, mut last) = (Self::default(), None);
        for node in nodes {
            last = Some(tree.add(node, last)?);
        }
        if let Some(head) = last {
            tree.branch(BranchName::main(), head)?;
        }
        Ok(tree)
    }

    /// Adds a node after `parent`, which was added before, or as a root without one. Returns its
    /// position.
    pub fn add(
        &mut self,
        node: impl Into<Arc<Node>>,
        parent: Option<usize>,
    ) -> Result<usize, TreeError> {
        let (node, index) = (node.into(), self.nodes.len());
        if let Some(index) = parent.filter(|parent| *parent >= index) {
            return Err(TreeError::NoSuchNode { index });
        }
        if self.positions.contains_key(&node.id) {
            return Err(TreeError::SameId { message: node.id.clone() });
        }
        self.positions.insert(node.id.clone(), index);
        self.nodes.push((node, parent));
        Ok(index)
    }

    /// Names the chain that ends at `head` as a branch. `main` must come first, if used.
    pub fn branch(&mut self, name: impl Into<BranchName>, head: usize) -> Result<(), TreeError> {
        let branch = name.into();
        if head >= self.nodes.len() {
            return Err(TreeError::NoSuchNode { index: head });
        }
        if branch == BranchName::main() && !self.branches.is_empty() {
            return Err(TreeError::MainIsLate);
        }
        if !self.names.insert(branch.clone()) {
            return Err(TreeError::SameBranch { branch });
        }
        self.branches.push((branch, head));
        Ok(())
    }

    /// Returns the nodes, each after its parent.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = &Arc<Node>> {
        self.nodes.iter().map(|(node, _)| node)
    }

    /// Returns the branches and their heads.
    pub fn branches(&self) -> impl ExactSizeIterator<Item = (&BranchName, &Arc<Node>)> {
        self.branches.iter().map(|(name, head)| (name, &self.nodes[*head].0))
    }

    /// Returns the messages of a branch, root first, or `None` for an unknown branch.
    pub fn chain(&self, branch: &BranchName) -> Option<Chain> {
        let mut at = Some(self.branches.iter().find(|(name, _)| name == branch)?.1);
        let mut nodes = Vec::new();
        while let Some(index) = at {
            nodes.push(Arc::clone(&self.nodes[index].0));
            at = self.nodes[index].1;
        }
        nodes.reverse();
        Some(Chain::from_nodes(0, nodes))
    }

    /// Returns the start of the first message of a user: the title, if the file names none.
    pub fn title(&self) -> Option<String> {
        title(self.nodes())
    }

    /// Returns the position of a message, in the order of [`Tree::nodes`].
    pub fn position(&self, message: &MessageId) -> Option<usize> {
        self.positions.get(message).copied()
    }

    /// Fails if a node is on no branch.
    pub(crate) fn check(&self) -> Result<(), TreeError> {
        let mut covered = vec![false; self.nodes.len()];
        for (_, head) in &self.branches {
            let mut at = Some(*head);
            while let Some(index) =
                at.filter(|index| !std::mem::replace(&mut covered[*index], true))
            {
                at = self.nodes[index].1;
            }
        }
        match covered.iter().position(|covered| !covered) {
            Some(index) => Err(TreeError::OnNoBranch { message: self.nodes[index].0.id.clone() }),
            None => Ok(()),
        }
    }

    pub(crate) fn node(&self, position: usize) -> &Arc<Node> {
        &self.nodes[position].0
    }

    pub(crate) fn parent(&self, position: usize) -> Option<usize> {
        self.nodes[position].1
    }

    /// Returns the branches and the positions of their heads.
    pub(crate) fn heads(&self) -> impl Iterator<Item = (&BranchName, usize)> {
        self.branches.iter().map(|(name, head)| (name, *head))
    }

    /// Returns a node and its ancestors, from the node to its root.
    pub(crate) fn ancestry(&self, position: Option<usize>) -> impl Iterator<Item = usize> {
        std::iter::successors(position, |at| self.nodes[*at].1)
    }
}
