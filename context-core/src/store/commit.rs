//! The write contract: what one commit holds and what becomes of it.

use crate::Error;
use crate::base::limits;
use crate::base::sealed;
use std::collections::HashSet;
use std::sync::Arc;

use serde::Serialize;

use crate::base::{CheckpointName, CommitKey, FragmentId};
use crate::store::ChatPatch;
use crate::{BranchName, ChatRef, Encoded, MessageId, Metadata, Node, Timestamp};

/// Everything that is written together, or not at all.
///
/// ```
/// use context_core::{ChatRef, Message, Node, Timestamp};
/// use context_store_kit::ChatState;
/// use context_core::store::{Chat, Commit, CommitOutcome, NewChat, Target};
///
/// let (trip, now) = (ChatRef::new("ada", "trip"), Timestamp::default());
/// let mut chat = ChatState::new(Chat::new(NewChat::new(trip.clone(), now)), 1);
/// let first = |id: &str| {
///     let target = Target::Extend { branch: "main".into(), expected: None };
///     let nodes = vec![Node::new(id, Message::from("hi"), now).into()];
///     Commit { nodes, ..Commit::new(trip.clone(), target, now) }
/// };
/// assert!(matches!(chat.commit(first("a"))?, CommitOutcome::Applied(_)));
/// assert!(matches!(chat.commit(first("a"))?, CommitOutcome::Replayed(_))); // sent twice, counts once
/// let late = chat.commit(first("b"))?; // by somebody who has not seen `a`
/// assert_eq!(late, CommitOutcome::Conflict { actual: Some("a".into()) });
/// # Ok::<(), context_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Commit {
    /// Where.
    pub chat: ChatRef,
    /// Which branch moves, and on what condition.
    pub target: Target,
    /// New messages, oldest first: the first follows what the target says, each other the one
    /// before it.
    pub nodes: Vec<Arc<Node>>,
    /// New bodies for stored messages, by id. Place and head stay; the earlier revision is kept.
    pub amendments: Vec<Arc<Node>>,
    /// New bodies for stored messages whose old ones must go: as an amendment, but nothing of what
    /// was there is kept, and earlier revisions go too. What is left in pages the backend has
    /// freed, its own [`Maintenance::vacuum`](crate::store::Maintenance::vacuum) clears.
    pub redactions: Vec<Arc<Node>>,
    /// Context fragments to keep with the chat, as
    /// [`FragmentStore::put_fragments`](crate::store::FragmentStore) does.
    pub fragments: Vec<StoredFragment>,
    /// A change of title and metadata.
    pub patch: Option<ChatPatch>,
    /// Makes the commit safe to repeat: a second one with the same key and content is
    /// [`CommitOutcome::Replayed`], one with other content is refused. Keys are remembered with the
    /// chat.
    ///
    /// A commit that extends a branch by new messages is safe to repeat without a key: its
    /// messages' ids tell.
    pub key: Option<CommitKey>,
    /// Now.
    pub at: Timestamp,
}

/// Which branch a commit moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// None: only amendments, redactions, fragments or the patch.
    Stay,
    /// The head of `branch` moves to the last new message, if it still is `expected`. Without new
    /// messages this only checks.
    Extend {
        /// The branch, which exists.
        branch: BranchName,
        /// The head the caller saw; nothing for a branch without messages.
        expected: Option<MessageId>,
    },
    /// A new branch.
    Fork {
        /// What it is called.
        name: ForkName,
        /// The message it begins behind; nothing for a new root.
        at: Option<MessageId>,
        /// Whether it becomes the active branch.
        activate: bool,
    },
}

/// What a new branch is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForkName {
    /// This; a conflict if it is taken.
    Exact(BranchName),
    /// `<base>-v<k>` with the lowest free `k` from 2, chosen inside the transaction. Refused if
    /// that is longer than a name may be.
    NextVersionOf(BranchName),
}

impl ForkName {
    /// The name it is or is derived from.
    pub fn base(&self) -> &BranchName {
        match self {
            Self::Exact(name) | Self::NextVersionOf(name) => name,
        }
    }

    /// The name to use, given which names are taken; nothing if the exact one is.
    pub fn choose(&self, taken: impl Fn(&BranchName) -> bool) -> Option<BranchName> {
        match self {
            Self::Exact(name) => (!taken(name)).then(|| name.clone()),
            Self::NextVersionOf(base) => (2..).map(|k| base.version(k)).find(|name| !taken(name)),
        }
    }
}

/// What became of deleting a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub enum BranchDeletion {
    /// It is gone, and with it this many messages that nothing else reached.
    Deleted {
        /// How many.
        messages: u64,
    },
    /// Nothing was deleted: the branch is elsewhere.
    Conflict {
        /// Its head.
        actual: Option<MessageId>,
    },
}

/// What became of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub enum CommitOutcome {
    /// It was written.
    Applied(Committed),
    /// It had been written before; nothing was written now.
    Replayed(Committed),
    /// Nothing was written: the branch is elsewhere, or the exact name of a new branch is taken.
    Conflict {
        /// The head of that branch.
        actual: Option<MessageId>,
    },
    /// Nothing was written: these new messages have ids that the chat already uses for something
    /// else.
    Exists {
        /// The ids.
        ids: Vec<MessageId>,
    },
}

impl CommitOutcome {
    /// Where the branch was left, if the commit is in the store.
    pub fn committed(self) -> Option<Committed> {
        match self {
            Self::Applied(committed) | Self::Replayed(committed) => Some(committed),
            _ => None,
        }
    }
}

/// Where a commit left its branch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed {
    /// The branch that moved; nothing for [`Target::Stay`].
    pub branch: Option<BranchName>,
    /// Its head right after the commit.
    pub head: Option<MessageId>,
}

impl Committed {
    /// A branch and its head.
    pub fn new(branch: Option<BranchName>, head: Option<MessageId>) -> Self {
        Self { branch, head }
    }
}

impl Commit {
    /// Refuses a commit that is wrong in itself, whatever the store holds.
    pub fn check(&self) -> crate::Result<()> {
        const OPERATION: &str = "commit";
        limits::check_chat(OPERATION, &self.chat)?;
        match &self.target {
            Target::Stay if self.nodes.is_empty() => {}
            Target::Stay => {
                return Err(Error::invalid(OPERATION, "new messages need a branch to go to"));
            }
            Target::Extend { branch, expected } => {
                limits::check_id(OPERATION, "branch", branch.as_str())?;
                expected
                    .iter()
                    .try_for_each(|id| limits::check_id(OPERATION, "expected", id.as_str()))?;
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

    /// An empty commit.
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
            at,
        }
    }

    /// What new messages follow: the expected head or the place of the fork.
    pub fn base(&self) -> Option<&MessageId> {
        match &self.target {
            Target::Stay => None,
            Target::Extend { expected: base, .. } | Target::Fork { at: base, .. } => base.as_ref(),
        }
    }

    /// A hash of what is written and where, without the times: what tells a repeated commit from
    /// another one with the same key. The same in every process and version of this crate.
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
            // Only where there are some: digests of other commits are as they were before there
            // were redactions.
            hash.number(u64::MAX).number(self.redactions.len() as u64);
            for node in &self.redactions {
                hash.bytes(&node.id).encoded(node.body());
            }
        }
        if let Some(patch) = &self.patch {
            let title = patch.title.as_ref();
            hash.number(1 + u64::from(title.is_some()))
                .option(title.and_then(|title| title.as_deref()));
            hash.number(patch.remove.len() as u64);
            patch.remove.iter().for_each(|key| {
                hash.bytes(key);
            });
            hash.metadata(&patch.set).metadata(&patch.add);
        }
        hash.0.finalize().into()
    }
}

/// Hashes fields so that no two lists of fields run into each other.
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
    /// Its name.
    pub name: BranchName,
    /// Its newest message; nothing while it has none.
    pub head: Option<MessageId>,
    /// How many nodes its chain has.
    pub length: u64,
    /// Whether it is the one that is worked on.
    pub active: bool,
    /// When it was created.
    pub created_at: Timestamp,
}

impl Branch {
    /// A branch.
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
    /// Its name.
    pub name: CheckpointName,
    /// Where it points.
    pub message: MessageId,
    /// When it was set there.
    pub created_at: Timestamp,
}

impl Checkpoint {
    /// A checkpoint.
    pub fn new(name: CheckpointName, message: MessageId, created_at: Timestamp) -> Self {
        Self { name, message, created_at }
    }
}

/// What a message was before it was amended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Revision {
    /// The message as it was; [`Node::revision`] counts.
    pub node: Arc<Node>,
    /// When it was replaced.
    pub replaced_at: Timestamp,
}

impl Revision {
    /// A replaced message.
    pub fn new(node: impl Into<Arc<Node>>, replaced_at: Timestamp) -> Self {
        Self { node: node.into(), replaced_at }
    }
}

/// A context fragment as it is stored: what its codec wrote, and what stands beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFragment {
    /// Its id, if it has one.
    pub id: Option<FragmentId>,
    /// Facts beside it.
    pub metadata: Metadata,
    /// The stored form.
    pub body: Encoded,
}

impl StoredFragment {
    /// Refuses a persisted fragment that is too large or has a bad id.
    pub fn check(&self, operation: &'static str) -> crate::Result<()> {
        self.id.iter().try_for_each(|id| limits::check_id(operation, "fragment", id.as_str()))?;
        limits::check_id(operation, "fragment kind", self.body.kind())?;
        let bytes = sealed::form_length(&self.body);
        limits::check_length(operation, "fragment", bytes, limits::MAX_BODY_BYTES)?;
        limits::check_metadata(operation, &self.metadata)
    }

    /// Whether putting `new` replaces this one: the same id, or no id on both and the same content.
    pub fn is_replaced_by(&self, new: &Self) -> bool {
        match (&self.id, &new.id) {
            (Some(a), Some(b)) => a == b,
            (None, None) => self.body == new.body,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, Role};

    #[test]
    fn the_lowest_free_version_is_chosen() {
        let main = BranchName::main();
        let taken = [main.clone(), main.version(3), "main-vacation".into()];
        let name = |fork: ForkName| fork.choose(|name| taken.contains(name));
        assert_eq!(name(ForkName::NextVersionOf(main.clone())), Some(main.version(2)));
        assert_eq!(name(ForkName::NextVersionOf(main.version(3))), Some("main-v3-v2".into()));
        assert_eq!(name(ForkName::Exact(main)), None);
    }

    #[test]
    fn the_digest_tells_contents_apart_and_ignores_the_time() {
        let node = |text: &str, at| {
            Arc::new(Node::new("m", Message::text(Role::User, text), Timestamp::from_micros(at)))
        };
        let commit = |text: &str, at| Commit {
            nodes: vec![node(text, at)],
            ..Commit::new(ChatRef::new("u", "c"), Target::Stay, Timestamp::from_micros(at))
        };
        assert_eq!(commit("a", 1).digest(), commit("a", 2).digest());
        assert_ne!(commit("a", 1).digest(), commit("b", 1).digest());
        let amended =
            Commit { amendments: vec![node("a", 1)], nodes: Vec::new(), ..commit("a", 1) };
        let redacted =
            Commit { redactions: vec![node("a", 1)], nodes: Vec::new(), ..commit("a", 1) };
        assert_ne!(amended.digest(), commit("a", 1).digest());
        assert_ne!(amended.digest(), redacted.digest());
    }
}
