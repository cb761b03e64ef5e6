//! The work as this library does it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use context_runtime::{
    Chain, ChainEnd, ChatRef, Commit, CommitOutcome, ContextEngine, ForkName, Message, MessageId, NewChat,
    Node, Role, Store, Target, Timestamp, Window, assistant, user,
};

pub(crate) struct Ours {
    store: Arc<dyn Store>,
    path: PathBuf,
}

/// A message of 400 bytes of text; user and assistant take turns.
pub(crate) fn node(i: usize) -> Node {
    let role = if i.is_multiple_of(2) { Role::User } else { Role::Assistant };
    Node::new(id(i), Message::text(role, text(i)), Timestamp::from_micros(i as i64))
}

/// What a UUID of version 7 looks like: new ones sort behind old ones.
fn id(i: usize) -> String {
    format!(
        "01920000-{:04x}-7{:03x}-9{:03x}-{:012x}",
        i >> 12,
        i & 0xfff,
        (i * 7) & 0xfff,
        i.wrapping_mul(0x9E37_79B9)
    )
}

fn text(i: usize) -> String {
    let words = "please look at the failing build and say which of the migrations introduced the regression ";
    let mut text = format!("Message {i}: {}", words.repeat(5));
    text.truncate(400);
    text
}

fn chat_ref(chat: &str) -> ChatRef {
    ChatRef::new("user", chat)
}

fn commit(chat: &str, target: Target) -> Commit {
    Commit::new(chat_ref(chat), target, Timestamp::from_micros(1))
}

fn extend(expected: Option<MessageId>) -> Target {
    Target::Extend { branch: "main".into(), expected }
}

impl Ours {
    pub(crate) async fn create(path: &Path) -> Self {
        let store = context_runtime::open(&format!("sqlite:{}", path.display())).await.unwrap();
        Self { store, path: path.to_owned() }
    }

    async fn commit(&self, commit: Commit) -> MessageId {
        match self.store.history().commit(commit).await.unwrap() {
            CommitOutcome::Applied(committed) => committed.head.unwrap(),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn append(&self, chat: &str, head: &MessageId, nodes: &[Node]) -> MessageId {
        let nodes = nodes.iter().map(|node| Arc::new(node.clone())).collect();
        self.commit(Commit { nodes, ..commit(chat, extend(Some(head.clone()))) }).await
    }

    /// A new chat of `n` messages, written as an import writes them.
    pub(crate) async fn fill(&self, chat: &str, n: usize) -> MessageId {
        self.fill_in_steps(chat, n, 1_000).await
    }

    /// The same, written as a conversation is: two messages a commit.
    pub(crate) async fn fill_by_turns(&self, chat: &str, n: usize) -> MessageId {
        self.fill_in_steps(chat, n, 2).await
    }

    async fn fill_in_steps(&self, chat: &str, n: usize, step: usize) -> MessageId {
        let new = NewChat::new(chat_ref(chat), Timestamp::from_micros(0));
        let _created = self.store.history().create_chat(new).await.unwrap();
        let mut head = None;
        for first in (0..n).step_by(step) {
            let nodes = (first..n.min(first + step)).map(|i| Arc::new(node(i))).collect();
            head = Some(self.commit(Commit { nodes, ..commit(chat, extend(head)) }).await);
        }
        head.unwrap()
    }

    /// A branch that leaves `main` behind its first `at` messages and is `n` long.
    pub(crate) async fn fork_and_fill(&self, chat: &str, at: usize, n: usize) {
        let name = ForkName::Exact("main-v2".into());
        let target = Target::Fork { name, at: Some(id(at - 1).into()), activate: false };
        let nodes = (at..n).map(|i| Arc::new(node(i).with_id(format!("fork-{i}")))).collect();
        self.commit(Commit { nodes, key: Some("fork".into()), ..commit(chat, target) }).await;
    }

    pub(crate) async fn load(&self, chat: &str, branch: &str) -> Chain {
        let end = ChainEnd::Branch(branch.into());
        self.store.history().chain(&chat_ref(chat), &end, &Window::Whole).await.unwrap()
    }

    /// An engine that has read its branch.
    pub(crate) async fn engine(&self, chat: &str) -> ContextEngine {
        let builder = ContextEngine::builder(Arc::clone(&self.store)).user("user").chat(chat);
        let mut engine = builder.open().await.unwrap();
        turns(&mut engine, 1).await;
        engine
    }

    /// Folds the log into the file, so that no later row pays for what was written before it.
    pub(crate) fn checkpoint(&self) {
        let other = rusqlite::Connection::open(&self.path).unwrap();
        other.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.checkpoint();
        std::fs::metadata(&self.path).unwrap().len()
    }
}

/// Turns as an agent loop takes them.
pub(crate) async fn turns(engine: &mut ContextEngine, turns: usize) {
    for i in 0..turns {
        engine.set([user(text(2 * i))]);
        std::hint::black_box(engine.resolve().await.unwrap());
        engine.set([assistant(text(2 * i + 1))]);
        let _saved = engine.save().await.unwrap();
    }
}
