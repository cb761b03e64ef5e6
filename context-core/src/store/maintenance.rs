//! Looking after a store as a whole.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::Path;

use async_trait::async_trait;
use serde::Serialize;

use crate::shown::clean;
use crate::{
    Branch, CancelSignal, Chat, ChatRef, Checkpoint, Cursor, Error, ErrorKind, MessageId, Page,
    Placed, Result, UserId, graph, sealed,
};

/// One thing that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// Where, if it is about one chat.
    pub chat: Option<ChatRef>,
    /// About what: a message, a branch, a table.
    pub about: String,
    /// What is wrong.
    pub problem: String,
}

impl Finding {
    /// Something wrong with `about`.
    pub fn new(
        chat: Option<&ChatRef>,
        about: impl fmt::Display,
        problem: impl Into<String>,
    ) -> Self {
        Self { chat: chat.cloned(), about: about.to_string(), problem: problem.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(chat) = &self.chat {
            write!(f, "{}/{} ", clean(chat.user.as_str()), clean(chat.chat.as_str()))?;
        }
        write!(f, "{}: {}", clean(&self.about), clean(&self.problem))
    }
}

/// What a check looked at and found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CheckReport {
    /// Chats looked at.
    pub chats: u64,
    /// Messages looked at.
    pub messages: u64,
    /// Blobs looked at.
    pub blobs: u64,
    /// Streams looked at.
    pub streams: u64,
    /// Rounds of trajectories looked at.
    pub rounds: u64,
    /// Records of memories looked at.
    pub memories: u64,
    /// What is wrong; empty if all is well.
    pub findings: Vec<Finding>,
}

/// What was erased of a user, and what is left: proof by reading back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[must_use]
#[non_exhaustive]
pub struct Erasure {
    /// Chats that were erased.
    pub chats: u64,
    /// Messages that were erased, on all branches.
    pub messages: u64,
    /// Blobs that were erased.
    pub blobs: u64,
    /// Streams that were erased.
    pub streams: u64,
    /// Rounds of trajectories that were erased.
    pub rounds: u64,
    /// Records of memories that were erased.
    pub memories: u64,
    /// Records of this user, of every kind and in every index, that a search of the whole store
    /// found afterwards. Anything but 0 was written while the user was being erased: erase again.
    pub remaining: u64,
}

impl Erasure {
    /// What was erased, and what was found afterwards.
    pub fn new(chats: u64, messages: u64, remaining: u64) -> Self {
        Self { chats, messages, blobs: 0, streams: 0, rounds: 0, memories: 0, remaining }
    }
}

/// What giving back space has brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Vacuumed {
    /// Bytes the store took before.
    pub before: u64,
    /// Bytes it takes now.
    pub after: u64,
}

impl Vacuumed {
    /// Sizes before and after, in bytes.
    pub fn new(before: u64, after: u64) -> Self {
        Self { before, after }
    }
}

/// Work on a store as a whole, for its operator: not scoped by the user who asks.
#[async_trait]
pub trait Maintenance: Send + Sync {
    /// Checks every invariant: of the backend's own files, of the layout, of indexes, of every
    /// chat's graph ([`check_chat_graph`]), that blobs are what their names say and are referred to
    /// as often as they say, that streams have the chunks they say, that rounds of trajectories are
    /// graphs, and that memories are found by their words. Changes nothing. Asks `cancel` between
    /// chats.
    async fn check(&self, cancel: &CancelSignal) -> Result<CheckReport>;

    /// Erases a user: every chat with all that belongs to it, every round of a trajectory, every
    /// memory, and every trace in the store's files that it can clear (freed pages, logs, indexes).
    /// Then reads back. Asks `cancel` between chats; what was erased until then stays erased.
    async fn erase_user(&self, user: &UserId, cancel: &CancelSignal) -> Result<Erasure>;

    /// Whoever has a chat, a round of a trajectory or a memory, ordered by id, page by page
    /// (`limit` from 1 to [`limits::MAX_PAGE`](crate::limits::MAX_PAGE)).
    /// [`Unsupported`](ErrorKind::Unsupported) where the backend cannot tell.
    async fn users(&self, limit: usize, after: Option<&Cursor>) -> Result<Page<UserId>> {
        let _ = (limit, after);
        Err(Error::new(ErrorKind::Unsupported, "users", "this store does not list its users"))
    }

    /// Gives space that is not used back to the system, and clears what was deleted from it.
    /// [`Unsupported`](ErrorKind::Unsupported) where the backend does this itself or cannot.
    async fn vacuum(&self) -> Result<Vacuumed> {
        Err(Error::new(ErrorKind::Unsupported, "vacuum", "this store has nothing to vacuum"))
    }

    /// Writes one consistent state of the whole store to a new file, while it is in use. The file
    /// is a store that can be opened. [`Invalid`](ErrorKind::Invalid) if the file exists;
    /// [`Unsupported`](ErrorKind::Unsupported) where backups are made by other means.
    async fn backup(&self, to: &Path) -> Result<()> {
        let _ = to;
        Err(Error::new(ErrorKind::Unsupported, "backup", "this store is not backed up into a file"))
    }
}

/// Checks the graph of one chat: ids are unique, parents exist and come first, depths count, no
/// cycles, bodies can be read, heads and checkpoints point at messages, the active branch exists,
/// every message is reached by a branch or a checkpoint.
pub fn check_chat_graph(
    chat: &Chat,
    nodes: &[Placed],
    branches: &[Branch],
    checkpoints: &[Checkpoint],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut report = |about: &dyn fmt::Display, problem: String| {
        findings.push(Finding::new(Some(&chat.chat), about, problem));
    };
    let mut by_id: HashMap<&MessageId, &Placed> = HashMap::with_capacity(nodes.len());
    for placed in nodes {
        let about = format!("message {}", placed.node.id);
        match placed.parent.as_ref().map(|parent| (parent, by_id.get(parent))) {
            None if placed.depth != 0 => {
                report(&about, format!("a root at depth {}", placed.depth))
            }
            Some((parent, None)) => {
                report(&about, format!("parent {parent} does not come before it"))
            }
            Some((_, Some(parent))) if parent.depth + 1 != placed.depth => {
                report(
                    &about,
                    format!("depth {} behind a parent at {}", placed.depth, parent.depth),
                );
            }
            _ => {}
        }
        if by_id.insert(&placed.node.id, placed).is_some() {
            report(&about, "stored twice".to_owned());
        }
        // What is sealed, only the layer that sealed it can judge.
        if placed.node.role().is_some() && placed.node.body().kind() != sealed::KIND {
            match placed.node.message() {
                Err(error) => report(&about, error.to_string()),
                Ok(message) if Some(message.role) != placed.node.role() => {
                    report(
                        &about,
                        format!(
                            "filed as {:?}, but its role is {}",
                            placed.node.kind, message.role
                        ),
                    );
                }
                Ok(_) => {}
            }
        }
    }
    let parent = |id: &MessageId| by_id.get(id).and_then(|placed| placed.parent.as_ref());
    if let Some(id) = graph::find_cycle(nodes.iter().map(|placed| &placed.node.id), parent) {
        report(&format!("message {id}"), "is its own ancestor".to_owned());
    }
    for branch in branches {
        let about = format!("branch {}", branch.name);
        let length = match &branch.head {
            None => Some(0),
            Some(head) => by_id.get(head).map(|placed| placed.depth + 1),
        };
        match length {
            None => report(&about, "its head is no message of the chat".to_owned()),
            Some(length) if length != branch.length => {
                report(&about, format!("says {} messages, has {length}", branch.length));
            }
            Some(_) => {}
        }
    }
    let active: Vec<_> =
        branches.iter().filter(|branch| branch.active).map(|branch| &branch.name).collect();
    if active != [&chat.active] {
        report(&"branches", format!("active is {active:?}, the chat says {:?}", chat.active));
    }
    for checkpoint in checkpoints {
        if !by_id.contains_key(&checkpoint.message) {
            report(
                &format!("checkpoint {}", checkpoint.name),
                "points at no message of the chat".to_owned(),
            );
        }
    }
    let heads = branches.iter().filter_map(|branch| branch.head.as_ref());
    let ends = heads.chain(checkpoints.iter().map(|checkpoint| &checkpoint.message));
    let mut reached: HashSet<&MessageId> = HashSet::with_capacity(nodes.len());
    for end in ends {
        let mut next = Some(end);
        while let Some(id) = next.filter(|id| reached.insert(id)) {
            next = parent(id);
        }
    }
    for placed in nodes.iter().filter(|placed| !reached.contains(&placed.node.id)) {
        report(
            &format!("message {}", placed.node.id),
            "no branch and no checkpoint reaches it".to_owned(),
        );
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BranchName, Message, NewChat, Node, Role, Timestamp};

    fn placed(id: &str, parent: Option<&str>, depth: u64) -> Placed {
        let node = Node::new(id, Message::text(Role::User, "x"), Timestamp::default());
        Placed::new(node, parent.map(Into::into), depth)
    }

    fn branch(head: &str, length: u64) -> Branch {
        Branch::new(BranchName::main(), Some(head.into()), length, true, Timestamp::default())
    }

    #[track_caller]
    fn check(nodes: &[Placed], branches: &[Branch], expected: &[&str]) {
        let chat = Chat::new(NewChat::new(ChatRef::new("u", "c"), Timestamp::default()));
        let found = check_chat_graph(&chat, nodes, branches, &[]);
        assert_eq!(
            found.iter().map(|f| f.about.as_str()).collect::<Vec<_>>(),
            expected,
            "{found:?}"
        );
    }

    #[test]
    fn finds_what_is_broken_and_nothing_else() {
        check(&[placed("a", None, 0), placed("b", Some("a"), 1)], &[branch("b", 2)], &[]);
        check(
            &[placed("b", Some("a"), 1), placed("a", None, 0)],
            &[branch("b", 2)],
            &["message b"],
        );
        check(
            &[placed("a", None, 0), placed("b", Some("a"), 7)],
            &[branch("b", 8)],
            &["message b"],
        );
        check(
            &[placed("a", None, 0), placed("b", Some("a"), 1)],
            &[branch("a", 1)],
            &["message b"],
        );
        check(&[placed("a", None, 0)], &[branch("x", 1)], &["branch main", "message a"]);
        check(&[placed("a", None, 0)], &[branch("a", 3)], &["branch main"]);
        check(&[placed("a", None, 0)], &[], &["branches", "message a"]);
        let cycle = [placed("a", Some("b"), 1), placed("b", Some("a"), 0)];
        check(&cycle, &[branch("a", 2)], &["message a", "message b", "message a"]);
    }
}
