//! A store in a folder of its own, with shortcuts for common calls.

use std::path::PathBuf;
use std::sync::Arc;

use context_core::store::{
    Commit, CommitOutcome, ForkName, HistoryStore, Maintenance, NewChat, Target,
};
use context_core::{
    BranchName, CancelSignal, ChatRef, Message, MessageId, Node, Role, Store, Timestamp,
};
use context_store_sqlite::{SqliteConfig, SqliteStore};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Row};
use tempfile::TempDir;

pub(crate) const T: Timestamp = Timestamp::from_micros(1_000_000);

pub(crate) struct StoreFixture {
    pub(crate) folder: TempDir,
    pub(crate) store: SqliteStore,
}

impl StoreFixture {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(SqliteConfig::new(folder.path().join("s.db"))).await.unwrap();
        Self { folder, store }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("s.db")
    }

    pub(crate) async fn again(&self) -> SqliteStore {
        SqliteStore::open(SqliteConfig::new(self.path())).await.unwrap()
    }

    pub(crate) fn history(&self) -> &dyn HistoryStore {
        self.store.history()
    }

    pub(crate) fn maintenance(&self) -> &dyn Maintenance {
        self.store.maintenance().unwrap()
    }

    /// Opens the file directly, without the store.
    pub(crate) async fn file(&self) -> SqliteConnection {
        SqliteConnectOptions::new().filename(self.path()).connect().await.unwrap()
    }

    /// Returns the single number that a statement selects.
    pub(crate) async fn number(&self, statement: &'static str) -> i64 {
        sqlx::query(statement).fetch_one(&mut self.file().await).await.unwrap().get(0)
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

    pub(crate) async fn fork(&self, chat: &ChatRef, name: &str, at: &str, nodes: Vec<Arc<Node>>) {
        apply(self.history(), fork(chat, name, at, nodes)).await;
    }
}

pub(crate) async fn apply(history: &dyn HistoryStore, commit: Commit) {
    let outcome = history.commit(commit).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Applied(_)), "{outcome:?}");
}

/// Whether a finding contains the expected text or reports a wrong checksum.
pub(crate) fn is_found(problem: &str, expected: &str) -> bool {
    problem.contains(expected) || problem.contains("checksum")
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
    let name = ForkName::Exact(BranchName::from(name));
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
