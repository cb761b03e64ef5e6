//! Chains: the messages from a root to a head, shared and cheap to extend.
//!
//! A chain consists of shared runs of nodes. A clone increments a reference count, adding a node
//! copies at most one short run, and packed runs from a store are unpacked only when one of their
//! nodes is accessed. A chain holds no store and no lock.

use std::fmt;
use std::ops::Index;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;

use super::messages::MessageRun;
use super::runs::{RUN, Run, Runs, SharedBlock};
use crate::{MessageId, Messages, Node};

/// The nodes of one path through the message graph, root first.
///
/// A windowed read returns the end of a path. [`skipped`](Self::skipped) is the number of nodes
/// before it, so a part cannot be mistaken for the whole path.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::{Chain, Message, Node, Timestamp};
///
/// let node = |id: &str| Arc::new(Node::new(id, Message::from("hi"), Timestamp::default()));
/// let mut chain = Chain::from_nodes(0, ["a", "b"].map(node));
/// let seen = chain.clone(); // shares the nodes
/// chain.push(node("c"));
/// assert_eq!((seen.len(), chain.len(), chain.common_prefix(&seen)), (2, 3, 2));
/// assert_eq!(chain.head(), Some(&"c".into()));
/// ```
#[derive(Clone, Default)]
pub struct Chain {
    skipped: u64,
    generation: u64,
    runs: Runs<Arc<RunNodes>>,
}

struct RunNodes {
    len: usize,
    /// Total length of the bodies in bytes, or length of the packed form.
    bytes: usize,
    /// The stored form of a run that came from a store, and how it is read. Taken when it is read.
    stored: Mutex<Option<(Bytes, ReadRun)>>,
    nodes: OnceLock<Vec<Arc<Node>>>,
    /// The readable messages of the nodes, collected on first use.
    messages: OnceLock<MessageRun>,
}

impl Run for Arc<RunNodes> {
    type Image = SharedBlock<MessageRun>;

    fn len(&self) -> usize {
        self.len
    }
}

impl RunNodes {
    fn of(nodes: Vec<Arc<Node>>) -> Arc<Self> {
        let bytes = nodes.iter().map(|node| node.body_length()).sum();
        let len = nodes.len();
        let (stored, messages) = (Mutex::default(), OnceLock::new());
        Arc::new(Self { len, bytes, stored, nodes: nodes.into(), messages })
    }

    /// Estimates the memory use with unpacked nodes, because most runs are unpacked eventually.
    /// Unpacked nodes share the packed bytes, if there are any, and have fields, an id and
    /// reference counts of their own.
    fn memory(&self) -> usize {
        const NODE: usize = size_of::<Node>() + 64;
        self.bytes + self.len * NODE + size_of::<Self>() + size_of::<usize>() * 2
    }

    fn nodes(&self) -> &[Arc<Node>] {
        self.nodes.get_or_init(|| {
            let stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner).take();
            let (bytes, read) = stored.expect("a run has nodes or a stored form");
            let mut nodes = read(&bytes);
            nodes.truncate(self.len);
            Node::share(&bytes, &mut nodes);
            nodes
        })
    }

    fn messages(&self) -> &MessageRun {
        self.messages.get_or_init(|| {
            let readable = self.nodes().iter().filter_map(|node| node.message().ok());
            Arc::new(readable.cloned().collect())
        })
    }
}

/// Reads the nodes of a stored run.
pub type ReadRun = fn(&Bytes) -> Vec<Arc<Node>>;

/// Stored nodes of one path, which are read when one of them is accessed.
#[derive(Clone, Debug)]
pub struct LazyRun {
    /// The number of nodes that `read` returns and that belong to the chain; more are cut off.
    pub len: usize,
    /// The stored form.
    pub bytes: Bytes,
    /// The function that reads the nodes. The caller has checked the bytes, so it cannot fail.
    pub read: ReadRun,
}

impl Chain {
    /// Creates a chain from nodes, after `skipped` others.
    pub fn from_nodes(skipped: u64, nodes: impl IntoIterator<Item = Arc<Node>>) -> Self {
        let mut nodes = nodes.into_iter();
        let run = || Some(nodes.by_ref().take(RUN).collect::<Vec<_>>());
        let runs = std::iter::from_fn(run).take_while(|run| !run.is_empty());
        Self { skipped, generation: 0, runs: runs.map(RunNodes::of).collect() }
    }

    /// Returns a chain of runs that are read later, behind `skipped` other nodes.
    pub fn from_lazy(skipped: u64, runs: impl IntoIterator<Item = LazyRun>) -> Self {
        let run = |LazyRun { len, bytes, read }: LazyRun| {
            let (nodes, messages) = (OnceLock::new(), OnceLock::new());
            Arc::new(RunNodes {
                len,
                bytes: bytes.len(),
                stored: Mutex::new(Some((bytes, read))),
                nodes,
                messages,
            })
        };
        Self { skipped, generation: 0, runs: runs.into_iter().map(run).collect() }
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Returns whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of nodes on the path before the first one of this chain.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns the generation of the chat's messages, for the next
    /// [`Window::After`](crate::store::Window::After). The generation increases by one with each
    /// operation that changes or removes stored messages (a commit with amendments or redactions, a
    /// deletion). Each chat ever created starts at another number, so that a chat that was deleted
    /// and created again is not mistaken for the old one.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Sets the generation.
    #[must_use]
    pub fn with_generation(mut self, generation: u64) -> Self {
        self.generation = generation;
        self
    }

    /// Returns whether the chain starts at a root.
    pub fn is_whole(&self) -> bool {
        self.skipped == 0
    }

    /// Returns the node at a position of this chain.
    pub fn get(&self, position: usize) -> Option<&Arc<Node>> {
        let (start, run) = self.runs.at(position)?;
        run.nodes().get(position - start)
    }

    /// Returns the newest node.
    pub fn last(&self) -> Option<&Arc<Node>> {
        self.runs.last()?.nodes().last()
    }

    /// Returns the id of the newest node.
    pub fn head(&self) -> Option<&MessageId> {
        self.last().map(|node| &node.id)
    }

    /// Returns a double-ended iterator over the nodes, root first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Node>> {
        self.runs.iter().flat_map(|run| run.nodes())
    }

    /// Returns the position of a node. Searches from the newest node on, because recent nodes are
    /// requested most.
    pub fn position(&self, id: &MessageId) -> Option<usize> {
        self.iter().rev().position(|node| node.id == *id).map(|from_end| self.len() - 1 - from_end)
    }

    /// Returns the number of leading nodes that two chains share. Both must start at a root of the
    /// same chat. Equal nodes then have equal ancestors, so a binary search suffices.
    pub fn common_prefix(&self, other: &Self) -> usize {
        let same = |position: usize| match (self.get(position), other.get(position)) {
            (Some(a), Some(b)) => a.id == b.id,
            _ => false,
        };
        let (mut shared, mut apart) = (0, self.len().min(other.len()));
        while shared < apart {
            let middle = shared + (apart - shared) / 2;
            if same(middle) {
                shared = middle + 1;
            } else {
                apart = middle;
            }
        }
        shared
    }

    /// Estimates the memory use in bytes. Nodes shared with other chains are counted in each.
    pub fn memory(&self) -> usize {
        self.runs.iter().map(|run| run.memory()).sum()
    }

    /// Returns the readable messages. They are collected once for all chains that share the nodes.
    pub fn messages(&self) -> Messages {
        Messages::of(self.runs.image(|run| Arc::clone(run.messages())))
    }

    /// Appends a node.
    pub fn push(&mut self, node: Arc<Node>) {
        match self.runs.last() {
            Some(last) if last.len < RUN => self.runs.change_last(|run| {
                let mut nodes = run.nodes().to_vec();
                nodes.push(node);
                *run = RunNodes::of(nodes);
            }),
            _ => self.runs.push(RunNodes::of(vec![node])),
        }
    }

    /// Appends all nodes of another chain.
    pub fn extend(&mut self, other: &Chain) {
        let small = self.runs.last().is_some_and(|run| run.len + other.len() <= RUN);
        if small {
            other.iter().for_each(|node| self.push(Arc::clone(node)));
        } else {
            other.runs.iter().for_each(|run| self.runs.push(Arc::clone(run)));
        }
    }

    /// Replaces the node at a position. A position past the end is ignored.
    pub fn replace(&mut self, position: usize, node: Arc<Node>) {
        if position >= self.len() {
            return;
        }
        self.runs.change(position, |within, run| {
            let mut nodes = run.nodes().to_vec();
            nodes[within] = node;
            RunNodes::of(nodes)
        });
    }

    /// Returns the first `len` nodes, sharing all runs except a truncated one.
    #[must_use]
    pub fn prefix(&self, len: usize) -> Self {
        let runs = self.runs.prefix(len, |run, len| RunNodes::of(run.nodes()[..len].to_vec()));
        Self { runs, ..*self }
    }

    /// Returns the nodes from `position` on.
    #[must_use]
    pub fn suffix(&self, position: usize) -> Self {
        let position = position.min(self.len());
        let skipped = self.skipped + position as u64;
        let nodes = (position..self.len()).filter_map(|i| self.get(i).cloned());
        Self::from_nodes(skipped, nodes).with_generation(self.generation())
    }
}

impl Index<usize> for Chain {
    type Output = Node;

    /// Returns the node at a position. Panics past the end, like a slice.
    fn index(&self, position: usize) -> &Node {
        self.get(position).expect("position is within the chain")
    }
}

impl PartialEq for Chain {
    fn eq(&self, other: &Self) -> bool {
        self.skipped() == other.skipped()
            && self.len() == other.len()
            && self.iter().eq(other.iter())
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.skipped() > 0 {
            write!(f, "… {} … ", self.skipped())?;
        }
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Message, Role, Timestamp};

    fn node(i: usize) -> Arc<Node> {
        let message = Message::text(Role::User, format!("text {i}"));
        Arc::new(Node::new(format!("m{i}"), message, Timestamp::from_micros(i as i64)))
    }

    fn read(bytes: &Bytes) -> Vec<Arc<Node>> {
        let number = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        bytes.chunks(4).map(|bytes| node(number(bytes) as usize)).collect()
    }

    fn stored(sizes: &[usize]) -> (Chain, Vec<Arc<Node>>) {
        let all: Vec<_> = (0..sizes.iter().sum()).map(node).collect();
        let mut first = 0;
        let runs = sizes.iter().map(|&len| {
            let bytes: Vec<u8> =
                (first..first + len).flat_map(|i| (i as u32).to_le_bytes()).collect();
            first += len;
            LazyRun { len, bytes: bytes.into(), read }
        });
        (Chain::from_lazy(0, runs), all)
    }

    proptest! {
        #[test]
        fn chains_share_what_comes_before_the_fork(shared in 0usize..200, left in 0usize..70,
            right in 0usize..70) {
            let path = |from: usize, len: usize| (0..shared).chain(from..from + len).map(node);
            let (left, right) = (path(1_000, left), path(2_000, right));
            let chain = |nodes| Chain::from_nodes(0, nodes);
            prop_assert_eq!(chain(left).common_prefix(&chain(right)), shared);
        }

        #[test]
        fn behaves_like_a_list(
            sizes in proptest::collection::vec(0usize..90, 0..5),
            pushed in 0usize..130,
            cut in 0usize..300,
        ) {
            let (mut chain, mut list) = stored(&sizes);
            let before = chain.clone();
            for _ in 0..pushed {
                let next = node(list.len());
                chain.push(Arc::clone(&next));
                list.push(next);
            }
            prop_assert_eq!(before.len(), list.len() - pushed);
            prop_assert!(chain.iter().eq(&list));
            prop_assert!(chain.iter().rev().eq(list.iter().rev()));
            prop_assert_eq!(chain.get(cut), list.get(cut));
            let readable = || list.iter().filter_map(|node| node.message().ok());
            prop_assert!(chain.messages().iter().eq(readable()));
            prop_assert!(before.messages().iter().eq(readable().take(before.len())));
            prop_assert_eq!(chain.get(list.len()), None);
            prop_assert_eq!(chain.head(), list.last().map(|node| &node.id));

            let cut = cut.min(list.len());
            let (front, back) = (chain.prefix(cut), chain.suffix(cut));
            prop_assert!(front.iter().eq(&list[..cut]));
            prop_assert!(back.iter().eq(&list[cut..]));
            prop_assert_eq!(back.skipped(), cut as u64);
            let mut joined = front;
            joined.extend(&back);
            prop_assert_eq!(&joined, &chain);

            if cut < list.len() {
                prop_assert_eq!(chain.position(&list[cut].id), Some(cut));
                chain.replace(cut, node(9999));
                let messages = chain.messages();
                prop_assert_eq!(messages.get(cut), chain[cut].message().ok());
                prop_assert_eq!(&chain[cut].id, "m9999");
                prop_assert_eq!(&joined[cut].id, &list[cut].id);
            }
        }
    }
}
