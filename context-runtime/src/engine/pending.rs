//! Messages that are set and not saved.

use std::sync::Arc;

use context_core::fragment::{FragmentContent, FragmentError, LazyMessage};
use context_core::{Clock, Fragment, IdGenerator, Message, MessageId, Node, Role, Timestamp};

use super::view::View;

/// Messages that are set and not saved, in order, each id once.
#[derive(Default)]
pub(super) struct PendingMessages(Vec<Pending>);

enum Pending {
    Message(Arc<Node>),
    /// Replaces the newest assistant message, whichever that is at the time of resolve or save.
    /// Keeps the id it would get as a message of its own, so that resolve and save agree on it.
    LastAssistant(Arc<Node>),
    /// A message fragment without a valid message.
    Broken(MessageId, FragmentError),
}

/// The pending messages after the target of every lazy message is resolved.
#[derive(Clone, Debug, Default)]
pub(super) struct Settled {
    /// New messages, or edits by id.
    pub(super) nodes: Vec<Arc<Node>>,
    /// The new text of a stored message.
    pub(super) replacement: Option<Arc<Node>>,
}

impl Pending {
    fn id(&self) -> &MessageId {
        match self {
            Self::Message(node) | Self::LastAssistant(node) => &node.id,
            Self::Broken(id, _) => id,
        }
    }

    fn node(&self) -> Option<&Arc<Node>> {
        match self {
            Self::Message(node) | Self::LastAssistant(node) => Some(node),
            Self::Broken(..) => None,
        }
    }
}

impl PendingMessages {
    pub(super) fn push(&mut self, fragment: Fragment, ids: &dyn IdGenerator, clock: &dyn Clock) {
        let id = fragment.id().cloned().map_or_else(|| ids.next_id().into(), MessageId::from);
        let pending = match (fragment.message(), fragment.content()) {
            (Ok(Some(message)), _) => Pending::Message(node(&id, Arc::clone(message), clock.now())),
            (_, FragmentContent::Lazy(LazyMessage::LastAssistant { text })) => {
                let message = Message::text(Role::Assistant, &**text);
                // The later of two lazy messages wins.
                self.0.retain(|pending| !matches!(pending, Pending::LastAssistant(_)));
                Pending::LastAssistant(node(&id, Arc::new(message), clock.now()))
            }
            (Err(error), _) => Pending::Broken(id, error),
            (Ok(None), _) => Pending::Broken(
                id,
                FragmentError::MissingCodec { name: fragment.name().to_owned() },
            ),
        };
        match self.0.iter_mut().find(|present| present.id() == pending.id()) {
            Some(present) => *present = pending,
            None => self.0.push(pending),
        }
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = MessageId> {
        self.0.iter().map(|pending| pending.id().clone())
    }

    pub(super) fn remove(&mut self, id: &MessageId) -> bool {
        let before = self.0.len();
        self.0.retain(|pending| pending.id() != id);
        self.0.len() < before
    }

    pub(super) fn clear(&mut self) -> Vec<MessageId> {
        std::mem::take(&mut self.0).iter().map(|pending| pending.id().clone()).collect()
    }

    /// Returns the messages as they were set.
    pub(super) fn nodes(&self) -> Vec<Arc<Node>> {
        self.0.iter().filter_map(Pending::node).map(Arc::clone).collect()
    }

    /// Removes messages that were saved. A message that was set again under the same id stays.
    pub(super) fn saved(&mut self, nodes: &[Arc<Node>]) {
        self.0.retain(|pending| {
            !pending.node().is_some_and(|node| nodes.iter().any(|saved| Arc::ptr_eq(saved, node)))
        });
    }

    /// Resolves the target of a lazy message: the newest pending assistant message, else the newest
    /// stored one on the branch, else the end of the branch.
    pub(super) fn settle(&self, view: &View) -> Result<Settled, FragmentError> {
        let mut settled = Settled::default();
        let mut lazy = None;
        for pending in &self.0 {
            match pending {
                Pending::Message(node) => settled.nodes.push(Arc::clone(node)),
                Pending::LastAssistant(node) => lazy = Some((settled.nodes.len(), node)),
                Pending::Broken(_, error) => return Err(error.clone()),
            }
        }
        let Some((place, new)) = lazy else { return Ok(settled) };
        let is_assistant = |node: &Node| node.role() == Some(Role::Assistant);
        let moved = |old: &Node| Arc::new(Node::clone(new).with_id(&old.id));
        if let Some(newest) = settled.nodes.iter_mut().rev().find(|node| is_assistant(node)) {
            *newest = moved(newest);
        } else if let Some(stored) = view.newest_assistant() {
            settled.replacement = Some(moved(stored));
        } else {
            settled.nodes.insert(place, Arc::clone(new));
        }
        Ok(settled)
    }
}

fn node(id: &MessageId, message: Arc<Message>, at: Timestamp) -> Arc<Node> {
    Arc::new(Node::new(id, message, at))
}
