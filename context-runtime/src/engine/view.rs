//! The branch as an engine has read it: the chain, the part of it that a model is shown, and
//! running counts.

mod read;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::removal::REDACTED;
use context_core::base::{DiagnosticCode, Severity};
use context_core::history::StoredBoundary;
use context_core::message::NodeKind;
use context_core::store::Window;
use context_core::{Chain, Diagnostic, MessageId, Node, Role};
use context_instructions::ConversationSummary;
use rpds::HashTrieMapSync;

use self::read::Front;
pub(super) use self::read::{Reach, Source};

/// A branch as far as it was read: as a whole, or what a model is shown of it. Clones share the
/// nodes, so the cost of a clone does not grow with the branch.
///
/// A view that is not [whole](Self::is_whole) begins at the first of the messages right before the
/// boundary in force that the boundary shows. Counts and positions are of the part.
#[derive(Clone, Default)]
pub(super) struct View {
    chain: Chain,
    /// The messages from before the chain that the boundary in force shows.
    front: Front,
    /// Pending messages that are not in the part of the branch that was not read.
    absent: HashSet<MessageId>,
    /// Positions of nodes that a model is never shown: boundaries, placeholders, unreadable
    /// messages.
    hidden: Vec<usize>,
    /// Positions and contents of boundaries. `None` for a boundary that cannot be read.
    boundaries: Vec<(usize, Option<Arc<StoredBoundary>>)>,
    /// The messages that the boundary in force shows and those after it, without the hidden nodes.
    /// `None` if they have to be computed again.
    shown: Option<Chain>,
    /// The number of user messages.
    turns: usize,
    /// Whether a codec may have encoded one of the messages.
    has_encoded: bool,
    /// The position of each node. Built on first use.
    positions: Option<HashTrieMapSync<MessageId, usize>>,
    /// The summary that reminders use. Built if there are reminders.
    summary: Option<ConversationSummary>,
    /// Whether the branch goes on behind the chain, as this engine knows from its own write.
    behind: bool,
    /// Whether the next look takes the view as it is.
    ahead: bool,
}

impl View {
    /// Creates the view of a chain.
    pub(super) fn of(chain: Chain) -> Self {
        Self::of_part(chain, HashMap::new())
    }

    /// Creates the view of a part of a chain and of messages before the part.
    fn of_part(chain: Chain, front: HashMap<MessageId, Arc<Node>>) -> Self {
        let has_encoded = front.values().any(|node| node.is_encoded());
        let mut view = Self { chain, front: front.into(), has_encoded, ..Self::default() };
        for (position, node) in view.chain.iter().enumerate() {
            view.turns += usize::from(node.is_turn());
            view.has_encoded |= node.is_encoded();
            if !node.is_shown() {
                view.hidden.push(position);
            }
            if node.kind == NodeKind::Boundary {
                view.boundaries.push((position, read(node)));
            }
        }
        view
    }

    /// Returns the readable boundaries and their positions, oldest first.
    pub(super) fn boundaries(
        &self,
    ) -> impl DoubleEndedIterator<Item = (usize, &Arc<StoredBoundary>)> {
        self.boundaries
            .iter()
            .filter_map(|(position, boundary)| Some((*position, boundary.as_ref()?)))
    }

    pub(super) fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Returns the messages from before the chain that the boundary in force shows.
    pub(super) fn front(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.front.values()
    }

    /// Returns the view with the nodes of an earlier one where they are the same, so that whoever
    /// knows a message by its address knows it again.
    pub(super) fn sharing(mut self, earlier: &Self) -> Self {
        let known = earlier.chain.iter().chain(earlier.front.values());
        let known: HashMap<&MessageId, &Arc<Node>> = known.map(|node| (&node.id, node)).collect();
        let same = |node: &Node| known.get(&node.id).filter(|known| ****known == *node).copied();
        for position in 0..self.chain.len() {
            if let Some(node) = same(&self.chain[position]) {
                self.chain.replace(position, Arc::clone(node));
            }
        }
        for node in Arc::make_mut(&mut self.front).values_mut() {
            if let Some(known) = same(node) {
                *node = Arc::clone(known);
            }
        }
        self
    }

    /// Whether the chain was read from its root on.
    pub(super) fn is_whole(&self) -> bool {
        self.chain.is_whole()
    }

    /// Returns those of these pending messages that may be in the part of the branch that was not
    /// read.
    pub(super) fn unknown(&mut self, pending: &[&MessageId]) -> Vec<MessageId> {
        self.absent.retain(|id| pending.contains(&id));
        if self.is_whole() {
            return Vec::new();
        }
        let unknown = pending.iter().filter(|id| !self.absent.contains(**id));
        let unknown: Vec<MessageId> = unknown.map(|id| MessageId::clone(id)).collect();
        unknown.into_iter().filter(|id| self.position(id).is_none()).collect()
    }

    /// Records that these messages are not in the part of the branch that was not read.
    pub(super) fn note_absent(&mut self, ids: Vec<MessageId>) {
        self.absent.extend(ids);
    }

    /// Returns the view as one that was read ahead: the next look takes it as it is.
    pub(super) fn ahead(mut self) -> Self {
        self.ahead = true;
        self
    }

    /// Returns whether the view was read ahead. It counts as seen from now on.
    pub(super) fn take_ahead(&mut self) -> bool {
        std::mem::take(&mut self.ahead)
    }

    /// Returns the window of what came after the view. `None` if it has no message.
    pub(super) fn news(&self) -> Option<Window> {
        let message = self.head()?.clone();
        Some(Window::After { message, generation: self.chain.generation() })
    }

    /// Records that this engine's own messages are on the branch, behind messages of others that
    /// were not read.
    pub(super) fn fall_behind(&mut self) {
        self.behind = true;
    }

    /// Whether the view lacks messages that this engine wrote itself.
    pub(super) fn is_behind(&self) -> bool {
        self.behind
    }

    pub(super) fn head(&self) -> Option<&MessageId> {
        self.chain.head()
    }

    pub(super) fn turns(&self) -> usize {
        self.turns
    }

    pub(super) fn has_encoded(&self) -> bool {
        self.has_encoded
    }

    pub(super) fn newest_assistant(&self) -> Option<&Arc<Node>> {
        self.chain.iter().rev().find(|node| node.role() == Some(Role::Assistant))
    }

    /// Appends a node after the head.
    pub(super) fn push(&mut self, node: Arc<Node>) {
        self.turns += usize::from(node.is_turn());
        self.has_encoded |= node.is_encoded();
        if !node.is_shown() {
            self.hidden.push(self.chain.len());
        } else if let Some(shown) = &mut self.shown {
            shown.push(Arc::clone(&node));
        }
        if node.kind == NodeKind::Boundary {
            let boundary = read(&node);
            self.shown = self.shown.take().filter(|_| boundary.is_none());
            self.boundaries.push((self.chain.len(), boundary));
        }
        if let Some(positions) = &mut self.positions {
            positions.insert_mut(node.id.clone(), self.chain.len());
        }
        if let Some(summary) = &mut self.summary {
            summary.push(&node);
        }
        self.chain.push(node);
    }

    /// Returns the branch summary that reminder predicates use. Walks the chain once; later nodes
    /// are added incrementally.
    pub(super) fn summary(&mut self) -> &ConversationSummary {
        self.summary.get_or_insert_with(|| {
            let mut summary = ConversationSummary::new();
            self.chain.iter().for_each(|node| summary.push(node));
            summary
        })
    }

    /// Returns the position of a node on the chain. Fast also for ids that are not on the chain, as
    /// most new ones are not.
    pub(super) fn position(&mut self, id: &MessageId) -> Option<usize> {
        let positions = self.positions.get_or_insert_with(|| {
            self.chain
                .iter()
                .enumerate()
                .map(|(position, node)| (node.id.clone(), position))
                .collect()
        });
        positions.get(id).copied()
    }

    /// Returns what a model would be shown with these nodes in place of stored ones.
    pub(super) fn shown_with(&mut self, nodes: &[(usize, Arc<Node>)]) -> Chain {
        if nodes.is_empty() {
            return self.shown().clone();
        }
        let (chain, hidden, boundaries) =
            (self.chain.clone(), self.hidden.clone(), self.boundaries.clone());
        let (front, turns) = (Arc::clone(&self.front), self.turns);
        let mut other = Self { chain, front, hidden, boundaries, turns, ..Self::default() };
        nodes.iter().for_each(|(position, node)| other.put(*position, Arc::clone(node)));
        other.shown().clone()
    }

    /// Records that one of this engine's amending commits was applied, which increments the
    /// generation of the chat by one. If other commits amended as well, the next read finds another
    /// generation and reads everything again.
    pub(super) fn amended(&mut self) {
        let generation = self.chain.generation() + 1;
        self.chain = std::mem::take(&mut self.chain).with_generation(generation);
    }

    /// Replaces a node by its amended form, if the view has the node.
    pub(super) fn amend(&mut self, by: &Node) {
        if let Some(position) = self.position(&by.id) {
            let amended = self.chain[position].amended(by);
            self.put(position, Arc::new(amended));
        } else if let Some(node) = self.front.get(&by.id) {
            let amended = Arc::new(node.amended(by));
            self.has_encoded |= amended.is_encoded();
            Arc::make_mut(&mut self.front).insert(by.id.clone(), amended);
            self.shown = None;
        }
    }

    fn put(&mut self, position: usize, node: Arc<Node>) {
        let is_user = |node: &Node| usize::from(node.is_turn());
        self.turns = self.turns + is_user(&node) - is_user(&self.chain[position]);
        self.has_encoded |= node.is_encoded();
        let place = self.hidden.partition_point(|hidden| *hidden < position);
        let was_hidden = self.hidden.get(place) == Some(&position);
        match (was_hidden, node.is_shown()) {
            (true, true) => {
                self.hidden.remove(place);
            }
            (false, false) => self.hidden.insert(place, position),
            _ => {}
        }
        // Filling or amending the newest message keeps the shown messages before it valid.
        let newest = position + 1 == self.chain.len();
        self.shown = self.shown.take().filter(|_| newest && node.is_shown()).map(|mut shown| {
            match was_hidden {
                true => shown.push(Arc::clone(&node)),
                false => shown.replace(shown.len().saturating_sub(1), Arc::clone(&node)),
            }
            shown
        });
        self.follow(position, &node);
        self.chain.replace(position, node);
    }

    /// Keeps the summary if the change only fills the last placeholder, as every answer of
    /// `continue_turn` does. Otherwise the summary is built again on demand.
    fn follow(&mut self, position: usize, by: &Node) {
        let fills = position + 1 == self.chain.len() && self.chain[position].is_placeholder();
        match &mut self.summary {
            Some(summary) if fills => summary.push(by),
            summary => *summary = None,
        }
    }

    /// Returns the view of the path up to a message, if the view has what is shown of the path.
    pub(super) fn up_to(&mut self, id: &MessageId) -> Option<Self> {
        let position = self.position(id)?;
        let in_force = self.boundaries().next_back().map(|(at, _)| at);
        if !self.is_whole() && in_force.is_none_or(|at| position < at) {
            return None;
        }
        let front = HashMap::clone(&self.front);
        Some(Self::of_part(self.chain.prefix(position + 1), front))
    }

    /// Returns the messages that a model is shown.
    pub(super) fn shown(&mut self) -> &Chain {
        let in_force =
            self.boundaries().next_back().map(|(at, boundary)| (at, Arc::clone(boundary)));
        let Self { chain, front, hidden, shown, .. } = self;
        shown.get_or_insert_with(|| match (in_force, hidden.first()) {
            (Some((at, boundary)), _) => {
                let window = boundary.window_with(chain, at, front);
                let window = window.into_iter().map(|shown| shown.node);
                let behind =
                    (at + 1..chain.len()).filter_map(|position| chain.get(position)).cloned();
                Chain::from_nodes(0, window.chain(behind).filter(|node| node.is_shown()))
            }
            (None, None) => chain.clone(),
            // The usual case: only the end is hidden, a placeholder without an answer.
            (None, Some(first)) if chain.len() - first == hidden.len() => chain.prefix(*first),
            (None, Some(_)) => {
                let mut hidden = hidden.iter().copied().peekable();
                let nodes = chain.iter().enumerate();
                let visible = nodes.filter(|(position, _)| hidden.next_if_eq(position).is_none());
                Chain::from_nodes(chain.skipped(), visible.map(|(_, node)| Arc::clone(node)))
            }
        })
    }

    /// Returns diagnostics for messages and boundaries of the view that are not shown because they
    /// cannot be read.
    pub(super) fn unreadable(&self) -> impl Iterator<Item = Diagnostic> {
        let nodes = self.hidden.iter().filter_map(|position| self.chain.get(*position));
        let nodes = self.front().chain(nodes);
        let messages = nodes.filter(|node| !node.is_readable()).map(|node| {
            let body = node.body();
            let text =
                format!("stored as {} version {}: kept, not shown", body.kind(), body.version());
            unreadable(format!("message {}", node.id), text)
        });
        let unread = self.boundaries.iter().filter(|(_, boundary)| boundary.is_none());
        let unread = unread.filter_map(|(position, _)| self.chain.get(*position));
        // A redacted boundary is unreadable on purpose.
        let unread = unread.filter(|node| node.body().kind() != REDACTED).map(|node| {
            let body = node.body();
            let text = format!(
                "stored as {} version {}: kept, nothing is cut there",
                body.kind(),
                body.version()
            );
            unreadable(format!("boundary {}", node.id), text)
        });
        messages.chain(unread)
    }
}

fn unreadable(path: String, text: String) -> Diagnostic {
    Diagnostic::new(DiagnosticCode::UnreadableMessage, Severity::Warning, path, text)
}

fn read(boundary: &Node) -> Option<Arc<StoredBoundary>> {
    StoredBoundary::decode(boundary.body()).ok().map(Arc::new)
}
