//! Selection of the messages that stay.

use std::sync::Arc;

use context_core::history::{HistoryView, clean_cuts};
use context_core::{Message, Role};

/// Returns the newest of these messages: the share `keep_ratio` of their number, rounded down, at
/// least one. The ratio is clamped to 0.05 to 1; NaN counts as 0.05.
///
/// Nothing else is checked: a caller that sends the messages repairs them first, because calls or
/// results may be missing.
pub fn newest(messages: &[Arc<Message>], keep_ratio: f64) -> &[Arc<Message>] {
    let keep = (messages.len() as f64 * clamp(keep_ratio)).floor() as usize;
    &messages[messages.len().saturating_sub(keep.max(1))..]
}

/// Clamps a ratio to its range.
pub(crate) fn clamp(keep_ratio: f64) -> f64 {
    if keep_ratio.is_nan() { 0.05 } else { keep_ratio.clamp(0.05, 1.0) }
}

/// The limit of the part that stays.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    /// A number of tokens.
    Tokens(u64),
    /// A number of messages, besides those that always stay.
    Messages(usize),
}

/// The messages of a history that always stay, and the places where it may be cut.
#[derive(Debug)]
pub(crate) struct Selector<'v, 'm> {
    view: &'v HistoryView<'m>,
    /// For each message, whether it always stays: checkpoints, system messages in front, the view's
    /// anchors.
    always: Vec<bool>,
    /// For each position, whether a cut there separates no call from its result.
    is_clean_cut: Vec<bool>,
    /// The beginning of the newest step of the newest request, which is the current one.
    current: usize,
}

impl<'v, 'm> Selector<'v, 'm> {
    pub(crate) fn new(view: &'v HistoryView<'m>) -> Self {
        let (messages, structure) = (view.messages(), view.structure());
        let mut always = vec![false; messages.len()];
        let front = messages
            .iter()
            .take_while(|message| message.is_checkpoint() || message.role == Role::System);
        always[..front.count()].fill(true);
        view.anchors().positions().for_each(|at| always[at] = true);
        let newest = structure.requests.last().copied();
        let real = |at: &usize| !messages[*at].is_placeholder() && !always[*at];
        let last = (0..messages.len()).rev().find(real);
        let group =
            last.and_then(|at| structure.group_of(at)).map(|group| structure.groups[group].start);
        let current = group.filter(|start| newest.is_none_or(|newest| *start > newest));
        let current = current.unwrap_or(messages.len());
        Self { view, always, is_clean_cut: clean_cuts(messages), current }
    }

    /// Returns whether a message always stays.
    pub(crate) fn is_anchor(&self, position: usize) -> bool {
        self.always[position]
    }

    /// Returns for each message whether it stays within a limit. The messages that always stay may
    /// exceed the limit.
    pub(crate) fn select(&self, limit: Limit) -> Vec<bool> {
        let messages = self.view.messages();
        let start = match limit {
            Limit::Tokens(tokens) => self.start_by_tokens(tokens).min(self.current),
            Limit::Messages(count) => self.start_by_messages(count),
        };
        let start =
            (start..messages.len()).find(|at| self.is_clean_cut[*at]).unwrap_or(messages.len());
        let mut retained = self.always.clone();
        retained[start..].fill(true);
        if start < messages.len()
            && let Some(request) = self.request_of(start)
        {
            retained[request] = true;
        }
        if !retained.contains(&true)
            && let Some(group) = self.view.structure().groups.last()
        {
            retained[group.clone()].fill(true);
        }
        retained
    }

    /// Returns the start of the newest groups that fit together with the messages that always stay
    /// and the request they belong to.
    fn start_by_tokens(&self, tokens: u64) -> usize {
        let tokens_of = |at: usize| self.view.tokens(at);
        let mut taken: u64 =
            (0..self.always.len()).filter(|at| self.always[*at]).map(tokens_of).sum();
        let mut start = self.always.len();
        for group in self.view.structure().groups.iter().rev() {
            taken = taken
                .saturating_add(group.clone().filter(|at| !self.always[*at]).map(tokens_of).sum());
            let request =
                self.request_of(group.start).filter(|at| *at < group.start && !self.always[*at]);
            if taken.saturating_add(request.map_or(0, tokens_of)) > tokens {
                break;
            }
            start = group.start;
        }
        start
    }

    fn start_by_messages(&self, count: usize) -> usize {
        let groups = self.view.structure().groups.iter().rev().map(|group| group.start);
        let fits = |start: &usize| self.always.len() - start <= count;
        groups.take_while(fits).last().unwrap_or(self.always.len())
    }

    /// Returns the request of the turn that a message is in.
    fn request_of(&self, position: usize) -> Option<usize> {
        let requests = &self.view.structure().requests;
        let behind = requests.partition_point(|request| *request <= position);
        behind.checked_sub(1).map(|at| requests[at])
    }
}
