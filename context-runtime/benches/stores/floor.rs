//! The floors: the same work with the bare library, without owners, idempotency, branches or
//! revisions.

pub(crate) mod postgres;
pub(crate) mod redis;
pub(crate) mod sqlite;

use async_trait::async_trait;
use context_runtime::store::Node;

/// A bare library, with one chat.
#[async_trait(?Send)]
pub(crate) trait Floor {
    /// Appends messages and moves the head, all or nothing.
    async fn append(&self, nodes: &[Node]);

    /// Reads all messages: id, role and text of each.
    async fn scan(&self) -> usize;

    /// Returns the best twenty messages that have all words. `None` if the backend has no search.
    async fn search(&self, words: &[String]) -> Option<usize>;
}

/// Returns id, role and text of a message.
pub(crate) fn columns(node: &Node) -> (&str, &'static str, &str) {
    let text = std::str::from_utf8(node.body().bytes()).unwrap();
    (node.id.as_str(), node.role().unwrap().as_str(), text)
}
