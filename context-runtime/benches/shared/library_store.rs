//! The measured work with this library, on any store.

use std::sync::Arc;

use context_runtime::{
    ChatRef, ContextEngineBuilder, MessageId, Store, Timestamp,
    fragments::Encoded,
    store::{
        Chain, ChainEnd, ChatQuery, Commit, CommitOutcome, Cursor, ForkName, NewChat, Node,
        NodeKind, SearchQuery, SearchScope, Target, Window,
    },
};

use crate::data;

/// The user whose chats are measured.
pub(crate) const USER: &str = "user";

/// A handle to a store. Clones are handles to the same one.
#[derive(Clone)]
pub(crate) struct LibraryStore {
    store: Arc<dyn Store>,
}

fn extend(expected: Option<MessageId>) -> Target {
    Target::Extend { branch: "main".into(), expected }
}

fn commit(chat: &ChatRef, target: Target) -> Commit {
    Commit::new(chat.clone(), target, Timestamp::from_micros(1))
}

/// Returns a chat of the measured user.
pub(crate) fn chat(name: impl std::fmt::Display) -> ChatRef {
    ChatRef::new(USER, name.to_string())
}

impl LibraryStore {
    pub(crate) async fn open(url: &str) -> Self {
        Self { store: context_runtime::open(url).await.unwrap() }
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    async fn commit(&self, commit: Commit) -> MessageId {
        match self.store.history().commit(commit).await.unwrap() {
            CommitOutcome::Applied(committed) => committed.head.unwrap(),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn create_chat(&self, chat: &ChatRef) {
        let new = NewChat::new(chat.clone(), Timestamp::from_micros(0));
        let _created = self.store.history().create_chat(new).await.unwrap();
    }

    pub(crate) async fn append(
        &self,
        chat: &ChatRef,
        head: &MessageId,
        nodes: &[Node],
    ) -> MessageId {
        let nodes = nodes.iter().map(|node| Arc::new(node.clone())).collect();
        self.commit(Commit { nodes, ..commit(chat, extend(Some(head.clone()))) }).await
    }

    /// Creates a chat of `n` messages, written as an import writes them.
    pub(crate) async fn fill(&self, chat: &ChatRef, n: usize) -> MessageId {
        self.fill_in_steps(chat, n, 10_000).await
    }

    /// Creates the same, written as a conversation: two messages per commit. Only the end of a very
    /// long one is written that way.
    pub(crate) async fn fill_by_turns(&self, chat: &ChatRef, n: usize) -> MessageId {
        const TURNS: usize = 100_000;
        if n <= TURNS {
            return self.fill_in_steps(chat, n, 2).await;
        }
        let head = self.fill(chat, n - TURNS).await;
        self.extend_in_steps(chat, Some(head), n - TURNS..n, 2).await
    }

    async fn fill_in_steps(&self, chat: &ChatRef, n: usize, step: usize) -> MessageId {
        self.create_chat(chat).await;
        self.extend_in_steps(chat, None, 0..n, step).await
    }

    async fn extend_in_steps(
        &self,
        chat: &ChatRef,
        mut head: Option<MessageId>,
        range: std::ops::Range<usize>,
        step: usize,
    ) -> MessageId {
        for first in range.clone().step_by(step) {
            let nodes =
                (first..range.end.min(first + step)).map(|i| Arc::new(data::node(i))).collect();
            head = Some(self.commit(Commit { nodes, ..commit(chat, extend(head)) }).await);
        }
        head.unwrap()
    }

    /// Creates a chat of `n` messages with a boundary before the last `kept`.
    pub(crate) async fn fill_with_boundary(&self, chat: &ChatRef, n: usize, kept: usize) {
        let head = self.fill(chat, n - kept).await;
        let (id, body) = (MessageId::from("boundary"), Encoded::new("cut", 1, "{}"));
        let cut = Node::from_encoded(id, NodeKind::Boundary, Timestamp::from_micros(1), body);
        let head = self.append(chat, &head, &[cut]).await;
        self.extend_in_steps(chat, Some(head), n - kept..n, 2).await;
    }

    /// Creates a branch that forks from `main` after its first `at` messages and is `n` long.
    pub(crate) async fn fork_and_fill(&self, chat: &ChatRef, at: usize, n: usize) {
        let name = ForkName::Exact("main-v2".into());
        let target = Target::Fork { name, at: Some(data::id(at - 1).into()), activate: false };
        let nodes = (at..n).map(|i| Arc::new(data::node(i).with_id(format!("fork-{i}")))).collect();
        self.commit(Commit { nodes, key: Some("fork".into()), ..commit(chat, target) }).await;
    }

    pub(crate) async fn load(&self, chat: &ChatRef, branch: &str, window: &Window) -> Chain {
        let end = ChainEnd::Branch(branch.into());
        self.store.history().chain(chat, &end, window).await.unwrap()
    }

    /// Returns the builder of a chat's engine.
    pub(crate) fn engine(&self, chat: &ChatRef) -> ContextEngineBuilder {
        context_runtime::ContextEngine::builder(Arc::clone(&self.store))
            .user(chat.user.clone())
            .chat(chat.chat.clone())
    }

    pub(crate) async fn delete(&self, chat: &ChatRef) {
        assert!(self.store.history().delete_chat(chat, None).await.unwrap());
    }

    /// Returns a page of the user's chats.
    pub(crate) async fn page(
        &self,
        limit: usize,
        after: Option<Cursor>,
    ) -> (usize, Option<Cursor>) {
        let query = ChatQuery { limit, after, ..ChatQuery::new(USER) };
        let page = self.store.history().list_chats(&query).await.unwrap();
        (page.items.len(), page.next)
    }

    /// Returns how many hits the first page of a search has.
    pub(crate) async fn search(&self, scope: SearchScope, text: &str) -> usize {
        let query = SearchQuery { scope, ..SearchQuery::new(USER, text) };
        let found = self.store.search().unwrap().search(&query).await.unwrap();
        found.items.len()
    }
}
