//! Data that the tests put into stores.

use std::sync::Arc;

use context_core::message::NodeKind;
use context_core::store::{ChainEnd, Commit, CommitOutcome, NewChat, StoredFragment, Target};
use context_core::{
    BranchName, ChatRef, Encoded, IdGenerator, Message, Metadata, Node, Role, Store, Timestamp,
};

pub(crate) fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

pub(crate) fn chat() -> ChatRef {
    ChatRef::new("ada", "trip")
}

pub(crate) fn says(id: &str, text: &str) -> Arc<Node> {
    Arc::new(Node::new(id, Message::text(Role::User, text), at(5)))
}

pub(crate) fn boundary(id: &str) -> Arc<Node> {
    Arc::new(Node::from_encoded(
        id.into(),
        NodeKind::Boundary,
        at(5),
        Encoded::new("cut", 1, "here"),
    ))
}

pub(crate) fn extend(branch: &str, expected: Option<&str>, nodes: Vec<Arc<Node>>) -> Commit {
    let target = Target::Extend { branch: branch.into(), expected: expected.map(Into::into) };
    Commit { nodes, ..Commit::new(chat(), target, at(7)) }
}

pub(crate) fn stay() -> Commit {
    Commit::new(chat(), Target::Stay, at(7))
}

pub(crate) fn fragment(id: &str, text: &str) -> StoredFragment {
    StoredFragment {
        id: Some(id.into()),
        metadata: Metadata::default(),
        body: Encoded::new("fragment", 1, text.to_owned()),
    }
}

pub(crate) fn branch(name: &str) -> ChainEnd {
    ChainEnd::Branch(BranchName::from(name))
}

/// Creates a chat with these messages on `main`.
pub(crate) async fn begin(store: &dyn Store, messages: &[&str]) {
    let _created = store.history().create_chat(NewChat::new(chat(), at(1))).await.unwrap();
    if !messages.is_empty() {
        let nodes = messages.iter().map(|id| says(id, "words")).collect();
        applied(store, extend("main", None, nodes)).await;
    }
}

#[track_caller]
pub(crate) fn is_applied(outcome: &CommitOutcome) {
    assert!(matches!(outcome, CommitOutcome::Applied(_)), "{outcome:?}");
}

pub(crate) async fn applied(store: &dyn Store, commit: Commit) {
    is_applied(&store.history().commit(commit).await.unwrap());
}

/// Generates ids that count up.
#[derive(Debug, Default)]
pub(crate) struct Numbers(std::sync::atomic::AtomicU64);

impl IdGenerator for Numbers {
    fn next_id(&self) -> String {
        format!("id-{}", self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
    }
}
