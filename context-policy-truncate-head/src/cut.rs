//! Turns a selection of messages into a plan.

use std::sync::Arc;

use context_core::history::{BoundaryKind, Edit, HistoryView, Plan, PlanError};
use context_core::{Message, Part};

use crate::gap;
use crate::select::{Limit, Selector};
use crate::shorten::{RetainedMessage, fit};

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
        let mut stays = selector.select(Limit::Tokens(tokens));
        let mut gaps = self.gaps;
        if gaps {
            let cost = self.cost_of_gaps(&stays);
            // Gap messages are left out if they would take a large share of few tokens.
            gaps = cost.saturating_mul(8) <= tokens;
            if gaps && cost > 0 {
                stays = selector.select(Limit::Tokens(tokens.saturating_sub(cost)));
            }
        }
        let room = tokens.saturating_sub(if gaps { self.cost_of_gaps(&stays) } else { 0 });
        let retained = fit(self.view, self.retained(&selector, &stays), room);
        self.plan(retained, gaps)
    }

    /// Keeps `count` messages unchanged, besides those that always stay.
    pub(crate) fn to_messages(&self, count: usize) -> Result<Plan, PlanError> {
        let selector = Selector::new(self.view);
        let stays = selector.select(Limit::Messages(count));
        self.plan(self.retained(&selector, &stays), self.gaps)
    }

    /// Returns the messages that stay, without results whose calls are removed.
    fn retained(&self, selector: &Selector<'_, '_>, stays: &[bool]) -> Vec<RetainedMessage> {
        let messages = self.view.messages();
        // After its last gap the history is whole; before it only single messages stay.
        let whole = stays.iter().rposition(|stays| !stays).map_or(0, |last| last + 1);
        let retained = (0..messages.len()).filter(|at| stays[*at]);
        retained
            .map(|position| {
                let message = &messages[position];
                let is_verbatim = self.view.anchors().is_verbatim(position);
                let is_alone = position < whole && !is_verbatim;
                let bare = is_alone.then(|| without_results(message)).flatten();
                let message = bare.map_or_else(|| Arc::clone(message), Arc::new);
                let is_anchor = selector.is_anchor(position);
                RetainedMessage { position, message, is_anchor, is_verbatim }
            })
            .collect()
    }

    fn cost_of_gaps(&self, stays: &[bool]) -> u64 {
        let gaps = self.view.gaps(|at| !stays[at]).len() as u64;
        gaps.saturating_mul(
            self.view.count(&gap::message(self.view.messages().iter().map(|message| &**message))),
        )
    }

    fn plan(&self, retained: Vec<RetainedMessage>, gaps: bool) -> Result<Plan, PlanError> {
        let plan = self.plan_edits(&retained, gaps);
        // A note may be as large as the messages that a cut would remove.
        if gaps && matches!(plan, Err(PlanError::Grows { .. })) {
            self.plan_edits(&retained, false)
        } else {
            plan
        }
    }

    fn plan_edits(&self, retained: &[RetainedMessage], gaps: bool) -> Result<Plan, PlanError> {
        let messages = self.view.messages();
        let mut is_left_out = vec![true; messages.len()];
        let (mut edits, mut short) = (Vec::new(), 0);
        for entry in retained {
            is_left_out[entry.position] = false;
            if !Arc::ptr_eq(&entry.message, &messages[entry.position]) {
                edits.push(Edit::replace(entry.position, Arc::clone(&entry.message)));
                short += 1;
            }
        }
        let removed = is_left_out.iter().filter(|is_left_out| **is_left_out).count();
        for gap in self.view.gaps(|at| is_left_out[at]) {
            let left_out = gap.iter().cloned().flatten().map(|at| &*messages[at]);
            let mut note = gaps.then(|| Arc::new(gap::message(left_out)));
            edits.extend(gap.into_iter().map(|run| Edit::new(run, Vec::from_iter(note.take()))));
        }
        edits.sort_by_key(|edit| edit.range.start);
        let messages = |count| format!("{count} message{}", if count == 1 { "" } else { "s" });
        let summary = match (removed, short) {
            (removed, 0) => format!("{} left out", messages(removed)),
            (0, short) => format!("{} shortened", messages(short)),
            (removed, short) => format!("{} left out, {short} shortened", messages(removed)),
        };
        Plan::new(self.policy, BoundaryKind::Compact, self.view, edits, summary)
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
