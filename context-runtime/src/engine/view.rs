//! The branch as an engine has read it: the chain, what of it a model is shown, and running counts.

use std::sync::Arc;

use context_core::{
    BranchName, Chain, ChainEnd, ChatRef, Diagnostic, DiagnosticCode, HistoryStore, Message, MessageId, Node,
    Result, Role, Severity, Window,
};
#[cfg(feature = "instructions")]
use context_instructions::ConversationSummary;
use rpds::HashTrieMapSync;

/// A branch as far as it was read. A clone shares what it holds and costs no more for a long branch.
#[derive(Clone, Default)]
pub(super) struct View {
    chain: Chain,
    /// Positions of nodes that a model is not shown: boundaries, placeholders, what cannot be read.
    hidden: Vec<usize>,
    /// The chain without the hidden nodes; nothing if it has to be made again.
    shown: Option<Chain>,
    /// How many of the messages are the user's.
    turns: usize,
    /// Where each node is; made when it is first asked for.
    positions: Option<HashTrieMapSync<MessageId, usize>>,
    /// What reminders ask for; made when there are any.
    #[cfg(feature = "instructions")]
    summary: Option<ConversationSummary>,
}

impl View {
    /// Brings a view up to date, or reads a new one. One round trip; costs what is new.
    pub(super) async fn read(
        known: Option<Self>,
        history: &dyn HistoryStore,
        chat: &ChatRef,
        branch: &BranchName,
    ) -> Result<Self> {
        let end = ChainEnd::Branch(branch.clone());
        let Some((mut view, head)) = known.and_then(|view| view.head().cloned().map(|head| (view, head)))
        else {
            return Ok(Self::of(history.chain(chat, &end, &Window::Whole).await?));
        };
        let after = Window::After { message: head, edition: view.chain.edition() };
        let news = history.chain(chat, &end, &after).await?;
        if news.is_whole() {
            // What was known was amended, or the branch no longer leads through it.
            return Ok(Self::of(news));
        }
        news.iter().for_each(|node| view.push(Arc::clone(node)));
        Ok(view)
    }

    /// The view of a chain.
    pub(super) fn of(chain: Chain) -> Self {
        let mut view = Self { chain, ..Self::default() };
        for (position, node) in view.chain.iter().enumerate() {
            view.turns += usize::from(node.is_turn());
            if !is_shown(node) {
                view.hidden.push(position);
            }
        }
        view
    }

    pub(super) fn chain(&self) -> &Chain {
        &self.chain
    }

    pub(super) fn head(&self) -> Option<&MessageId> {
        self.chain.head()
    }

    /// About how many bytes of memory it holds.
    #[cfg(feature = "cache")]
    pub(super) fn memory(&self) -> usize {
        // What the map of positions takes for each message.
        const POSITION: usize = 96;
        self.chain.memory() + self.chain.len() * POSITION
    }

    pub(super) fn turns(&self) -> usize {
        self.turns
    }

    pub(super) fn newest_assistant(&self) -> Option<&Arc<Node>> {
        self.chain.iter().rev().find(|node| node.role() == Some(Role::Assistant))
    }

    /// Adds a node behind the head.
    pub(super) fn push(&mut self, node: Arc<Node>) {
        self.turns += usize::from(node.is_turn());
        if !is_shown(&node) {
            self.hidden.push(self.chain.len());
        } else if let Some(shown) = &mut self.shown {
            shown.push(Arc::clone(&node));
        }
        if let Some(positions) = &mut self.positions {
            positions.insert_mut(node.id.clone(), self.chain.len());
        }
        #[cfg(feature = "instructions")]
        if let Some(summary) = &mut self.summary {
            summary.push(&node);
        }
        self.chain.push(node);
    }

    /// What predicates of reminders know of the branch. Walks the chain once, then follows it.
    #[cfg(feature = "instructions")]
    pub(super) fn summary(&mut self) -> &ConversationSummary {
        self.summary.get_or_insert_with(|| {
            let mut summary = ConversationSummary::new();
            self.chain.iter().for_each(|node| summary.push(node));
            summary
        })
    }

    /// Where a node is on the chain. Quick also for ids that are not there, as most new ones are not.
    pub(super) fn position(&mut self, id: &MessageId) -> Option<usize> {
        let positions = self.positions.get_or_insert_with(|| {
            self.chain.iter().enumerate().map(|(position, node)| (node.id.clone(), position)).collect()
        });
        positions.get(id).copied()
    }

    /// What a model would be shown with these nodes in the place of stored ones.
    pub(super) fn shown_with(&mut self, nodes: &[(usize, Arc<Node>)]) -> Chain {
        if nodes.is_empty() {
            return self.shown().clone();
        }
        let (chain, hidden) = (self.chain.clone(), self.hidden.clone());
        let mut other = Self { chain, hidden, turns: self.turns, ..Self::default() };
        nodes.iter().for_each(|(position, node)| other.put(*position, Arc::clone(node)));
        other.shown().clone()
    }

    /// An amending commit of one's own was applied: the chat has seen one more. If it was not the only one, the
    /// next read finds that the count is another and reads all again.
    pub(super) fn amended(&mut self) {
        let edition = self.chain.edition() + 1;
        self.chain = std::mem::take(&mut self.chain).with_edition(edition);
    }

    /// Puts the amended form of a node in its place, if the node is on this chain.
    pub(super) fn amend(&mut self, by: &Node) {
        if let Some(position) = self.position(&by.id) {
            let amended = self.chain[position].amended(by);
            self.put(position, Arc::new(amended));
        }
    }

    fn put(&mut self, position: usize, node: Arc<Node>) {
        let is_user = |node: &Node| usize::from(node.is_turn());
        self.turns = self.turns + is_user(&node) - is_user(&self.chain[position]);
        self.hidden.retain(|hidden| *hidden != position);
        if !is_shown(&node) {
            let place = self.hidden.partition_point(|hidden| *hidden < position);
            self.hidden.insert(place, position);
        }
        #[cfg(feature = "instructions")]
        self.follow(position, &node);
        self.chain.replace(position, node);
        self.shown = None;
    }

    /// Keeps the summary if all that happens is that the last placeholder is filled, which is how every answer of
    /// `continue_turn` comes; else it is made again when it is asked for.
    #[cfg(feature = "instructions")]
    fn follow(&mut self, position: usize, by: &Node) {
        let fills = position + 1 == self.chain.len() && self.chain[position].is_placeholder();
        match &mut self.summary {
            Some(summary) if fills => summary.push(by),
            summary => *summary = None,
        }
    }

    /// The view of the path up to a message and of nothing behind it, if the message is on this chain.
    pub(super) fn up_to(&mut self, id: &MessageId) -> Option<Self> {
        let position = self.position(id)?;
        Some(Self::of(self.chain.prefix(position + 1)))
    }

    /// What a model is shown.
    pub(super) fn shown(&mut self) -> &Chain {
        let Self { chain, hidden, shown, .. } = self;
        shown.get_or_insert_with(|| match hidden.first() {
            None => chain.clone(),
            // Usually it is the end: a placeholder that waits for its answer.
            Some(first) if chain.len() - first == hidden.len() => chain.prefix(*first),
            Some(_) => {
                let mut hidden = hidden.iter().copied().peekable();
                let nodes = chain.iter().enumerate();
                let visible = nodes.filter(|(position, _)| hidden.next_if_eq(position).is_none());
                Chain::from_nodes(chain.skipped(), visible.map(|(_, node)| Arc::clone(node)))
            }
        })
    }

    /// What is stored but cannot be shown because it cannot be read.
    pub(super) fn unreadable(&self) -> impl Iterator<Item = Diagnostic> {
        self.hidden
            .iter()
            .filter_map(|position| self.chain.get(*position))
            .filter(|node| !is_readable(node))
            .map(|node| {
                let body = node.body();
                let text = format!("stored as {} version {}: kept, not shown", body.kind(), body.version());
                Diagnostic::new(
                    DiagnosticCode::UnreadableMessage,
                    Severity::Warning,
                    format!("message {}", node.id),
                    text,
                )
            })
    }
}

fn is_readable(node: &Node) -> bool {
    node.role().is_none()
        || (node.body().kind() == Message::KIND && node.body().version() <= Message::VERSION)
}

fn is_shown(node: &Node) -> bool {
    node.role().is_some() && is_readable(node) && !node.is_placeholder()
}
