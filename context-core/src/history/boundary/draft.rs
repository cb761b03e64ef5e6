//! Boundaries that are not stored yet.
//!
//! A draft says by ids what goes and what stays, not by counts, because more messages may come
//! before the boundary is written: those of somebody else who writes to the branch, or of the user
//! while a summary was made. What it does not know stays.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{BoundaryStep, FrontEntry, Replacement, Shown, StoredBoundary, shown};
use crate::base::shown::clean;
use crate::history::{BoundaryKind, Compacted, PlanReport};
use crate::message::{MessageHash, NodeKind};
use crate::{Chain, Message, MessageId, Node, Timestamp};

/// A boundary that is not stored yet.
#[derive(Clone, Debug)]
pub struct BoundaryDraft {
    /// What is to be written, without what depends on the place.
    about: StoredBoundary,
    /// What is shown, in order.
    entries: Vec<Entry>,
    /// Messages of the chain that are not shown.
    removed: HashSet<MessageId>,
}

#[derive(Clone, Debug)]
enum Entry {
    Stored(MessageId),
    Shortened(Replacement),
    /// Under the id it was shown with before; under one of the boundary, if it is new.
    Made {
        id: Option<MessageId>,
        message: Arc<Message>,
    },
}

/// Why no boundary can be made.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DraftError {
    /// The compacted history does not say where its messages came from, or does not say it in
    /// order.
    #[error(
        "the compacted history has {messages} messages and does not say in order where each came from"
    )]
    Misfit {
        /// How many messages it has.
        messages: usize,
    },
    /// A message of the history that was compacted is not shown any more, so it is not known what
    /// became of it.
    #[error("message {} is not shown any more: the history is another one than was compacted",
        clean(.message.as_str()))]
    Stale {
        /// Which message.
        message: MessageId,
    },
    /// What is to be undone is no boundary of this chain that can be read.
    #[error("{} is no boundary of this branch that can be read", clean(.boundary.as_str()))]
    NoBoundary {
        /// What was to be undone.
        boundary: MessageId,
    },
}

crate::readable_debug!(DraftError);

impl Entry {
    fn of(shown: &Shown) -> Self {
        let Some(stored) = &shown.stored else {
            return match shown.node.message() {
                Ok(message) => {
                    Self::Made { id: Some(shown.node.id.clone()), message: Arc::clone(message) }
                }
                Err(_) => Self::Stored(shown.node.id.clone()),
            };
        };
        match (shown.node.message(), stored.message()) {
            (Ok(message), Ok(of)) if !same(message, of) => {
                Self::shortened(stored, of.hash(), message)
            }
            _ => Self::Stored(stored.id.clone()),
        }
    }

    fn shortened(stored: &Node, of: MessageHash, message: &Arc<Message>) -> Self {
        Self::Shortened(Replacement { id: stored.id.clone(), of, message: Arc::clone(message) })
    }

    /// The stored message that it is, or is a shorter form of.
    fn stored(&self) -> Option<&MessageId> {
        match self {
            Self::Stored(id) | Self::Shortened(Replacement { id, .. }) => Some(id),
            Self::Made { .. } => None,
        }
    }
}

impl BoundaryDraft {
    /// Of a compaction. `chain` is the history with everything that is to be saved, `entries` what
    /// may be shown of it ([`shown`], if no other draft lies over it), and `history` the messages
    /// that `compacted` was made of, whose positions it names: what was shown, of which only what
    /// cannot be read is left out. What came to be shown since then stays.
    ///
    /// Nothing if the compaction changes nothing.
    pub fn compact<'a>(
        chain: &Chain,
        entries: &[Shown],
        history: impl IntoIterator<Item = &'a Arc<Node>>,
        compacted: &Compacted,
        reports: &[PlanReport],
    ) -> Result<Option<Self>, DraftError> {
        let messages = compacted.messages.len();
        let places: HashMap<&MessageId, usize> =
            entries.iter().enumerate().map(|(place, shown)| (&shown.node.id, place)).collect();
        let mut known = Vec::new();
        for node in history.into_iter().filter(|node| node.message().is_ok()) {
            let place = places.get(&node.id).copied();
            known.push(place.ok_or_else(|| DraftError::Stale { message: node.id.clone() })?);
        }
        let origins = compacted.origins.iter().copied().flatten();
        let ordered = origins.clone().is_sorted_by(|a, b| a < b);
        let within = origins.clone().all(|origin| origin < known.len());
        if compacted.origins.len() != messages || !ordered || !within {
            return Err(DraftError::Misfit { messages });
        }

        let made = |message: &Arc<Message>| Entry::Made { id: None, message: Arc::clone(message) };
        let placed = compacted.messages.iter().zip(&compacted.origins);
        let new: Vec<Entry> = placed
            .map(|(message, origin)| {
                let Some(shown) = origin.map(|origin| &entries[known[origin]]) else {
                    return made(message);
                };
                if shown.node.message().is_ok_and(|shown| same(shown, message)) {
                    return Entry::of(shown);
                }
                match shown.stored.as_ref().map(|stored| (stored, stored.message())) {
                    Some((stored, Ok(of))) if same(of, message) => Entry::Stored(stored.id.clone()),
                    Some((stored, Ok(of))) => Entry::shortened(stored, of.hash(), message),
                    _ => made(message),
                }
            })
            .collect();

        // What was hidden before, and what goes now.
        let mut removed = hidden(chain, entries);
        let kept: HashSet<&MessageId> = new.iter().filter_map(Entry::stored).collect();
        let going = known.iter().filter_map(|place| entries[*place].stored.as_ref());
        removed.extend(going.map(|stored| &stored.id).filter(|id| !kept.contains(id)).cloned());
        let unchanged = messages == known.len()
            && compacted.messages.iter().zip(&known).all(|(message, place)| {
                entries[*place].node.message().is_ok_and(|shown| same(shown, message))
            });
        if unchanged {
            return Ok(None);
        }
        let steps: Vec<BoundaryStep> =
            reports.iter().filter(|report| report.applied).map(BoundaryStep::from).collect();
        Ok(Some(Self { about: about(steps), entries: new, removed }))
    }

    /// Of taking back a boundary of the chain: what was shown before it is shown again, with what
    /// came since.
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
        let about = StoredBoundary {
            kind: BoundaryKind::Undo,
            what: undone.what,
            before: undone.after,
            after: undone.before,
            undoes: Some(boundary.clone()),
            ..about(Vec::new())
        };
        Ok(Self { about, entries: entries.iter().map(Entry::of).collect(), removed })
    }

    /// The boundary that it takes back.
    pub fn undoes(&self) -> Option<&MessageId> {
        self.about.undoes.as_ref()
    }

    /// The same draft, which has taken in an earlier one that was not stored either: it was made of
    /// what that one showed.
    #[must_use]
    pub fn after(mut self, earlier: &Self) -> Self {
        let mut steps = earlier.about.steps.clone();
        steps.append(&mut self.about.steps);
        self.about = StoredBoundary { undoes: earlier.about.undoes.clone(), ..about(steps) };
        self
    }

    /// The boundary as it is to be written behind a chain, under an id. Messages of the chain that
    /// the draft does not know stay where they are.
    ///
    /// Nothing if something that it removes is not on the chain: it was made for another branch,
    /// and what a compaction says in its place may tell of what never happened on this one.
    pub fn behind(&self, chain: &Chain, id: &MessageId) -> Option<StoredBoundary> {
        let nodes: Vec<&Arc<Node>> = chain.iter().filter(|node| node.role().is_some()).collect();
        let places: HashMap<&MessageId, usize> =
            nodes.iter().enumerate().map(|(place, node)| (&node.id, place)).collect();
        if !self.removed.iter().all(|id| places.contains_key(id)) {
            return None;
        }
        let known: HashSet<&MessageId> =
            self.removed.iter().chain(self.entries.iter().filter_map(Entry::stored)).collect();
        let mut new =
            (0..nodes.len()).filter(|place| !known.contains(&nodes[*place].id)).peekable();

        let mut replaced = Vec::new();
        let mut shown: Vec<(FrontEntry, Option<usize>)> = Vec::with_capacity(self.entries.len());
        let stored = |place: usize| (FrontEntry::Stored(nodes[place].id.clone()), Some(place));
        for (index, entry) in self.entries.iter().enumerate() {
            match entry {
                Entry::Made { id: known, message } => {
                    let id = known.clone().unwrap_or_else(|| format!("{id}/{index}").into());
                    shown.push((FrontEntry::Made { id, message: Arc::clone(message) }, None))
                }
                Entry::Stored(id) | Entry::Shortened(Replacement { id, .. }) => {
                    let Some(&place) = places.get(id) else { continue };
                    while let Some(new) = new.next_if(|new| *new < place) {
                        shown.push(stored(new));
                    }
                    shown.push(stored(place));
                    if let Entry::Shortened(replacement) = entry {
                        replaced.push(replacement.clone());
                    }
                }
            }
        }
        shown.extend(new.map(stored));

        let retained =
            shown.iter().filter(|(_, place)| place.is_none_or(|place| nodes[place].is_shown()));
        let retained = retained.count() as u64;
        let backwards = shown.iter().rev().zip((0..nodes.len()).rev());
        let since =
            backwards.take_while(|((_, place), expected)| *place == Some(*expected)).count();
        shown.truncate(shown.len() - since);
        let front = shown.into_iter().map(|(entry, _)| entry).collect();
        Some(StoredBoundary {
            front,
            since: since as u64,
            replaced,
            retained,
            ..self.about.clone()
        })
    }

    /// The node to be written behind a chain; see [`behind`](Self::behind).
    pub fn node(&self, chain: &Chain, id: MessageId, at: Timestamp) -> Option<Node> {
        let body = self.behind(chain, &id)?.encode();
        Some(Node::from_encoded(id, NodeKind::Boundary, at, body))
    }
}

/// A boundary that these plans made, without its place.
fn about(steps: Vec<BoundaryStep>) -> StoredBoundary {
    let last = steps.last();
    StoredBoundary {
        kind: last.map_or(BoundaryKind::Compact, |step| step.kind),
        policy: last.map(|step| step.policy.clone()).unwrap_or_default(),
        what: steps.iter().map(|step| step.what.as_str()).collect::<Vec<_>>().join(", "),
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

/// The messages of a chain of which nothing is shown.
fn hidden(chain: &Chain, entries: &[Shown]) -> HashSet<MessageId> {
    let shown: HashSet<&MessageId> =
        entries.iter().filter_map(|shown| shown.stored.as_ref()).map(|stored| &stored.id).collect();
    let messages = chain.iter().filter(|node| node.role().is_some());
    messages.map(|node| &node.id).filter(|id| !shown.contains(id)).cloned().collect()
}

fn same(a: &Arc<Message>, b: &Arc<Message>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}
