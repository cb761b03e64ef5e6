//! Drafts of boundaries that are not stored yet.
//!
//! A draft names removed and retained messages by id rather than by count, because more messages
//! may be appended before the boundary is written, by another writer of the branch or by the user
//! during a summary. Messages that the draft does not know are retained.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{BoundaryStep, FrontEntry, Replacement, ShownMessage, StoredBoundary, shown};
use crate::base::display::clean;
use crate::history::{BoundaryKind, HistoryRewrite, PlanReport};
use crate::message::{MessageHash, NodeKind};
use crate::{Chain, Message, MessageId, Node, Timestamp};

/// A boundary that is not stored yet.
#[derive(Clone, Debug)]
pub struct BoundaryDraft {
    /// The boundary without the fields that depend on its position.
    template: StoredBoundary,
    /// The shown messages, in order.
    entries: Vec<Entry>,
    /// Messages of the chain that are not shown.
    removed: HashSet<MessageId>,
}

/// A shown message of a draft.
#[derive(Clone, Debug)]
enum Entry {
    Stored(MessageId),
    Shortened(Replacement),
    /// A message that a compaction made. It keeps its earlier id, or gets one derived from the
    /// boundary's id if it is new.
    Inserted {
        id: Option<MessageId>,
        message: Arc<Message>,
    },
}

/// An error of a boundary that cannot be created.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DraftError {
    /// The origins of the compacted history are missing or out of order.
    #[error(
        "the compacted history has {messages} messages and does not say in order where each came from"
    )]
    Misfit {
        /// Number of messages in the compacted history.
        messages: usize,
    },
    /// A message of the compacted history is no longer shown, so its treatment is unknown.
    #[error("message {} is not shown any more: the history has changed since it was compacted",
        clean(.message.as_str()))]
    Stale {
        /// The message.
        message: MessageId,
    },
    /// The boundary to undo is not a readable boundary of this chain.
    #[error("{} is not a readable boundary of this branch", clean(.boundary.as_str()))]
    NoBoundary {
        /// The boundary to undo.
        boundary: MessageId,
    },
}

crate::readable_debug!(DraftError);

impl Entry {
    fn of(shown: &ShownMessage) -> Self {
        let Some(stored) = &shown.stored else {
            return match shown.node.message() {
                Ok(message) => {
                    Self::Inserted { id: Some(shown.node.id.clone()), message: Arc::clone(message) }
                }
                Err(_) => Self::Stored(shown.node.id.clone()),
            };
        };
        match (shown.node.message(), stored.message()) {
            (Ok(message), Ok(of)) if !shown.is_decoded && !is_same_message(message, of) => {
                Self::shortened(stored, of.hash(), message)
            }
            _ => Self::Stored(stored.id.clone()),
        }
    }

    fn shortened(stored: &Node, of: MessageHash, message: &Arc<Message>) -> Self {
        Self::Shortened(Replacement { id: stored.id.clone(), of, message: Arc::clone(message) })
    }

    /// Returns the stored message that the entry shows, possibly shortened.
    fn stored(&self) -> Option<&MessageId> {
        match self {
            Self::Stored(id) | Self::Shortened(Replacement { id, .. }) => Some(id),
            Self::Inserted { .. } => None,
        }
    }
}

impl BoundaryDraft {
    /// Creates a draft from a compaction. `chain` is the history including everything that is about
    /// to be saved. `entries` are the messages that may be shown of it ([`shown`], unless another
    /// draft applies). `history` are the shown messages at the time of the compaction. The origins
    /// of `rewrite` are positions in it, not counting unreadable messages. Messages that were
    /// added since then are retained.
    ///
    /// Returns `None` if the compaction changes nothing.
    pub fn compact<'a>(
        chain: &Chain,
        entries: &[ShownMessage],
        history: impl IntoIterator<Item = &'a Arc<Node>>,
        rewrite: &HistoryRewrite,
        reports: &[PlanReport],
    ) -> Result<Option<Self>, DraftError> {
        let messages = rewrite.messages.len();
        let positions: HashMap<&MessageId, usize> = entries
            .iter()
            .enumerate()
            .map(|(position, shown)| (&shown.node.id, position))
            .collect();
        let mut known = Vec::new();
        for node in history.into_iter().filter(|node| node.message().is_ok()) {
            let position = positions.get(&node.id).copied();
            known.push(position.ok_or_else(|| DraftError::Stale { message: node.id.clone() })?);
        }
        let origins = rewrite.origins.iter().copied().flatten();
        let ordered = origins.clone().is_sorted_by(|a, b| a < b);
        let in_range = origins.clone().all(|origin| origin < known.len());
        if rewrite.origins.len() != messages || !ordered || !in_range {
            return Err(DraftError::Misfit { messages });
        }

        let inserted =
            |message: &Arc<Message>| Entry::Inserted { id: None, message: Arc::clone(message) };
        let placed = rewrite.messages.iter().zip(&rewrite.origins);
        let new: Vec<Entry> = placed
            .map(|(message, origin)| {
                let Some(shown) = origin.map(|origin| &entries[known[origin]]) else {
                    return inserted(message);
                };
                if shown.node.message().is_ok_and(|shown| is_same_message(shown, message)) {
                    return Entry::of(shown);
                }
                match shown.stored.as_ref().map(|stored| (stored, stored.message())) {
                    Some((stored, Ok(of))) if is_same_message(of, message) => {
                        Entry::Stored(stored.id.clone())
                    }
                    Some((stored, Ok(of))) => Entry::shortened(stored, of.hash(), message),
                    _ => inserted(message),
                }
            })
            .collect();

        // The messages that were hidden before, and those that are removed now.
        let mut removed = hidden(chain, entries);
        let kept: HashSet<&MessageId> = new.iter().filter_map(Entry::stored).collect();
        let removable = known.iter().filter_map(|position| entries[*position].stored.as_ref());
        removed.extend(removable.map(|stored| &stored.id).filter(|id| !kept.contains(id)).cloned());
        let unchanged = messages == known.len()
            && rewrite.messages.iter().zip(&known).all(|(message, position)| {
                entries[*position].node.message().is_ok_and(|shown| is_same_message(shown, message))
            });
        if unchanged {
            return Ok(None);
        }
        let steps: Vec<BoundaryStep> =
            reports.iter().filter(|report| report.applied).map(BoundaryStep::from).collect();
        Ok(Some(Self { template: template(steps), entries: new, removed }))
    }

    /// Creates a draft that undoes a boundary of the chain: the messages shown before it are shown
    /// again, followed by later ones.
    pub fn undo(chain: &Chain, boundary: &MessageId) -> Result<Self, DraftError> {
        let no_boundary = || DraftError::NoBoundary { boundary: boundary.clone() };
        let position = chain.position(boundary).ok_or_else(no_boundary)?;
        let node = chain.get(position).filter(|node| node.kind == NodeKind::Boundary);
        let undone = node
            .and_then(|node| StoredBoundary::decode(node.body()).ok())
            .ok_or_else(no_boundary)?;
        let before = chain.prefix(position);
        let entries = shown(&before);
        let removed = hidden(&before, &entries);
        let template = StoredBoundary {
            kind: BoundaryKind::Undo,
            description: undone.description,
            before: undone.after,
            after: undone.before,
            undoes: Some(boundary.clone()),
            ..template(Vec::new())
        };
        Ok(Self { template, entries: entries.iter().map(Entry::of).collect(), removed })
    }

    /// Returns the boundary that this draft undoes.
    pub fn undoes(&self) -> Option<&MessageId> {
        self.template.undoes.as_ref()
    }

    /// Combines the draft with an earlier one that was not stored either, and whose result it was
    /// made from.
    #[must_use]
    pub fn with_earlier(mut self, earlier: &Self) -> Self {
        let mut steps = earlier.template.steps.clone();
        steps.append(&mut self.template.steps);
        self.template =
            StoredBoundary { undoes: earlier.template.undoes.clone(), ..template(steps) };
        self
    }

    /// Leaves messages out of the draft that are shown and never stored. Wherever they are on a
    /// chain, they are retained.
    #[must_use]
    pub fn without(mut self, messages: &HashSet<MessageId>) -> Self {
        self.removed.retain(|id| !messages.contains(id));
        self.entries.retain(|entry| entry.stored().is_none_or(|id| !messages.contains(id)));
        self
    }

    /// Returns the boundary to write at the end of a chain, under this id. Messages of the chain
    /// that the draft does not know keep their positions.
    ///
    /// Returns `None` if a removed message is not on the chain. The draft was then made for another
    /// branch, and its checkpoint may describe events that did not happen on this one.
    pub fn boundary(&self, chain: &Chain, id: &MessageId) -> Option<StoredBoundary> {
        let nodes: Vec<&Arc<Node>> = chain.iter().filter(|node| node.role().is_some()).collect();
        let positions: HashMap<&MessageId, usize> =
            nodes.iter().enumerate().map(|(position, node)| (&node.id, position)).collect();
        if !self.removed.iter().all(|id| positions.contains_key(id)) {
            return None;
        }
        let known: HashSet<&MessageId> =
            self.removed.iter().chain(self.entries.iter().filter_map(Entry::stored)).collect();
        let mut new =
            (0..nodes.len()).filter(|position| !known.contains(&nodes[*position].id)).peekable();

        let mut replaced = Vec::new();
        let mut shown: Vec<(FrontEntry, Option<usize>)> = Vec::with_capacity(self.entries.len());
        let stored =
            |position: usize| (FrontEntry::Stored(nodes[position].id.clone()), Some(position));
        for (index, entry) in self.entries.iter().enumerate() {
            match entry {
                Entry::Inserted { id: known, message } => {
                    let id = known.clone().unwrap_or_else(|| format!("{id}/{index}").into());
                    shown.push((FrontEntry::Made { id, message: Arc::clone(message) }, None))
                }
                Entry::Stored(id) | Entry::Shortened(Replacement { id, .. }) => {
                    let Some(&position) = positions.get(id) else { continue };
                    while let Some(new) = new.next_if(|new| *new < position) {
                        shown.push(stored(new));
                    }
                    shown.push(stored(position));
                    if let Entry::Shortened(replacement) = entry {
                        replaced.push(replacement.clone());
                    }
                }
            }
        }
        shown.extend(new.map(stored));

        let retained = shown
            .iter()
            .filter(|(_, position)| position.is_none_or(|position| nodes[position].is_shown()));
        let retained = retained.count() as u64;
        let backwards = shown.iter().rev().zip((0..nodes.len()).rev());
        let since =
            backwards.take_while(|((_, position), expected)| *position == Some(*expected)).count();
        shown.truncate(shown.len() - since);
        let front = shown.into_iter().map(|(entry, _)| entry).collect();
        Some(StoredBoundary {
            front,
            since: since as u64,
            replaced,
            retained,
            ..self.template.clone()
        })
    }

    /// Returns the node to write at the end of a chain; see [`boundary`](Self::boundary).
    pub fn node(&self, chain: &Chain, id: MessageId, at: Timestamp) -> Option<Node> {
        let body = self.boundary(chain, &id)?.encode();
        Some(Node::from_encoded(id, NodeKind::Boundary, at, body))
    }
}

/// Creates a boundary from applied plans, without its position.
fn template(steps: Vec<BoundaryStep>) -> StoredBoundary {
    let last = steps.last();
    StoredBoundary {
        kind: last.map_or(BoundaryKind::Compact, |step| step.kind),
        policy: last.map(|step| step.policy.clone()).unwrap_or_default(),
        description: steps
            .iter()
            .map(|step| step.description.as_str())
            .collect::<Vec<_>>()
            .join(", "),
        before: steps.first().map_or(0, |step| step.before),
        after: last.map_or(0, |step| step.after),
        retained: 0,
        front: Vec::new(),
        since: 0,
        replaced: Vec::new(),
        undoes: None,
        steps,
    }
}

/// Returns the messages of a chain that are not shown.
fn hidden(chain: &Chain, entries: &[ShownMessage]) -> HashSet<MessageId> {
    let shown: HashSet<&MessageId> =
        entries.iter().filter_map(|shown| shown.stored.as_ref()).map(|stored| &stored.id).collect();
    let messages = chain.iter().filter(|node| node.role().is_some());
    messages.map(|node| &node.id).filter(|id| !shown.contains(id)).cloned().collect()
}

fn is_same_message(a: &Arc<Message>, b: &Arc<Message>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}
