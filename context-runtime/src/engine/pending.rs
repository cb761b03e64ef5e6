//! Messages that are set and not saved, and transient ones, which no save stores.

use std::sync::Arc;

use context_core::fragment::{FragmentContent, FragmentError, LazyMessage};
use context_core::message::WrittenIn;
use context_core::{Clock, Fragment, IdGenerator, Message, MessageId, Node, Role, Timestamp};

use super::view::View;

/// Messages that are set and not saved, in order, each id once.
#[derive(Default)]
pub(super) struct PendingMessages(Vec<Pending>);

struct Pending {
    content: PendingContent,
    /// Whether the message is only shown: a save drops it and stores nothing of it.
    is_transient: bool,
    /// Whether the caller chose the id, which may be that of a stored message.
    is_named: bool,
}

enum PendingContent {
    Message(Arc<Node>),
    /// Replaces the newest assistant message, whichever that is at the time of resolve or save.
    /// Keeps the id it would get as a message of its own, so that resolve and save agree on it.
    LastAssistant(Arc<Node>),
    /// A message fragment without a valid message.
    Broken(MessageId, FragmentError),
}

/// The pending messages to settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settle {
    /// Those that a save stores.
    Stored,
    /// Those that a prompt shows: transient ones too.
    Shown,
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
        match &self.content {
            PendingContent::Message(node) | PendingContent::LastAssistant(node) => &node.id,
            PendingContent::Broken(id, _) => id,
        }
    }

    fn node(&self) -> Option<&Arc<Node>> {
        match &self.content {
            PendingContent::Message(node) | PendingContent::LastAssistant(node) => Some(node),
            PendingContent::Broken(..) => None,
        }
    }

    fn is_lazy(&self) -> bool {
        matches!(self.content, PendingContent::LastAssistant(_))
    }
}

impl PendingMessages {
    /// Adds a message, or replaces the one with its id. A message that does not know where it was
    /// written is marked with `written_in`.
    pub(super) fn push(
        &mut self,
        fragment: Fragment,
        ids: &dyn IdGenerator,
        clock: &dyn Clock,
        written_in: Option<&WrittenIn>,
    ) {
        let id = fragment.id().cloned().map_or_else(|| ids.next_id().into(), MessageId::from);
        let (is_transient, is_named) = (!fragment.is_persisted(), fragment.id().is_some());
        // Kept as it is stored. Prompts show the decoded form.
        let content = match (fragment.stored_message(), fragment.content()) {
            (Ok(Some(message)), _) => {
                PendingContent::Message(node(&id, marked(message, written_in), clock.now()))
            }
            (_, FragmentContent::Lazy(LazyMessage::LastAssistant { text })) => {
                let message = Message::text(Role::Assistant, &**text);
                // The later of two lazy messages wins.
                self.0.retain(|old| !old.is_lazy() || old.is_transient != is_transient);
                let message = marked(Arc::new(message), written_in);
                PendingContent::LastAssistant(node(&id, message, clock.now()))
            }
            (Err(error), _) => PendingContent::Broken(id, error),
            (Ok(None), _) => PendingContent::Broken(
                id,
                FragmentError::MissingCodec { name: fragment.name().to_owned() },
            ),
        };
        let pending = Pending { content, is_transient, is_named };
        match self.0.iter_mut().find(|present| present.id() == pending.id()) {
            Some(present) => *present = pending,
            None => self.0.push(pending),
        }
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = MessageId> {
        self.0.iter().map(|pending| pending.id().clone())
    }

    /// Returns the ids of the messages that a save stores.
    pub(super) fn ids_to_store(&self) -> impl Iterator<Item = MessageId> {
        self.0.iter().filter(|pending| !pending.is_transient).map(|pending| pending.id().clone())
    }

    /// Returns the ids that the caller chose.
    pub(super) fn named(&self) -> impl Iterator<Item = &MessageId> {
        self.0.iter().filter(|pending| pending.is_named).map(Pending::id)
    }

    /// Whether one of the messages is a new text of the newest assistant message.
    pub(super) fn seeks_answer(&self) -> bool {
        self.0.iter().any(Pending::is_lazy)
    }

    /// Returns the ids of the transient messages.
    pub(super) fn transient_ids(&self) -> impl Iterator<Item = &MessageId> {
        self.0.iter().filter(|pending| pending.is_transient).map(Pending::id)
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

    /// Removes messages that were saved, or that a save dropped. A message that was set again under
    /// the same id stays.
    pub(super) fn saved(&mut self, nodes: &[Arc<Node>]) {
        self.0.retain(|pending| {
            !pending.node().is_some_and(|node| nodes.iter().any(|saved| Arc::ptr_eq(saved, node)))
        });
    }

    /// Resolves the target of a lazy message: the newest pending assistant message, else the newest
    /// stored one on the branch, else the end of the branch. A transient message is no target.
    pub(super) fn settle(&self, view: &View, settle: Settle) -> Result<Settled, FragmentError> {
        let mut settled = Settled::default();
        let (mut lazy, mut target) = (None, None);
        for pending in self.0.iter().filter(|one| settle == Settle::Shown || !one.is_transient) {
            match &pending.content {
                PendingContent::Message(node) => {
                    if node.role() == Some(Role::Assistant) && !pending.is_transient {
                        target = Some(settled.nodes.len());
                    }
                    settled.nodes.push(Arc::clone(node));
                }
                PendingContent::LastAssistant(node) => lazy = Some((settled.nodes.len(), node)),
                PendingContent::Broken(_, error) => return Err(error.clone()),
            }
        }
        let Some((place, new)) = lazy else { return Ok(settled) };
        let moved = |old: &Node| Arc::new(Node::clone(new).with_id(&old.id));
        if let Some(newest) = target.map(|target| &mut settled.nodes[target]) {
            *newest = moved(newest);
        } else if let Some(stored) = view.newest_assistant() {
            settled.replacement = Some(moved(stored));
        } else {
            settled.nodes.insert(place, Arc::clone(new));
        }
        Ok(settled)
    }
}

/// Returns the message with the turn and the run that write it, unless it has others.
fn marked(message: Arc<Message>, written_in: Option<&WrittenIn>) -> Arc<Message> {
    match written_in {
        Some(written_in) if message.written_in().is_none() => {
            Arc::new(Message::clone(&message).with_written_in(written_in))
        }
        _ => message,
    }
}

/// Marks a message, unless it says where it was written.
pub(super) fn mark(node: &mut Arc<Node>, written_in: &WrittenIn) {
    if let Ok(message) = node.message()
        && message.written_in().is_none()
    {
        let message = marked(Arc::clone(message), Some(written_in));
        *node = Arc::new(Node::new(node.id.clone(), message, node.created_at));
    }
}

/// Whether two messages are equal except for the turn and the run that wrote them.
pub(super) fn same_but_for_mark(a: &Node, b: &Node) -> bool {
    match (a.message(), b.message()) {
        (Ok(a), Ok(b)) => {
            let unmarked = |message: &Message| message.clone().without_written_in();
            a.written_in() != b.written_in() && unmarked(a) == unmarked(b)
        }
        _ => false,
    }
}

fn node(id: &MessageId, message: Arc<Message>, at: Timestamp) -> Arc<Node> {
    Arc::new(Node::new(id, message, at))
}
