//! Compactions that a person asks for.

use std::sync::Arc;

use context_core::history::{CacheState, Goal, HistoryView, PlanReport};
use context_core::model::Budget;
use context_core::{CompactionPolicy, ModelRequest, Timestamp};
use context_tokens::{Estimate, Model};

use crate::engine::Resolved;
use crate::runtime::{Pipeline, Planned, Stage, USER_WORDS};

/// The share of the window that a compaction on demand aims at.
const TARGET: f64 = 0.6;
/// The longest time that a provider caches a prefix, in microseconds: one hour.
const CACHED_FOR: i64 = 3_600_000_000;

/// A compaction that a person asks for, outside of a call: planned, and not carried out. Pass its
/// rewrite and its [reports](Self::reports) to
/// [`ContextEngine::compact`](crate::ContextEngine::compact).
///
/// It aims at 60 % of the window, and keeps the user's own words as a runtime does. If the chat was
/// written to within the last hour, a provider may still have it in its cache, and a cut must save
/// more than reading the rest again costs.
#[derive(Debug)]
#[non_exhaustive]
pub struct OnDemand {
    /// The plan.
    pub planned: Planned,
    /// The tokens of the messages before it.
    pub before: u64,
    /// The tokens of the request before it.
    pub total: u64,
}

impl OnDemand {
    /// Returns the stage of a policy. It runs at any fill level, because a person asked for it.
    pub fn stage(policy: Arc<dyn CompactionPolicy>) -> Stage {
        Stage::shared(policy).trigger(0.0).target(TARGET)
    }

    /// Plans the compaction of a chat by these [stages](Self::stage). `now` is the time by which
    /// the age of the provider's cache is known.
    pub fn plan(
        turn: &Resolved,
        pipeline: &Pipeline,
        (model, budget): (&Model<'_>, Budget),
        now: Timestamp,
    ) -> Self {
        let request = turn.request();
        let counter = model.counter();
        let view = HistoryView::new(&request.messages, &counter);
        let (before, total) =
            (view.total(), Estimate::new(&request, &counter, model).total.tokens());
        let target = (budget.input() as f64 * TARGET) as u64;
        let outside = total.saturating_sub(before);
        let goal = Goal::new(budget, outside, target).cache(cache(turn, &request, now));
        let words = (goal.limit() as f64 * USER_WORDS) as u64;
        let planned = pipeline.run(&view.user_words(words), &goal);
        Self { planned, before, total }
    }

    /// Returns the tokens of the request after the plan.
    pub fn left(&self) -> u64 {
        self.total.saturating_sub(self.before).saturating_add(self.planned.after)
    }

    /// Returns the reports of all plans, including those that were not carried out.
    pub fn reports(&self) -> Vec<PlanReport> {
        self.planned.steps.iter().map(|step| step.report()).collect()
    }
}

fn cache(turn: &Resolved, request: &ModelRequest, now: Timestamp) -> CacheState {
    let mut cache = CacheState::default();
    let newest = turn.messages.iter().map(|node| node.created_at.as_micros()).max();
    if newest.is_some_and(|newest| now.as_micros().saturating_sub(newest) < CACHED_FOR) {
        cache.messages = request.messages.len();
    }
    cache
}
