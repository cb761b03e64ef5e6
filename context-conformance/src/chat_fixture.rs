//! Fixture for one chat: terse writes and reads, so that a case is a few readable lines.

use std::sync::Arc;

use context_core::message::NodeKind;
use context_core::store::{
    Branch, ChainEnd, Chat, Commit, CommitOutcome, Committed, ForkName, FragmentStore,
    HistoryStore, NewChat, StoredFragment, Target, Window,
};
use context_core::{
    BranchName, Chain, ChatRef, Encoded, Message, MessageId, Metadata, Node, Role, Store, Timestamp,
};

use crate::environment::FixedClock;
use crate::expect::{applied, same};
use crate::verdict::Check;

/// A chat of a user in a store, with a clock that ticks at every write.
#[derive(Clone)]
pub(crate) struct ChatFixture {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) chat: ChatRef,
    clock: Arc<FixedClock>,
}

impl ChatFixture {
    pub(crate) fn new(store: Arc<dyn Store>, user: &str, chat: &str) -> Self {
        let clock = Arc::new(FixedClock::at(1_700_000_000_000_000));
        Self { store, chat: ChatRef::new(user, chat), clock }
    }

    /// Returns another chat of the same store and clock.
    pub(crate) fn other(&self, user: &str, chat: &str) -> Self {
        Self { chat: ChatRef::new(user, chat), ..self.clone() }
    }

    /// Returns the same chat with a reset clock.
    pub(crate) fn anew(&self) -> Self {
        Self::new(Arc::clone(&self.store), self.chat.user.as_str(), self.chat.chat.as_str())
    }

    /// Returns the same chat through another handle.
    pub(crate) fn through(&self, store: Arc<dyn Store>) -> Self {
        Self { store, ..self.clone() }
    }

    pub(crate) fn history(&self) -> &dyn HistoryStore {
        self.store.history()
    }

    pub(crate) fn fragments(&self) -> &dyn FragmentStore {
        self.store.fragments()
    }

    /// Returns a new time.
    pub(crate) fn at(&self) -> Timestamp {
        self.clock.tick()
    }

    pub(crate) async fn create(&self) -> Check<Chat> {
        Ok(self
            .history()
            .create_chat(NewChat::new(self.chat.clone(), self.at()))
            .await?
            .into_chat())
    }

    pub(crate) fn stay(&self) -> Commit {
        Commit::new(self.chat.clone(), Target::Stay, self.at())
    }

    /// Builds a commit of new messages on `main` after `expected` (`""` for none).
    pub(crate) fn extend<'a>(
        &self,
        expected: &str,
        ids: impl IntoIterator<Item = &'a str>,
    ) -> Commit {
        self.extend_on("main", expected, ids)
    }

    pub(crate) fn extend_on<'a>(
        &self,
        branch: &str,
        expected: &str,
        ids: impl IntoIterator<Item = &'a str>,
    ) -> Commit {
        let target = Target::Extend { branch: branch.into(), expected: id(expected) };
        self.with(target, ids)
    }

    /// Builds a commit of new messages on `main` by one who saw its head `seen` (`""` for none).
    pub(crate) fn graft<'a>(&self, seen: &str, ids: impl IntoIterator<Item = &'a str>) -> Commit {
        self.graft_on("main", seen, ids)
    }

    pub(crate) fn graft_on<'a>(
        &self,
        branch: &str,
        seen: &str,
        ids: impl IntoIterator<Item = &'a str>,
    ) -> Commit {
        self.with(Target::Graft { branch: branch.into(), seen: id(seen) }, ids)
    }

    /// Builds a commit of a new branch after `at` (`""` for none), not activated.
    pub(crate) fn fork<'a>(
        &self,
        name: &str,
        at: &str,
        ids: impl IntoIterator<Item = &'a str>,
    ) -> Commit {
        let name = ForkName::Exact(name.into());
        self.with(Target::Fork { name, at: id(at), activate: false }, ids)
    }

    /// Builds a commit of the next version of a branch after `at`.
    pub(crate) fn next_version(&self, base: &str, at: &str) -> Commit {
        let name = ForkName::NextVersionOf(base.into());
        self.with(Target::Fork { name, at: id(at), activate: false }, [])
    }

    fn with<'a>(&self, target: Target, ids: impl IntoIterator<Item = &'a str>) -> Commit {
        let nodes = ids.into_iter().map(message).collect();
        Commit { nodes, ..Commit::new(self.chat.clone(), target, self.at()) }
    }

    pub(crate) async fn commit(&self, commit: Commit) -> Check<CommitOutcome> {
        Ok(self.history().commit(commit).await?)
    }

    /// Commits, and expects the commit to be applied.
    pub(crate) async fn applied(&self, commit: Commit) -> Check<Committed> {
        let did = format!("a commit to {:?} of {} messages", commit.target, commit.nodes.len());
        applied(did, self.commit(commit).await?)
    }

    /// Commits messages `m0`, `m1`, … to `main`, in commits of at most `per_commit`.
    pub(crate) async fn fill(&self, count: usize, per_commit: usize) -> Check<Vec<String>> {
        let ids: Vec<_> = (0..count).map(|i| format!("m{i}")).collect();
        let mut head = String::new();
        for part in ids.chunks(per_commit) {
            self.applied(self.extend(&head, part.iter().map(String::as_str))).await?;
            head = part.last().cloned().unwrap_or_default();
        }
        Ok(ids)
    }

    pub(crate) async fn read(&self, branch: &str, window: Window) -> Check<Chain> {
        Ok(self.history().chain(&self.chat, &ChainEnd::Branch(branch.into()), &window).await?)
    }

    pub(crate) async fn read_to(&self, message: &str, window: Window) -> Check<Chain> {
        Ok(self.history().chain(&self.chat, &ChainEnd::Message(message.into()), &window).await?)
    }

    pub(crate) async fn whole(&self, branch: &str) -> Check<Chain> {
        self.read(branch, Window::Whole).await
    }

    /// Expects the branch to have exactly these messages.
    pub(crate) async fn expect_chain(&self, branch: &str, expected: &[&str]) -> Check {
        let chain = self.whole(branch).await?;
        same(format!("reading all of {branch:?}"), &ids(&chain), &owned(expected))
    }

    pub(crate) async fn branch(&self, name: &str) -> Check<Option<Branch>> {
        let branches = self.history().branches(&self.chat).await?;
        Ok(branches.into_iter().find(|branch| branch.name == *name))
    }

    /// Returns the branches and their heads.
    pub(crate) async fn heads(&self) -> Check<Vec<(BranchName, Option<MessageId>)>> {
        let branches = self.history().branches(&self.chat).await?;
        Ok(branches.into_iter().map(|branch| (branch.name, branch.head)).collect())
    }
}

/// Returns an id, or `None` for the empty text.
pub(crate) fn id(text: &str) -> Option<MessageId> {
    (!text.is_empty()).then(|| text.into())
}

pub(crate) fn owned(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

pub(crate) fn ids(chain: &Chain) -> Vec<String> {
    chain.iter().map(|node| node.id.to_string()).collect()
}

/// Returns a user message with its id in the text.
pub(crate) fn message(id: &str) -> Arc<Node> {
    says(id, &format!("this is {id}"))
}

pub(crate) fn says(id: &str, text: &str) -> Arc<Node> {
    Arc::new(Node::new(id, Message::text(Role::User, text), Timestamp::from_micros(7)))
}

/// Returns a message whose body is these bytes, of an unknown kind.
pub(crate) fn raw(id: &str, bytes: impl Into<Vec<u8>>) -> Arc<Node> {
    let body = Encoded::new("x-raw", 3, bytes.into());
    Arc::new(Node::from_encoded(
        id.into(),
        NodeKind::Message(Role::User),
        Timestamp::from_micros(7),
        body,
    ))
}

/// Returns a boundary.
pub(crate) fn boundary(id: &str) -> Arc<Node> {
    let body = Encoded::new("boundary", 1, &b"{}"[..]);
    Arc::new(Node::from_encoded(id.into(), NodeKind::Boundary, Timestamp::from_micros(7), body))
}

/// Returns a fragment with an id (`""` for none).
pub(crate) fn stored(id: &str, text: &str) -> StoredFragment {
    StoredFragment {
        id: (!id.is_empty()).then(|| id.into()),
        metadata: Metadata::default(),
        body: Encoded::new("x-note", 1, text.as_bytes().to_vec()),
    }
}
