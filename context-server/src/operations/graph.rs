//! The branches of a chat as a tree, for a drawing beside the messages.

use std::collections::HashMap;

use context_runtime::store::NodeKind;
use context_runtime::{MessageGraph, MessageId, Role, Timestamp};
use serde::Serialize;

use super::Operations;
use crate::OperationError;

/// The branches of a chat, and how they hang together.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct BranchTree {
    /// The branches: the active one first, then in the order of their creation.
    pub branches: Vec<BranchLine>,
    /// The checkpoints: name and message.
    pub checkpoints: Vec<(String, MessageId)>,
    /// For each message that has siblings, all messages with its parent, in order.
    pub siblings: HashMap<MessageId, Vec<MessageId>>,
}

/// A branch.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct BranchLine {
    /// The name.
    pub name: String,
    /// Whether it is the active one.
    pub active: bool,
    /// The number of messages from the root.
    pub messages: u64,
    /// The number of messages that it alone has.
    pub own: u64,
    /// The branch that it left.
    pub parent: Option<String>,
    /// The last message that it shares with that branch. `None` if they share none.
    pub fork: Option<MessageId>,
    /// The number of messages before the fork.
    pub depth: u64,
    /// The head.
    pub head: Option<MessageId>,
    /// The time of the head.
    pub updated_at: Option<Timestamp>,
    /// The beginning of its first own message.
    pub preview: String,
}

impl Operations {
    /// Returns the tree of a chat's branches. Reads all messages of all branches.
    pub async fn tree(&self, chat: &str) -> Result<BranchTree, OperationError> {
        let graph = MessageGraph::read(self.history(), &self.chat_ref(chat)).await?;
        Ok(tokio::task::spawn_blocking(move || tree(&graph)).await?)
    }
}

fn tree(graph: &MessageGraph) -> BranchTree {
    let index: HashMap<&MessageId, usize> =
        graph.nodes.iter().enumerate().map(|(at, placed)| (&placed.node.id, at)).collect();
    let parent = |at: usize| graph.nodes[at].parent.as_ref().and_then(|id| index.get(id).copied());
    // The branch that claimed a message first.
    let mut owner: Vec<Option<usize>> = vec![None; graph.nodes.len()];
    let mut order: Vec<usize> = (0..graph.branches.len()).collect();
    order.sort_by_key(|at| !graph.branches[*at].active);
    let mut branches = Vec::with_capacity(order.len());
    for (number, branch) in order.iter().map(|at| &graph.branches[*at]).enumerate() {
        let head = branch.head.as_ref().and_then(|id| index.get(id).copied());
        let (mut own, mut at, mut first) = (0, head, None);
        while let Some(here) = at.filter(|here| owner[*here].is_none()) {
            owner[here] = Some(number);
            (own, first, at) = (own + 1, Some(here), parent(here));
        }
        let fork = at;
        let preview = first.map(|at| context_runtime::display::node_preview(&graph.nodes[at].node));
        branches.push(BranchLine {
            name: branch.name.to_string(),
            active: branch.active,
            messages: head.map_or(0, |at| graph.nodes[at].depth + 1),
            own,
            parent: fork
                .and_then(|at| owner[at])
                .map(|of| graph.branches[order[of]].name.to_string()),
            fork: fork.map(|at| graph.nodes[at].node.id.clone()),
            depth: fork.map_or(0, |at| graph.nodes[at].depth + 1),
            head: branch.head.clone(),
            updated_at: head.map(|at| graph.nodes[at].node.created_at),
            preview: preview.unwrap_or_default(),
        });
    }
    let mut children: HashMap<&MessageId, Vec<MessageId>> = HashMap::new();
    for placed in &graph.nodes {
        let is_step = !matches!(placed.node.kind, NodeKind::Message(Role::Tool));
        if let Some(parent) = placed.parent.as_ref().filter(|_| is_step) {
            children.entry(parent).or_default().push(placed.node.id.clone());
        }
    }
    let mut siblings = HashMap::new();
    for group in children.into_values().filter(|group| group.len() > 1) {
        for one in &group {
            siblings.insert(one.clone(), group.clone());
        }
    }
    let checkpoints =
        graph.checkpoints.iter().map(|it| (it.name.to_string(), it.message.clone())).collect();
    BranchTree { branches, checkpoints, siblings }
}
