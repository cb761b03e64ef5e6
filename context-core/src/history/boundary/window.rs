//! The messages that a model is shown of a chain.

use std::collections::HashMap;
use std::sync::Arc;

use super::{FrontEntry, Replacement, StoredBoundary};
use crate::message::NodeKind;
use crate::{Chain, MessageId, Node};

/// A message that the boundary in force shows.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ShownMessage {
    /// The message as it is shown.
    pub node: Arc<Node>,
    /// The stored message, of which `node` may be a shorter form. `None` for a message that a
    /// compaction made.
    pub stored: Option<Arc<Node>>,
    /// Whether `node` is the whole stored message in its decoded form.
    pub(super) is_decoded: bool,
}

impl ShownMessage {
    fn stored(node: &Arc<Node>) -> Self {
        Self { node: Arc::clone(node), stored: Some(Arc::clone(node)), is_decoded: false }
    }

    /// Replaces an [encoded](Node::is_encoded) message by its decoded form, which a compaction
    /// keeps as the stored message.
    #[must_use]
    pub fn decoded(self, node: Arc<Node>) -> Self {
        Self { node, is_decoded: true, ..self }
    }
}

impl StoredBoundary {
    /// Returns the newest readable boundary of a chain and its position.
    pub fn in_force(chain: &Chain) -> Option<(usize, Self)> {
        let mut nodes = (0..chain.len()).rev().zip(chain.iter().rev());
        nodes.find_map(|(position, node)| match node.kind {
            NodeKind::Boundary => Some((position, Self::decode(node.body()).ok()?)),
            NodeKind::Message(_) => None,
        })
    }

    /// Returns the messages that the boundary shows from the nodes before it. `position` is the
    /// boundary's own position on the chain. Placeholders and unreadable messages are included.
    pub fn window(&self, chain: &Chain, position: usize) -> Vec<ShownMessage> {
        self.window_with(chain, position, &HashMap::new())
    }

    /// Returns the messages as [`window`](Self::window) does, if the chain begins later than its
    /// root. It has to begin at the first of the messages that [`since`](Self::since) counts, or
    /// before it. `earlier` are the messages from before the chain that [`front`](Self::front)
    /// refers to.
    pub fn window_with(
        &self,
        chain: &Chain,
        position: usize,
        earlier: &HashMap<MessageId, Arc<Node>>,
    ) -> Vec<ShownMessage> {
        let Some(boundary) = chain.get(position) else { return Vec::new() };
        let mut front_nodes: HashMap<&MessageId, Option<&Arc<Node>>> = HashMap::new();
        for entry in &self.front {
            if let FrontEntry::Stored(id) = entry {
                front_nodes.insert(id, earlier.get(id));
            }
        }
        // Walk backwards from the boundary: first over the retained messages, then as far as
        // `front` refers to messages.
        let (mut since, mut missing) =
            (Vec::new(), front_nodes.values().filter(|node| node.is_none()).count());
        for earlier in (0..position).rev() {
            let Some(node) = chain.get(earlier).filter(|node| node.role().is_some()) else {
                continue;
            };
            if (since.len() as u64) < self.since {
                since.push(ShownMessage::stored(node));
            } else if missing == 0 {
                break;
            } else if let Some(slot @ None) = front_nodes.get_mut(&node.id) {
                *slot = Some(node);
                missing -= 1;
            }
        }
        let front = self.front.iter().filter_map(|entry| match entry {
            FrontEntry::Stored(id) => {
                front_nodes.get(id).copied().flatten().map(ShownMessage::stored)
            }
            FrontEntry::Made { id, message } => {
                let node = Node::new(id.clone(), Arc::clone(message), boundary.created_at);
                Some(ShownMessage { node: Arc::new(node), stored: None, is_decoded: false })
            }
        });
        let mut shown: Vec<ShownMessage> = front.chain(since.into_iter().rev()).collect();
        self.shorten(&mut shown);
        shown
    }

    fn shorten(&self, shown: &mut [ShownMessage]) {
        if self.replaced.is_empty() {
            return;
        }
        let replaced: HashMap<&MessageId, &Replacement> =
            self.replaced.iter().map(|replacement| (&replacement.id, replacement)).collect();
        for ShownMessage { node, stored, .. } in shown {
            let Some(stored) = stored else { continue };
            let Some(replacement) = replaced.get(&stored.id) else { continue };
            if stored.message().is_ok_and(|message| message.hash() == replacement.of) {
                let mut shorter = Node::new(
                    stored.id.clone(),
                    Arc::clone(&replacement.message),
                    stored.created_at,
                );
                shorter.revision = stored.revision;
                *node = Arc::new(shorter);
            }
        }
    }
}

/// Returns the messages of a chain that a model may be shown: those that the boundary in force
/// shows, and those after it. Without a boundary, all messages. Placeholders and unreadable
/// messages are included; see [`Node::is_shown`].
pub fn shown(chain: &Chain) -> Vec<ShownMessage> {
    let boundary = StoredBoundary::in_force(chain);
    let (mut shown, start) = match &boundary {
        Some((position, boundary)) => (boundary.window(chain, *position), position + 1),
        None => (Vec::new(), 0),
    };
    let later = (start..chain.len()).filter_map(|position| chain.get(position));
    shown.extend(later.filter(|node| node.role().is_some()).map(ShownMessage::stored));
    shown
}
