//! A store under a prefix of its own, with shortcuts for common calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use context_conformance::Missing;
use context_core::store::{
    ChainEnd, Commit, CommitOutcome, HistoryStore, Maintenance, NewChat, Target, Window,
};
use context_core::{
    BranchName, CancelSignal, Chain, ChatRef, Message, MessageId, Node, Result, Role, Store,
    Timestamp,
};
use context_servers::{Redis, RedisOptions, ServerError};
use context_store_redis::{RedisConfig, RedisStore};

pub(crate) const T: Timestamp = Timestamp::from_micros(1_000_000);

pub(crate) struct RedisFixture {
    pub(crate) config: RedisConfig,
    pub(crate) store: RedisStore,
}

impl RedisFixture {
    /// Opens a store on the server of the tests. Without one, the test is ignored.
    pub(crate) async fn new() -> Self {
        Self::with(|config| config).await
    }

    pub(crate) async fn with(change: impl FnOnce(RedisConfig) -> RedisConfig) -> Self {
        Self::at(&context_conformance::server_url("CONTEXT_TEST_REDIS_URL"), change).await
    }

    /// Opens a store on a server of its own, for tests that would affect other users of a server.
    /// If none can be started, the test is ignored.
    pub(crate) async fn alone() -> (Redis, Self) {
        Self::alone_with(RedisOptions::new(), |config| config).await
    }

    /// Opens a store on a server of its own with these options.
    pub(crate) async fn alone_with(
        options: RedisOptions,
        change: impl FnOnce(RedisConfig) -> RedisConfig,
    ) -> (Redis, Self) {
        let _wanted = context_conformance::server_url("CONTEXT_TEST_REDIS_URL");
        let server = Redis::start(options).unwrap_or_else(|error| absent(error));
        let fixture = Self::at(&server.url(), change).await;
        (server, fixture)
    }

    async fn at(url: &str, change: impl FnOnce(RedisConfig) -> RedisConfig) -> Self {
        static LABS: AtomicU32 = AtomicU32::new(0);
        let n = LABS.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("life-{}-{n}:", std::process::id());
        let config = change(RedisConfig::from_url(url).unwrap().prefix(prefix));
        let store = RedisStore::open(config.clone()).await.unwrap();
        Self { config, store }
    }

    pub(crate) async fn again(&self) -> RedisStore {
        RedisStore::open(self.config.clone()).await.unwrap()
    }

    pub(crate) fn history(&self) -> &dyn HistoryStore {
        self.store.history()
    }

    pub(crate) fn maintenance(&self) -> &dyn Maintenance {
        self.store.maintenance().unwrap()
    }

    /// Opens a connection to the server, without the store.
    pub(crate) fn server(&self) -> redis::Connection {
        redis::Client::open(self.config.nodes[0].as_str()).unwrap().get_connection().unwrap()
    }

    /// Returns the keys of this store with this suffix.
    pub(crate) fn keys(&self, end: &str) -> Vec<String> {
        let mut pattern = self.config.prefix.replace(['*', '?', '['], "?");
        pattern.push('*');
        pattern.push_str(end);
        let mut keys: Vec<String> =
            redis::cmd("KEYS").arg(pattern).query(&mut self.server()).unwrap();
        keys.retain(|key| key.starts_with(&self.config.prefix));
        keys
    }

    /// Returns the key of the only chat.
    pub(crate) fn chat_key(&self) -> String {
        let keys = self.keys(":chat2");
        assert_eq!(keys.len(), 1, "{keys:?}");
        keys.into_iter().next().unwrap()
    }

    pub(crate) async fn create(&self, user: &str, chat: &str) -> ChatRef {
        let chat = ChatRef::new(user, chat);
        let _ = self.history().create_chat(NewChat::new(chat.clone(), T)).await.unwrap();
        chat
    }

    pub(crate) async fn problems(&self) -> Vec<String> {
        let report = self.maintenance().check(&CancelSignal::never()).await.unwrap();
        report.findings.iter().map(ToString::to_string).collect()
    }

    pub(crate) async fn extend(
        &self,
        chat: &ChatRef,
        branch: &str,
        expected: &str,
        nodes: Vec<Arc<Node>>,
    ) {
        apply(self.history(), extend(chat, branch, expected, nodes)).await;
    }

    pub(crate) async fn whole(&self, chat: &ChatRef, branch: &str) -> Result<Chain> {
        self.history().chain(chat, &ChainEnd::Branch(branch.into()), &Window::Whole).await
    }
}

/// Ends the test because its own server did not start: ignored if none is installed.
pub(crate) fn absent(error: ServerError) -> ! {
    match error {
        ServerError::NotInstalled { .. } => Missing::new(error.to_string()).ignore_test(),
        error => panic!("{error}"),
    }
}

impl Drop for RedisFixture {
    fn drop(&mut self) {
        let keys = self.keys("");
        if !keys.is_empty() {
            let _gone: u64 = redis::cmd("UNLINK").arg(keys).query(&mut self.server()).unwrap();
        }
    }
}

pub(crate) async fn apply(history: &dyn HistoryStore, commit: Commit) {
    let outcome = history.commit(commit).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Applied(_)), "{outcome:?}");
}

/// Returns an id, or `None` for an empty text.
pub(crate) fn some(id: &str) -> Option<MessageId> {
    (!id.is_empty()).then(|| id.into())
}

pub(crate) fn stay(chat: &ChatRef) -> Commit {
    Commit::new(chat.clone(), Target::Stay, T)
}

pub(crate) fn extend(
    chat: &ChatRef,
    branch: &str,
    expected: &str,
    nodes: Vec<Arc<Node>>,
) -> Commit {
    let target = Target::Extend { branch: branch.into(), expected: some(expected) };
    Commit { nodes, ..Commit::new(chat.clone(), target, T) }
}

pub(crate) fn fork(chat: &ChatRef, name: &str, at: &str, nodes: Vec<Arc<Node>>) -> Commit {
    let name = context_core::store::ForkName::Exact(BranchName::from(name));
    let target = Target::Fork { name, at: some(at), activate: false };
    Commit { nodes, ..Commit::new(chat.clone(), target, T) }
}

pub(crate) fn says(id: impl Into<MessageId>, text: &str) -> Arc<Node> {
    Arc::new(Node::new(id, Message::text(Role::User, text), T))
}

/// Returns the messages `<prefix>0`, `<prefix>1`, ….
pub(crate) fn many(prefix: &str, n: usize) -> Vec<Arc<Node>> {
    (0..n).map(|i| says(format!("{prefix}{i}"), &format!("text {i} of {prefix}"))).collect()
}

pub(crate) fn ids(chain: &Chain) -> Vec<String> {
    chain.iter().map(|node| node.id.to_string()).collect()
}
