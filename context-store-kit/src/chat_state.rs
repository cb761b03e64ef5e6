//! One chat as plain data: the semantics of all storage operations, independent of a backend.
//!
//! A [`ChatState`] is the reference implementation for stores, and a shortcut: a backend that can
//! keep one value per chat and replace it in a transaction reads the state, applies the operation
//! and writes the state back as [bytes](ChatState::to_bytes); see the trait
//! [`StateStore`](context_store_kit::StateStore). Each write then costs time in the size of the
//! chat, so this suits small chats and first versions. A store that keeps rows implements the same
//! semantics itself, and `context-conformance` tests it.
//!
//! Every method is synchronous and takes no lock. It either has its full effect, or returns an
//! error and changes nothing.

mod branches;
mod bytes;
mod commit;
mod fragments;
mod listing;
mod search;
mod window_end;

use std::collections::{BTreeMap, HashMap};

use self::window_end::WindowEnd;
use crate::check_chat_graph;
use context_core::base::{CheckpointName, CommitKey, limits};
use context_core::message::PlacedNode;
use context_core::store::{
    Branch, ChainEnd, Chat, ChatPatch, ChatSize, ChatSummary, Checkpoint, Committed, Cursor,
    Finding, FragmentLog, Lease, LeaseClaim, LeaseOutcome, Page, RefLog, Revision, StoredFragment,
    Window,
};
use context_core::{BranchName, Chain, Error, MessageId, Result, Timestamp};

/// One chat with its messages, branches, checkpoints and fragments.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::{ChatRef, Message, Node, Timestamp};
/// use context_store_kit::ChatState;
/// use context_core::store::{ChainEnd, Chat, Commit, NewChat, Target, Window};
///
/// let (trip, now) = (ChatRef::new("ada", "trip"), Timestamp::default());
/// let mut state = ChatState::new(Chat::new(NewChat::new(trip.clone(), now)), 1);
/// let mut commit = Commit::new(trip, Target::Extend { branch: "main".into(), expected: None }, now);
/// commit.nodes.push(Arc::new(Node::new("a", Message::from("hi"), now)));
/// assert!(state.commit(commit)?.committed().is_some());
///
/// let read = ChatState::from_bytes(state.to_bytes())?; // one value, for a store that keeps values
/// let chain = read.chain(&ChainEnd::Branch("main".into()), &Window::Whole)?;
/// assert_eq!((chain.len(), read.check()), (1, vec![]));
/// # Ok::<(), context_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ChatState {
    chat: Chat,
    /// The ordinal number of the chat in the store.
    number: u64,
    /// Number of operations that changed or removed stored messages.
    changes: u64,
    /// All messages. A parent comes before its children.
    nodes: Vec<PlacedNode>,
    /// The index in `nodes` of each message.
    index: HashMap<MessageId, usize>,
    revisions: BTreeMap<MessageId, Vec<Revision>>,
    /// In creation order. Only `chat` knows the active branch.
    branches: Vec<Branch>,
    checkpoints: BTreeMap<CheckpointName, Checkpoint>,
    fragments: Vec<StoredFragment>,
    fragment_log: FragmentLog,
    ref_log: RefLog,
    /// The digests and results of commits with a key.
    keys: BTreeMap<CommitKey, ([u8; 32], Committed)>,
    lease: Option<Lease>,
}

impl ChatState {
    /// Creates the state of a new chat. `number` must be unique among all chats ever created in the
    /// store. It orders chats with equal timestamps, and distinguishes a chat from a deleted one
    /// with the same id.
    pub fn new(chat: Chat, number: u64) -> Self {
        let main = Branch::new(chat.active.clone(), None, 0, true, chat.created_at);
        Self {
            chat,
            number,
            changes: 0,
            nodes: Vec::new(),
            index: HashMap::new(),
            revisions: BTreeMap::new(),
            branches: vec![main],
            checkpoints: BTreeMap::new(),
            fragments: Vec::new(),
            fragment_log: FragmentLog::default(),
            ref_log: RefLog::default(),
            keys: BTreeMap::new(),
            lease: None,
        }
    }

    /// Returns the chat.
    pub fn chat(&self) -> &Chat {
        &self.chat
    }

    /// Returns the ordinal number of the chat in the store.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the chat as listings show it.
    pub fn summary(&self) -> ChatSummary {
        ChatSummary::new(self.chat.clone(), self.nodes.len() as u64, self.branches.len() as u64)
    }

    /// Returns the size of the chat.
    pub fn size(&self) -> ChatSize {
        let revisions = self.revisions.values().flatten().map(|revision| &revision.node);
        let nodes = self.nodes.iter().map(|placed| &placed.node).chain(revisions);
        let bytes =
            nodes.map(|node| (node.id.as_str().len() + node.body().bytes().len()) as u64).sum();
        ChatSize::new(self.nodes.len() as u64, bytes)
    }

    /// Changes title and metadata.
    pub fn update(&mut self, patch: &ChatPatch, at: Timestamp) -> Result<Chat> {
        let mut chat = self.chat.clone();
        patch.apply(&mut chat)?;
        self.chat = chat;
        self.touch(at);
        Ok(self.chat.clone())
    }

    /// Returns a chain, or the part of it that the window asks for.
    pub fn chain(&self, end: &ChainEnd, window: &Window) -> Result<Chain> {
        let head = match end {
            ChainEnd::Branch(name) => self.branch("chain", name)?.head.as_ref(),
            ChainEnd::Message(id) => Some(&self.placed("chain", id)?.node.id),
        };
        let generation = (self.number << 32) + self.changes;
        let mut end = WindowEnd::of(window, generation);
        let (mut nodes, mut next, mut skipped) = (Vec::new(), head, 0);
        while let Some(id) = next {
            let placed = self.placed("chain", id)?;
            if end.is_before(&placed.node) {
                skipped = placed.depth + 1;
                break;
            }
            nodes.push(placed.node.clone());
            next = placed.parent.as_ref();
        }
        nodes.reverse();
        Ok(Chain::from_nodes(skipped, nodes).with_generation(generation))
    }

    /// Returns messages by id: one slot per id.
    pub fn messages(&self, ids: &[MessageId]) -> Vec<Option<PlacedNode>> {
        ids.iter().map(|id| self.find(id).cloned()).collect()
    }

    /// Returns a page of all messages.
    pub fn all_messages(&self, limit: usize, after: Option<&Cursor>) -> Result<Page<PlacedNode>> {
        const OPERATION: &str = "all_messages";
        limits::check_page(OPERATION, limit)?;
        let start: usize = match after {
            None => 0,
            Some(cursor) => cursor.as_str().parse().map_err(|_| bad_cursor(OPERATION))?,
        };
        let items: Vec<_> = self.nodes.iter().skip(start).take(limit).cloned().collect();
        let end = start.saturating_add(items.len());
        Ok(Page { items, next: (end < self.nodes.len()).then(|| Cursor::new(end.to_string())) })
    }

    /// Returns the earlier revisions of a message, oldest first.
    pub fn revisions(&self, message: &MessageId) -> Vec<Revision> {
        self.revisions.get(message).cloned().unwrap_or_default()
    }

    /// Returns the last lease, in force or ended.
    pub fn lease(&self) -> Option<&Lease> {
        self.lease.as_ref()
    }

    /// Takes the lease, renews it, or takes it over.
    pub fn take_lease(&mut self, claim: &LeaseClaim) -> LeaseOutcome {
        let outcome = Lease::take(self.lease.as_ref(), claim);
        if let LeaseOutcome::Taken(lease) = &outcome {
            self.lease = Some(lease.clone());
        }
        outcome
    }

    /// Ends the lease with this number. Returns false if the last lease has another one.
    pub fn release_lease(&mut self, number: u64, at: Timestamp) -> bool {
        let released = self.lease.as_ref().and_then(|lease| lease.release(number, at));
        let is_released = released.is_some();
        self.lease = released.or(self.lease.take());
        is_released
    }

    /// Returns the violated invariants of the graph.
    pub fn check(&self) -> Vec<Finding> {
        let checkpoints: Vec<_> = self.checkpoints.values().cloned().collect();
        check_chat_graph(&self.chat, &self.nodes, &self.branches(), &checkpoints)
    }

    fn touch(&mut self, at: Timestamp) {
        self.chat.updated_at = self.chat.updated_at.max(at);
    }

    fn branch(&self, operation: &'static str, name: &BranchName) -> Result<&Branch> {
        let found = self.branches.iter().find(|branch| branch.name == *name);
        found.ok_or_else(|| Error::not_found(operation, "branch", name))
    }

    fn find(&self, id: &MessageId) -> Option<&PlacedNode> {
        self.index.get(id).map(|&position| &self.nodes[position])
    }

    fn placed(&self, operation: &'static str, id: &MessageId) -> Result<&PlacedNode> {
        self.find(id).ok_or_else(|| Error::not_found(operation, "message", id))
    }

    /// Returns the messages from the root to this one.
    fn path(&self, end: Option<&MessageId>) -> Result<Vec<&PlacedNode>> {
        let mut next = end;
        let mut path = Vec::new();
        while let Some(id) = next {
            let placed = self.placed("chain", id)?;
            path.push(placed);
            next = placed.parent.as_ref();
        }
        path.reverse();
        Ok(path)
    }
}

fn bad_cursor(operation: &'static str) -> Error {
    Error::invalid(operation, "the cursor is not one of this listing")
}
