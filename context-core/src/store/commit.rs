//! The write contract: the contents of a commit and its outcomes.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Serialize;

use crate::base::{CheckpointName, CommitKey, FragmentId, limits, sealed};
use crate::store::{ChatPatch, Durability, TitleChange};
use crate::{BranchName, ChatRef, Encoded, Error, MessageId, Metadata, Node, Timestamp};

/// A set of changes to a chat that is written in one transaction.
///
/// ```
/// use context_core::store::{Commit, Target};
/// use context_core::{ChatRef, Message, Node, Timestamp};
///
/// let (trip, now) = (ChatRef::new("ada", "trip"), Timestamp::default());
/// let target = Target::Extend { branch: "main".into(), expected: None };
/// let nodes = vec![Node::new("a", Message::from("hi"), now).into()];
/// let commit = Commit { nodes, ..Commit::new(trip, target, now) };
/// commit.check()?; // as every store does first
/// # Ok::<(), context_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Commit {
    /// The chat to write to.
    pub chat: ChatRef,
    /// The branch that moves, and its precondition.
    pub target: Target,
    /// New messages, oldest first. The parent of the first is given by the target; each other
    /// message follows the one before it.
    pub nodes: Vec<Arc<Node>>,
    /// New bodies for stored messages, by id. Position and heads stay. The earlier revision is
    /// kept.
    pub amendments: Vec<Arc<Node>>,
    /// New bodies for stored messages whose old content must be destroyed. Like an amendment, but
    /// the old body is not kept, and earlier revisions are deleted. Data left in pages that the
    /// backend has freed is cleared by [`Maintenance::vacuum`](crate::store::Maintenance::vacuum).
    pub redactions: Vec<Arc<Node>>,
    /// Context fragments to store with the chat, as
    /// [`FragmentStore::put_fragments`](crate::store::FragmentStore) does.
    pub fragments: Vec<StoredFragment>,
    /// A change of the chat's title and metadata.
    pub patch: Option<ChatPatch>,
    /// An idempotency key. A second commit with the same key and content is
    /// [`CommitOutcome::Replayed`]; one with other content is refused. Keys are kept with the chat.
    ///
    /// A commit that appends new messages to a branch needs no key: the ids of its messages
    /// identify it.
    pub key: Option<CommitKey>,
    /// The fencing number of the writer's [lease](crate::store::LeaseStore). A commit with another
    /// number than that of the chat's last lease is refused, and so is a commit without a number
    /// while a lease is in force.
    pub lease: Option<u64>,
    /// The failures that the commit must survive when it is acknowledged. `None`: as the store is
    /// [configured](crate::store::StoreInfo::durability). With a weaker one the store acknowledges
    /// sooner if it can. With a stronger one it waits longer, and refuses the commit if it [cannot
    /// give it](crate::store::StoreInfo::strongest).
    ///
    /// Not a part of the content: a repeated commit with another durability is still a replay. It
    /// is acknowledged when what was written before has the durability that it asks for now.
    pub durability: Option<Durability>,
    /// The current time.
    pub at: Timestamp,
}

/// The branch that a commit moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// No branch. The commit holds only amendments, redactions, fragments or the patch.
    Stay,
    /// Moves the head of `branch` to the last new message if the head is still `expected`. Without
    /// new messages, only the head is checked.
    Extend {
        /// The branch. It must exist.
        branch: BranchName,
        /// The head that the caller saw. `None` for a branch without messages.
        expected: Option<MessageId>,
    },
    /// Moves the head of `branch` to the last new message if `seen` is still on the branch's chain.
    /// The new messages follow the head, wherever it is by then: [`Committed::onto`] names it. So
    /// of several writers who saw the same head, all get in, in the order of their arrival. Without
    /// new messages, only the chain is checked.
    Graft {
        /// The branch. It must exist.
        branch: BranchName,
        /// The head that the caller saw. `None` for a branch without messages, which any chain
        /// continues.
        seen: Option<MessageId>,
    },
    /// Creates a new branch.
    Fork {
        /// The name of the new branch.
        name: ForkName,
        /// The message that the branch starts after. `None` starts a new root.
        at: Option<MessageId>,
        /// Whether the new branch becomes the active one.
        activate: bool,
    },
}

/// The name of a new branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForkName {
    /// Exactly this name. A taken name is a conflict.
    Exact(BranchName),
    /// `<base>-v<k>` with the lowest free `k` from 2, chosen inside the transaction. The version
    /// after `main-v2` is `main-v3`, not `main-v2-v2`. Refused if the result is longer than a name
    /// may be.
    NextVersionOf(BranchName),
}

impl ForkName {
    /// Returns the given name: the exact one, or the one that versions derive from.
    pub fn base(&self) -> &BranchName {
        match self {
            Self::Exact(name) | Self::NextVersionOf(name) => name,
        }
    }

    /// Returns the name to use, given a predicate for taken names. `None` if the exact name is
    /// taken.
    pub fn choose(&self, taken: impl Fn(&BranchName) -> bool) -> Option<BranchName> {
        match self {
            Self::Exact(name) => (!taken(name)).then(|| name.clone()),
            Self::NextVersionOf(base) => (2..).map(|k| base.version(k)).find(|name| !taken(name)),
        }
    }
}

/// The outcome of deleting a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub enum BranchDeletion {
    /// The branch was deleted, together with the messages that nothing else reached.
    Deleted {
        /// Number of messages that were deleted.
        messages: u64,
    },
    /// Nothing was deleted, because the branch's head is not the expected one.
    Conflict {
        /// The actual head.
        actual: Option<MessageId>,
    },
}

/// The outcome of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub enum CommitOutcome {
    /// The commit was written.
    Applied(Committed),
    /// The commit had been written before. Nothing was written now.
    Replayed(Committed),
    /// Nothing was written: the branch's head is not the expected one, its chain does not have the
    /// one that a graft has seen, or the exact name of a new branch is taken.
    Conflict {
        /// The actual head of that branch.
        actual: Option<MessageId>,
    },
    /// Nothing was written: the chat already uses the ids of these new messages for something else.
    Exists {
        /// The taken ids.
        ids: Vec<MessageId>,
    },
}

impl CommitOutcome {
    /// Returns the branch and its head, if the commit is in the store.
    pub fn committed(self) -> Option<Committed> {
        match self {
            Self::Applied(committed) | Self::Replayed(committed) => Some(committed),
            _ => None,
        }
    }
}

/// The branch and its head after a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed {
    /// The branch that moved. `None` for [`Target::Stay`].
    pub branch: Option<BranchName>,
    /// The head of the branch right after the commit.
    pub head: Option<MessageId>,
    /// The head that a [graft](Target::Graft) was appended to. `None` if the branch had no
    /// messages, if the graft is replayed after its messages were removed, and for every other
    /// target.
    pub onto: Option<MessageId>,
}

impl Committed {
    /// Creates the result from a branch and its head.
    pub fn new(branch: Option<BranchName>, head: Option<MessageId>) -> Self {
        Self { branch, head, onto: None }
    }

    /// Sets the head that a graft was appended to.
    #[must_use]
    pub fn with_onto(self, onto: Option<MessageId>) -> Self {
        Self { onto, ..self }
    }
}

impl Commit {
    /// Refuses a commit that is invalid whatever the store contains.
    pub fn check(&self) -> crate::Result<()> {
        const OPERATION: &str = "commit";
        limits::check_chat(OPERATION, &self.chat)?;
        match &self.target {
            Target::Stay if self.nodes.is_empty() => {}
            Target::Stay => {
                return Err(Error::invalid(OPERATION, "new messages need a branch"));
            }
            Target::Extend { branch, expected } => {
                limits::check_id(OPERATION, "branch", branch.as_str())?;
                expected
                    .iter()
                    .try_for_each(|id| limits::check_id(OPERATION, "expected", id.as_str()))?;
            }
            Target::Graft { branch, seen } => {
                limits::check_id(OPERATION, "branch", branch.as_str())?;
                seen.iter().try_for_each(|id| limits::check_id(OPERATION, "seen", id.as_str()))?;
            }
            Target::Fork { name, at, .. } => {
                limits::check_id(OPERATION, "branch", name.base().as_str())?;
                at.iter().try_for_each(|id| limits::check_id(OPERATION, "at", id.as_str()))?;
            }
        }
        if let Some(key) = &self.key {
            limits::check_id(OPERATION, "key", key.as_str())?;
        }
        let changed = || self.amendments.iter().chain(&self.redactions);
        let items = self.nodes.len() + changed().count() + self.fragments.len();
        if items > limits::MAX_COMMIT_ITEMS {
            return Err(Error::invalid(OPERATION, "too many items in one commit")
                .with("items", items)
                .with("limit", limits::MAX_COMMIT_ITEMS));
        }
        let mut seen = HashSet::with_capacity(self.nodes.len());
        for node in self.nodes.iter().chain(changed()) {
            node.check(OPERATION)?;
            if !seen.insert(&node.id) {
                return Err(Error::invalid(OPERATION, "the same message twice in one commit")
                    .with("message", &node.id));
            }
        }
        self.fragments.iter().try_for_each(|fragment| fragment.check(OPERATION))?;
        self.patch.iter().try_for_each(|patch| patch.check(OPERATION))
    }

    /// Creates an empty commit.
    pub fn new(chat: ChatRef, target: Target, at: Timestamp) -> Self {
        Self {
            chat,
            target,
            nodes: Vec::new(),
            amendments: Vec::new(),
            redactions: Vec::new(),
            fragments: Vec::new(),
            patch: None,
            key: None,
            lease: None,
            durability: None,
            at,
        }
    }

    /// Returns the message that the caller appends to: the expected head, the head that a graft has
    /// seen, or the fork point. It is the parent of the first new message, except that the parent
    /// of a graft may be a later message.
    pub fn base(&self) -> Option<&MessageId> {
        match &self.target {
            Target::Stay => None,
            Target::Extend { expected: base, .. }
            | Target::Graft { seen: base, .. }
            | Target::Fork { at: base, .. } => base.as_ref(),
        }
    }

    /// Returns a hash of the target and the content, without timestamps, lease and durability. It
    /// distinguishes a repeated commit from a different one with the same key. The hash is the same
    /// in every process and version of this crate.
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Digest(blake3::Hasher::new());
        let (kind, branch, activate) = match &self.target {
            Target::Stay => (0, "", false),
            Target::Extend { branch, .. } => (1, branch.as_str(), false),
            Target::Fork { name: ForkName::Exact(name), activate, .. } => {
                (2, name.as_str(), *activate)
            }
            Target::Fork { name: ForkName::NextVersionOf(base), activate, .. } => {
                (3, base.as_str(), *activate)
            }
            Target::Graft { branch, .. } => (4, branch.as_str(), false),
        };
        hash.number(kind).bytes(branch).number(activate.into());
        hash.option(self.base().map(MessageId::as_str));
        for nodes in [&self.nodes, &self.amendments] {
            hash.number(nodes.len() as u64);
            for node in nodes {
                hash.bytes(&node.id).encoded(node.body());
            }
        }
        hash.number(self.fragments.len() as u64);
        for fragment in &self.fragments {
            hash.option(fragment.id.as_ref().map(FragmentId::as_str)).encoded(&fragment.body);
            hash.metadata(&fragment.metadata);
        }
        if !self.redactions.is_empty() {
            // Hashed only if there are redactions, so that digests of other commits stay as they
            // were before redactions were introduced.
            hash.number(u64::MAX).number(self.redactions.len() as u64);
            for node in &self.redactions {
                hash.bytes(&node.id).encoded(node.body());
            }
        }
        if let Some(patch) = &self.patch {
            hash.number(1 + u64::from(patch.title != TitleChange::Keep))
                .option(patch.title.title());
            hash.number(patch.remove.len() as u64);
            patch.remove.iter().for_each(|key| {
                hash.bytes(key);
            });
            hash.metadata(&patch.set).metadata(&patch.add);
        }
        hash.0.finalize().into()
    }
}

/// A hasher that delimits its fields, so that two different lists of fields never hash the same
/// bytes.
struct Digest(blake3::Hasher);

impl Digest {
    fn number(&mut self, n: u64) -> &mut Self {
        self.0.update(&n.to_le_bytes());
        self
    }

    fn bytes(&mut self, bytes: impl AsRef<str>) -> &mut Self {
        self.raw(bytes.as_ref().as_bytes())
    }

    fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
        self
    }

    fn option(&mut self, text: Option<&str>) -> &mut Self {
        self.number(text.is_some().into()).bytes(text.unwrap_or_default())
    }

    fn encoded(&mut self, encoded: &Encoded) -> &mut Self {
        self.bytes(encoded.kind()).number(encoded.version().into()).raw(encoded.bytes())
    }

    fn metadata(&mut self, metadata: &Metadata) -> &mut Self {
        self.number(metadata.iter().count() as u64);
        for (key, value) in metadata.iter() {
            self.bytes(key).bytes(value.as_str());
        }
        self
    }
}

/// A branch of a chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Branch {
    /// The name.
    pub name: BranchName,
    /// The newest message. `None` for a branch without messages.
    pub head: Option<MessageId>,
    /// Number of nodes on the branch's chain.
    pub length: u64,
    /// Whether this is the active branch.
    pub active: bool,
    /// The creation time.
    pub created_at: Timestamp,
}

impl Branch {
    /// Creates a branch.
    pub fn new(
        name: BranchName,
        head: Option<MessageId>,
        length: u64,
        active: bool,
        created_at: Timestamp,
    ) -> Self {
        Self { name, head, length, active, created_at }
    }
}

/// A named pointer to a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The name.
    pub name: CheckpointName,
    /// The message that the checkpoint points to.
    pub message: MessageId,
    /// The time when the checkpoint was set to this message.
    pub created_at: Timestamp,
}

impl Checkpoint {
    /// Creates a checkpoint.
    pub fn new(name: CheckpointName, message: MessageId, created_at: Timestamp) -> Self {
        Self { name, message, created_at }
    }
}

/// An earlier version of an amended message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Revision {
    /// The earlier version of the message; [`Node::revision`] is its number.
    pub node: Arc<Node>,
    /// The time when it was replaced.
    pub replaced_at: Timestamp,
}

impl Revision {
    /// Creates a revision from the replaced message.
    pub fn new(node: impl Into<Arc<Node>>, replaced_at: Timestamp) -> Self {
        Self { node: node.into(), replaced_at }
    }
}

/// A context fragment as a store keeps it: the encoded body, the id and the metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFragment {
    /// The id, if the fragment has one.
    pub id: Option<FragmentId>,
    /// Additional metadata, which is never rendered.
    pub metadata: Metadata,
    /// The encoded body.
    pub body: Encoded,
}

impl StoredFragment {
    /// Refuses a persisted fragment that is too large or has an invalid id.
    pub fn check(&self, operation: &'static str) -> crate::Result<()> {
        self.id.iter().try_for_each(|id| limits::check_id(operation, "fragment", id.as_str()))?;
        limits::check_id(operation, "fragment kind", self.body.kind())?;
        let bytes = sealed::form_length(&self.body);
        limits::check_length(operation, "fragment", bytes, limits::MAX_BODY_BYTES)?;
        limits::check_metadata(operation, &self.metadata)
    }

    /// Returns whether putting `new` replaces this fragment: both have the same id, or neither has
    /// an id and their bodies are equal.
    pub fn is_replaced_by(&self, new: &Self) -> bool {
        match (&self.id, &new.id) {
            (Some(a), Some(b)) => a == b,
            (None, None) => self.body == new.body,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
