//! Decides where a history is cut: which messages are covered, and which of them stay.

use std::ops::Range;

use context_core::Role;
use context_core::history::{Goal, HistoryView, clean_cuts};

/// A history in three parts: messages that stay in front, messages that may be covered, and the
/// newest steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The checkpoints in front; they are always covered.
    pub(crate) checkpoints: Range<usize>,
    /// The first message after the checkpoints and the system messages in front of the
    /// conversation.
    pub(crate) start: usize,
    /// The possible ends of the covered part, ascending, each covering something new. Never empty.
    pub(crate) ends: Vec<usize>,
    /// The anchors behind the start.
    anchors: Vec<usize>,
}

impl Cut {
    /// Cuts a history for a goal. A summary has at most `summary` tokens, and at least `least`
    /// messages stay at the end as far as they fit the window. Returns `None` if there is nothing
    /// new to cover.
    pub(crate) fn find(
        view: &HistoryView<'_>,
        goal: &Goal,
        summary: u64,
        least: usize,
    ) -> Option<Self> {
        let (messages, structure) = (view.messages(), view.structure());
        let checkpoints = structure.system..structure.start();
        let system =
            messages[checkpoints.end..].iter().take_while(|message| message.role == Role::System);
        let start = checkpoints.end + system.count();
        let anchors: Vec<usize> =
            view.anchors().positions().filter(|anchor| *anchor >= start).collect();

        let mut taken =
            summary.saturating_add(view.tokens_of(0..start) - view.tokens_of(checkpoints.clone()));
        let shortened = shortened_request(view);
        for anchor in &anchors {
            let tokens = view.tokens(*anchor);
            let is_shortened = shortened == Some(*anchor);
            taken = taken.saturating_add(if is_shortened { tokens.min(summary) } else { tokens });
        }
        let room = goal.history().saturating_sub(taken);
        let limit = goal.limit().saturating_sub(taken);

        let (mut tail, mut tokens, mut kept) = (messages.len(), 0_u64, 0);
        for group in structure.groups.iter().rev().take_while(|group| group.start >= start) {
            let anchored = anchors.iter().filter(|anchor| group.contains(anchor));
            let group_tokens =
                view.tokens_of(group.clone()) - anchored.map(|at| view.tokens(*at)).sum::<u64>();
            let total = tokens.saturating_add(group_tokens);
            // The model continues from the newest group, which stays however large it is.
            let newest = tail == messages.len();
            if !newest && total > room && (kept >= least || total > limit) {
                break;
            }
            (tail, tokens, kept) = (group.start, total, kept + group.len());
        }

        let fresh = (start..tail).find(|at| !anchors.contains(at))?;
        let is_clean = clean_cuts(messages);
        let starts = structure.groups.iter().map(|group| group.start);
        let ends: Vec<usize> =
            starts.filter(|at| (fresh + 1..=tail).contains(at) && is_clean[*at]).collect();
        (!ends.is_empty()).then_some(Self { checkpoints, start, ends, anchors })
    }

    /// Covers a whole history, of which nothing stays. Returns `None` if there are no messages.
    pub(crate) fn whole(view: &HistoryView<'_>) -> Option<Self> {
        let groups = &view.structure().groups;
        let ends: Vec<_> = groups.iter().map(|group| group.end).collect();
        (!ends.is_empty()).then_some(Self { checkpoints: 0..0, start: 0, ends, anchors: vec![] })
    }

    /// Returns the latest possible end of the covered part.
    pub(crate) fn end(&self) -> usize {
        self.ends.last().copied().unwrap_or(self.start)
    }

    /// Returns the covered messages before `end` that stay, in order.
    pub(crate) fn keeps(&self, end: usize) -> Vec<usize> {
        let anchors = self.anchors.iter().copied().filter(|at| *at < end);
        (0..self.checkpoints.start).chain(self.checkpoints.end..self.start).chain(anchors).collect()
    }

    /// Returns whether a message is one of those that stay.
    pub(crate) fn is_anchor(&self, at: usize) -> bool {
        self.anchors.contains(&at)
    }

    /// Returns how many tokens of a range are removed.
    pub(crate) fn removed_tokens(&self, view: &HistoryView<'_>, range: Range<usize>) -> u64 {
        let anchored = self
            .anchors
            .iter()
            .filter(|at| range.contains(at))
            .map(|at| view.tokens(*at))
            .sum::<u64>();
        view.tokens_of(range).saturating_sub(anchored)
    }
}

/// Returns the first request, which is shortened to the size of a summary, unless it is also the
/// newest or has to stay as it is.
pub(crate) fn shortened_request(view: &HistoryView<'_>) -> Option<usize> {
    let mut anchors = view.structure().anchors();
    let (first, _newest) = (anchors.next()?, anchors.next()?);
    (!view.anchors().is_verbatim(first)).then_some(first)
}
