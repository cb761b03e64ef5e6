//! Turns a selection of messages into a plan.

use std::sync::Arc;

use context_core::history::{BoundaryKind, Edit, HistoryView, Plan, PlanError};
use context_core::{Message, Part};

use crate::gap;
use crate::select::{Limit, Selector};
use crate::shorten::{Kept, fit};

/// A history to be cut, and the options.
#[derive(Debug)]
pub(crate) struct Cut<'v, 'm> {
    pub(crate) view: &'v HistoryView<'m>,
    pub(crate) policy: &'static str,
    /// Whether messages state how much was left out.
    pub(crate) gaps: bool,
}

impl Cut<'_, '_> {
    /// Keeps `tokens` tokens. Messages that must stay are shortened if there is no other way.
    pub(crate) fn to_tokens(&self, tokens: u64) -> Result<Plan, PlanError> {
        let selector = Selector::new(self.view);
        let mut stays = selector.within(Limit::Tokens(tokens));
        let mut gaps = self.gaps;
        if gaps {
            let cost = self.cost_of_gaps(&stays);
            // Gap messages are left out if they would take a large share of few tokens.
            gaps = cost.saturating_mul(8) <= tokens;
            if gaps && cost > 0 {
                stays = selector.within(Limit::Tokens(tokens.saturating_sub(cost)));
            }
        }
        let room = tokens.saturating_sub(if gaps { self.cost_of_gaps(&stays) } else { 0 });
        let kept = fit(self.view, self.kept(&selector, &stays), room);
        self.plan(kept, gaps)
    }

    /// Keeps `count` messages unchanged, besides those that always stay.
    pub(crate) fn to_messages(&self, count: usize) -> Result<Plan, PlanError> {
        let selector = Selector::new(self.view);
        let stays = selector.within(Limit::Messages(count));
        self.plan(self.kept(&selector, &stays), self.gaps)
    }

    /// Returns the messages that stay, without results whose calls are removed.
    fn kept(&self, selector: &Selector<'_, '_>, stays: &[bool]) -> Vec<Kept> {
        let messages = self.view.messages();
        // After its last gap the history is whole; before it only single messages stay.
        let whole = stays.iter().rposition(|stays| !stays).map_or(0, |last| last + 1);
        let kept = (0..messages.len()).filter(|at| stays[*at]);
        kept.map(|position| {
            let message = &messages[position];
            let bare = (position < whole).then(|| without_results(message)).flatten();
            let message = bare.map_or_else(|| Arc::clone(message), Arc::new);
            Kept { position, message, is_anchor: selector.is_anchor(position) }
        })
        .collect()
    }

    fn cost_of_gaps(&self, stays: &[bool]) -> u64 {
        let starts = |at: usize| !stays[at] && (at == 0 || stays[at - 1]);
        let runs = (0..stays.len()).filter(|at| starts(*at)).count() as u64;
        runs.saturating_mul(self.view.count(&gap::message(self.view.messages())))
    }

    fn plan(&self, kept: Vec<Kept>, gaps: bool) -> Result<Plan, PlanError> {
        let plan = self.edited(&kept, gaps);
        // A note may be as large as the messages that a cut would remove.
        if gaps && matches!(plan, Err(PlanError::Grows { .. })) {
            self.edited(&kept, false)
        } else {
            plan
        }
    }

    fn edited(&self, kept: &[Kept], gaps: bool) -> Result<Plan, PlanError> {
        let messages = self.view.messages();
        let (mut edits, mut at, mut gone, mut short) = (Vec::new(), 0, 0, 0);
        let mut leave_out = |from: usize, to: usize| {
            gone += to - from;
            let note = || Arc::new(gap::message(&messages[from..to]));
            (from < to).then(|| Edit::new(from..to, if gaps { vec![note()] } else { Vec::new() }))
        };
        for one in kept {
            edits.extend(leave_out(at, one.position));
            if !Arc::ptr_eq(&one.message, &messages[one.position]) {
                edits.push(Edit::replace(one.position, Arc::clone(&one.message)));
                short += 1;
            }
            at = one.position + 1;
        }
        edits.extend(leave_out(at, messages.len()));
        let messages = |count| format!("{count} message{}", if count == 1 { "" } else { "s" });
        let what = match (gone, short) {
            (gone, 0) => format!("{} left out", messages(gone)),
            (0, short) => format!("{} shortened", messages(short)),
            (gone, short) => format!("{} left out, {short} shortened", messages(gone)),
        };
        Plan::new(self.policy, BoundaryKind::Compact, self.view, edits, what)
    }
}

fn without_results(message: &Message) -> Option<Message> {
    let is_result = |part: &Part| matches!(part, Part::ToolResult(_));
    if !message.parts.iter().any(is_result) {
        return None;
    }
    let mut message = message.clone();
    message.parts.retain(|part| !is_result(part));
    Some(message)
}
