//! The invariants of one chat's graph.

use std::collections::{HashMap, HashSet};
use std::fmt;

use context_core::MessageId;
use context_core::base::sealed;
use context_core::message::{PlacedNode, graph};
use context_core::store::{Branch, Chat, Checkpoint, Finding};

/// Checks the graph of one chat: ids are unique, parents exist and come first, depths are
/// consistent, there are no cycles, bodies can be decoded, heads and checkpoints point to messages,
/// the active branch exists, and a branch or a checkpoint reaches every message.
pub fn check_chat_graph(
    chat: &Chat,
    nodes: &[PlacedNode],
    branches: &[Branch],
    checkpoints: &[Checkpoint],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut report = |about: &dyn fmt::Display, problem: String| {
        findings.push(Finding::new(Some(&chat.chat), about, problem));
    };
    let mut by_id: HashMap<&MessageId, &PlacedNode> = HashMap::with_capacity(nodes.len());
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
        // Only the encrypting layer can check sealed bodies.
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
            None => report(&about, "its head is not a message of the chat".to_owned()),
            Some(length) if length != branch.length => {
                report(&about, format!("states {} messages, but has {length}", branch.length));
            }
            Some(_) => {}
        }
    }
    let active: Vec<_> =
        branches.iter().filter(|branch| branch.active).map(|branch| &branch.name).collect();
    if active != [&chat.active] {
        report(
            &"branches",
            format!("the active branch is {active:?}, but the chat states {:?}", chat.active),
        );
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
    use context_core::store::NewChat;
    use context_core::{BranchName, ChatRef, Message, Node, Role, Timestamp};

    fn placed(id: &str, parent: Option<&str>, depth: u64) -> PlacedNode {
        let node = Node::new(id, Message::text(Role::User, "x"), Timestamp::default());
        PlacedNode::new(node, parent.map(Into::into), depth)
    }

    fn branch(head: &str, length: u64) -> Branch {
        Branch::new(BranchName::main(), Some(head.into()), length, true, Timestamp::default())
    }

    #[track_caller]
    fn check(nodes: &[PlacedNode], branches: &[Branch], expected: &[&str]) {
        let chat = Chat::new(NewChat::new(ChatRef::new("u", "c"), Timestamp::default()));
        let findings = check_chat_graph(&chat, nodes, branches, &[]);
        assert_eq!(
            findings.iter().map(|f| f.about.as_str()).collect::<Vec<_>>(),
            expected,
            "{findings:?}"
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
