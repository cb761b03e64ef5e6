//! The result of cuts.

use std::ops::Range;
use std::sync::Arc;

use super::{Boundary, Plan, PlanError};
use crate::{Message, Messages};

/// The result of cuts of a history: the messages that are left, and the origin of each.
///
/// Rewrites compose: [`then`](Self::then) is the only place where positions of one history are
/// translated to those of an earlier one.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::Message;
/// use context_core::history::HistoryRewrite;
///
/// let history: Vec<_> = ["a", "b", "c", "d"].map(|text| Arc::new(Message::from(text))).to_vec();
/// let first = HistoryRewrite::retain(&history, [0, 2, 3]);
/// let second = HistoryRewrite::retain(&first.messages, [0, 2]);
/// assert_eq!(first.then(second).origins, [Some(0), Some(3)]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct HistoryRewrite {
    /// The number of messages of the original history that the rewrite was made from. Later
    /// messages follow unchanged, see [`resume`](Self::resume).
    pub covered: usize,
    /// The messages that are left, with those that a cut added.
    pub messages: Messages,
    /// For each message its position in the original history, also if it was shortened. `None` for
    /// a message that a cut added.
    pub origins: Vec<Option<usize>>,
    /// The cuts, in the order in which they were made.
    pub boundaries: Vec<Boundary>,
}

impl HistoryRewrite {
    /// Creates a rewrite that changes nothing.
    pub fn identity(messages: &[Arc<Message>]) -> Self {
        let mut rewrite = Self::default();
        rewrite.resume(&messages.into());
        rewrite
    }

    /// Creates a rewrite of a history of `covered` messages from the messages that are left, each
    /// with its position in that history.
    pub fn new(
        covered: usize,
        messages: impl IntoIterator<Item = (Option<usize>, Arc<Message>)>,
    ) -> Self {
        let (origins, messages): (_, Vec<_>) = messages.into_iter().unzip();
        let messages = messages.into();
        Self { covered, messages, origins, boundaries: Vec::new() }
    }

    /// Creates a rewrite that retains the messages at these positions.
    pub fn retain(history: &[Arc<Message>], positions: impl IntoIterator<Item = usize>) -> Self {
        let left =
            positions.into_iter().filter_map(|at| Some((Some(at), Arc::clone(history.get(at)?))));
        Self::new(history.len(), left)
    }

    /// Adds a boundary.
    #[must_use]
    pub fn boundary(mut self, boundary: Boundary) -> Self {
        self.boundaries.push(boundary);
        self
    }

    /// Applies a plan that was made for the messages that are left.
    pub fn apply(&self, plan: &Plan) -> Result<Self, PlanError> {
        Ok(self.clone().then(plan.apply(&self.messages)?))
    }

    /// Returns the rewrite of the original history that this one and then `next` make. `next` is a
    /// rewrite of the messages that this one left. If it covers only the first of them, the others
    /// follow unchanged.
    #[must_use]
    pub fn then(self, mut next: Self) -> Self {
        next.resume(&self.messages);
        for origin in &mut next.origins {
            *origin = origin.and_then(|at| self.origins.get(at).copied().flatten());
        }
        let mut boundaries = self.boundaries;
        boundaries.append(&mut next.boundaries);
        Self { covered: self.covered, boundaries, ..next }
    }

    /// Appends the messages of the original history that were added since the rewrite was made.
    /// `history` is the whole original history.
    pub fn resume(&mut self, history: &Messages) {
        let new = self.covered.min(history.len())..history.len();
        self.messages.extend(history.range(new.clone()).cloned());
        self.origins.extend(new.map(Some));
        self.covered = self.covered.max(history.len());
    }

    /// Returns whether the rewrite can have been made of the beginning of a history with this many
    /// messages: it covers no more of them, and each message has an origin within that part, or
    /// none.
    pub fn fits(&self, messages: usize) -> bool {
        let within = |at: &usize| *at < self.covered;
        self.covered <= messages
            && self.origins.len() == self.messages.len()
            && self.origins.iter().flatten().all(within)
    }

    /// Appends these messages of the original history.
    pub(super) fn keep(&mut self, history: &[Arc<Message>], range: Range<usize>) {
        self.messages.extend(history[range.clone()].iter().map(Arc::clone));
        self.origins.extend(range.map(Some));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::BoundaryKind;

    fn history(messages: usize) -> Messages {
        (0..messages).map(|n| Arc::new(Message::from(format!("m{n}")))).collect()
    }

    fn texts(rewrite: &HistoryRewrite) -> Vec<String> {
        rewrite.messages.iter().map(|message| message.plain_text().into_owned()).collect()
    }

    /// A cut, then a checkpoint in place of the first messages that are left, then new messages.
    #[test]
    fn rewrites_compose_to_positions_in_the_first_history() {
        let all = history(6);
        let cut = HistoryRewrite::retain(&all[..5], [0, 2, 3, 4])
            .boundary(Boundary::new(BoundaryKind::Snip, 4));
        let checkpoint = Arc::new(Message::from("so far"));
        let left = [(None, checkpoint), (Some(2), Arc::clone(&cut.messages[2]))];
        let summary =
            HistoryRewrite::new(3, left).boundary(Boundary::new(BoundaryKind::Compact, 3));
        let mut both = cut.then(summary);
        assert_eq!(both.origins, [None, Some(3), Some(4)], "m4 was not covered by the summary");
        both.resume(&all);
        assert_eq!(texts(&both), ["so far", "m3", "m4", "m5"]);
        assert_eq!((both.covered, both.origins.last()), (6, Some(&Some(5))));
        let kinds: Vec<_> = both.boundaries.iter().map(|boundary| boundary.kind).collect();
        assert_eq!(kinds, [BoundaryKind::Snip, BoundaryKind::Compact]);
    }

    #[test]
    fn the_identity_changes_nothing_before_or_after() {
        let all = history(4);
        let cut = HistoryRewrite::retain(&all, [0, 3]);
        let identity = HistoryRewrite::identity(&all);
        assert_eq!(identity.then(cut.clone()), cut);
        assert_eq!(cut.clone().then(HistoryRewrite::identity(&cut.messages)), cut);
    }

    #[test]
    fn a_rewrite_of_a_longer_history_does_not_fit() {
        let all = history(4);
        let cut = HistoryRewrite::retain(&all, [0, 3]);
        assert!(cut.fits(4) && cut.fits(5) && !cut.fits(3));
        let beyond = HistoryRewrite::new(2, [(Some(2), Arc::clone(&all[2]))]);
        assert!(!beyond.fits(4));
        let mut uneven = cut;
        uneven.origins.pop();
        assert!(!uneven.fits(4));
    }

    #[test]
    fn composition_is_associative() {
        let all = history(8);
        let subsets = |of: usize| {
            (0..1_u32 << of.min(4))
                .map(|bits| (0..4).filter(move |at| bits & (1 << at) != 0).collect::<Vec<usize>>())
        };
        let a = HistoryRewrite::retain(&all, [1, 3, 4, 6]);
        for second in subsets(4) {
            let b = HistoryRewrite::retain(&a.messages, second);
            for third in subsets(b.messages.len()) {
                let c = HistoryRewrite::retain(&b.messages, third);
                let left = a.clone().then(b.clone()).then(c.clone());
                assert_eq!(left, a.clone().then(b.clone().then(c)));
            }
        }
    }
}
