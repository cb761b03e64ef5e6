//! The history that a request is made of: the messages that are shown, and what became of the
//! others.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use context_core::history::{HistoryRewrite, ShownMessage, StoredBoundary};
use context_core::message::NodeKind;
use context_core::{Message, MessageId, Node};

use super::branch::Branch;
use super::plans::{CutInForce, ProposedPlan};

/// A message that is shown.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) message: Arc<Message>,
    /// The position of the stored message. `None` for a message that a cut made.
    pub(super) stored: Option<u32>,
    /// The cut that shortened or made the message, as an index of [`ShownHistory::cuts`].
    pub(super) cut: Option<u32>,
}

/// A cut and the positions of the messages that it removed.
#[derive(Clone, Debug)]
pub(super) struct CutRecord {
    pub(super) cut: CutInForce,
    pub(super) removed: Vec<u32>,
}

/// The history up to a position of the branch.
#[derive(Debug, Default)]
pub(super) struct ShownHistory {
    pub(super) entries: Vec<Shown>,
    /// All cuts so far, in the order in which they were made.
    pub(super) cuts: Vec<CutRecord>,
    /// The cut that removed what no other cut names.
    pub(super) base: Option<u32>,
    position: usize,
}

impl ShownHistory {
    /// Returns the history of the first `end` nodes. With a boundary, only what it shows is read.
    pub(super) fn of(branch: &Branch, end: usize, boundaries: bool) -> Self {
        let mut history = Self::default();
        let before = branch.chain.prefix(end);
        if boundaries
            && branch.has_boundaries
            && let Some((position, boundary)) = StoredBoundary::in_force(&before)
        {
            let id = &branch.chain[position].id;
            history.add_cuts(CutInForce::of_boundary(&boundary, id, None));
            let (shortened, removed) = (history.last(true), history.last(false));
            let window = boundary.window(&branch.chain, position);
            let entries = window.iter().filter_map(|shown| entry(branch, shown));
            history.entries = entries
                .map(|mut shown| {
                    shown.cut = match shown.stored {
                        Some(at) if !is_stored(branch, at, &shown.message) => shortened,
                        Some(_) => None,
                        None => removed,
                    };
                    shown
                })
                .collect();
            (history.base, history.position) = (removed, position + 1);
        }
        history.advance(branch, end, boundaries);
        history
    }

    /// Adds the nodes up to `end`.
    pub(super) fn advance(&mut self, branch: &Branch, end: usize, boundaries: bool) {
        for position in self.position..end {
            let node = &branch.chain[position];
            match node.kind {
                NodeKind::Boundary if boundaries => {
                    if let Ok(boundary) = StoredBoundary::decode(node.body()) {
                        let target = window_before(branch, &boundary, position, usize::MAX);
                        self.adopt(branch, &boundary, &node.id, target, None);
                    }
                }
                NodeKind::Message(_) if node.is_shown() => {
                    if let Ok(message) = node.message() {
                        let (message, stored) = (Arc::clone(message), index(position));
                        self.entries.push(Shown { message, stored, cut: None });
                    }
                }
                _ => {}
            }
        }
        self.position = self.position.max(end);
    }

    /// Returns the messages that are shown.
    pub(super) fn messages(&self) -> Vec<Arc<Message>> {
        self.entries.iter().map(|shown| Arc::clone(&shown.message)).collect()
    }

    /// Whether these are the messages that are shown.
    pub(super) fn is(&self, entries: &[Shown]) -> bool {
        self.entries.len() == entries.len()
            && self.entries.iter().zip(entries).all(|(a, b)| a.stored == b.stored && is_same(a, b))
    }

    /// Shows what a stored boundary shows. If that is shown already, the cuts that led there are
    /// those of the boundary.
    pub(super) fn adopt(
        &mut self,
        branch: &Branch,
        boundary: &StoredBoundary,
        id: &MessageId,
        mut target: Vec<Shown>,
        request: Option<usize>,
    ) {
        if self.is(&target) {
            let unconfirmed = self.cuts.iter_mut().filter(|record| record.cut.boundary.is_none());
            unconfirmed.for_each(|record| record.cut.boundary = Some(id.clone()));
            return;
        }
        self.add_cuts(CutInForce::of_boundary(boundary, id, request));
        let (shortened, made) = (self.last(true), self.last(false));
        let old: HashMap<u32, &Shown> = self
            .entries
            .iter()
            .filter_map(|shown| shown.stored.map(|stored| (stored, shown)))
            .collect();
        let old_made = || self.entries.iter().filter(|shown| shown.stored.is_none());
        for shown in &mut target {
            let known = match shown.stored {
                Some(at) if is_stored(branch, at, &shown.message) => {
                    shown.cut = None;
                    continue;
                }
                Some(at) => old.get(&at).copied().filter(|known| is_same(known, shown)),
                None => old_made().find(|known| is_same(known, shown)),
            };
            let new = if shown.stored.is_some() { shortened } else { made };
            shown.cut = known.map_or(new, |known| known.cut.or(new));
        }
        self.replace(target, made);
    }

    /// Carries out the plans of a call, one after the other. `sent` is what they left together.
    pub(super) fn carry_out(
        &mut self,
        plans: &[ProposedPlan],
        sent: &[Arc<Message>],
        request: usize,
    ) {
        let before = self.entries.clone();
        for plan in plans {
            if let Ok(step) = plan.plan.apply(&self.messages()) {
                self.add_cuts(vec![CutInForce::of_plan(plan, request)]);
                let cut = self.last(false);
                self.replace(rewritten(&self.entries, &step, cut), cut);
            }
        }
        // The runtime has the last word about what was sent.
        let is_same = self.entries.len() == sent.len()
            && self.entries.iter().zip(sent).all(|(shown, message)| {
                Arc::ptr_eq(&shown.message, message) || shown.message == *message
            });
        if !is_same {
            let cut = self.last(false);
            let address = |message: &Arc<Message>| Arc::as_ptr(message).addr();
            let known: HashMap<usize, usize> = before
                .iter()
                .enumerate()
                .map(|(at, shown)| (address(&shown.message), at))
                .collect();
            let origin = |message: &Arc<Message>| known.get(&address(message)).copied();
            let left = sent.iter().map(|message| (origin(message), Arc::clone(message)));
            let rewrite = HistoryRewrite::new(before.len(), left);
            self.entries.clone_from(&before);
            self.replace(rewritten(&before, &rewrite, cut), cut);
        }
    }

    /// Shows these messages. What is no longer shown was removed by this cut.
    fn replace(&mut self, entries: Vec<Shown>, cut: Option<u32>) {
        let left: HashSet<u32> = entries.iter().filter_map(|shown| shown.stored).collect();
        let gone = self.entries.iter().filter_map(|shown| shown.stored);
        let gone: Vec<u32> = gone.filter(|stored| !left.contains(stored)).collect();
        if let Some(record) = cut.and_then(|cut| self.cuts.get_mut(cut as usize)) {
            record.removed.extend(gone);
        }
        self.entries = entries;
    }

    fn add_cuts(&mut self, cuts: Vec<CutInForce>) {
        self.cuts.extend(cuts.into_iter().map(|cut| CutRecord { cut, removed: Vec::new() }));
    }

    /// Returns the last of the newest cuts: of one boundary, the last one that shortens or removes.
    fn last(&self, shortens: bool) -> Option<u32> {
        let newest = self.cuts.last()?;
        let together = self.cuts.iter().enumerate().rev().take_while(|(_, record)| {
            newest.cut.boundary.is_some() && record.cut.boundary == newest.cut.boundary
        });
        let fitting = together.into_iter().find(|(_, it)| it.cut.shortens() == shortens);
        index(fitting.map_or(self.cuts.len() - 1, |(at, _)| at))
    }
}

/// Returns what a boundary shows of the nodes before it and before `end`.
pub(super) fn window_before(
    branch: &Branch,
    boundary: &StoredBoundary,
    position: usize,
    end: usize,
) -> Vec<Shown> {
    let window = boundary.window(&branch.chain, position);
    let entries = window.iter().filter_map(|shown| entry(branch, shown));
    entries.filter(|shown| shown.stored.is_none_or(|at| (at as usize) < end)).collect()
}

/// Returns the rewrite that makes one history of another.
pub(super) fn rewrite_between(from: &[Shown], to: &[Shown]) -> HistoryRewrite {
    let positions: HashMap<u32, usize> =
        from.iter().enumerate().filter_map(|(at, shown)| Some((shown.stored?, at))).collect();
    let origin = |shown: &Shown| match shown.stored {
        Some(stored) => positions.get(&stored).copied(),
        None => from.iter().position(|known| known.stored.is_none() && is_same(known, shown)),
    };
    HistoryRewrite::new(from.len(), to.iter().map(|shown| (origin(shown), shown.message.clone())))
}

/// Returns the entries that a rewrite leaves. What it changed or made is of this cut.
fn rewritten(entries: &[Shown], rewrite: &HistoryRewrite, cut: Option<u32>) -> Vec<Shown> {
    let one = |(message, origin): (&Arc<Message>, &Option<usize>)| {
        let message = Arc::clone(message);
        match origin.and_then(|origin| entries.get(origin)) {
            Some(known) if Arc::ptr_eq(&known.message, &message) => known.clone(),
            Some(known) => Shown { message, stored: known.stored, cut },
            None => Shown { message, stored: None, cut },
        }
    };
    rewrite.messages.iter().zip(&rewrite.origins).map(one).collect()
}

fn entry(branch: &Branch, shown: &ShownMessage) -> Option<Shown> {
    let node = Some(&shown.node).filter(|node| node.is_shown())?;
    let message = Arc::clone(node.message().ok()?);
    let stored = shown.stored.as_ref().map(|stored: &Arc<Node>| &stored.id);
    let stored = stored.and_then(|id| index(*branch.positions.get(id)?));
    Some(Shown { message, stored, cut: None })
}

/// Whether a message is the stored one at a position.
fn is_stored(branch: &Branch, at: u32, message: &Arc<Message>) -> bool {
    let stored = branch.chain.get(at as usize).and_then(|node| node.message().ok());
    stored.is_some_and(|stored| Arc::ptr_eq(stored, message) || stored == message)
}

fn is_same(a: &Shown, b: &Shown) -> bool {
    Arc::ptr_eq(&a.message, &b.message) || a.message == b.message
}

/// Returns a position in a compact form. Chains are far shorter than its maximum.
pub(super) fn index(position: usize) -> Option<u32> {
    u32::try_from(position).ok()
}
