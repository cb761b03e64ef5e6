//! Compaction in stages: which plans are made, their price, and which are carried out.
//!
//! The pipeline is pure: it takes a view and returns what should happen. The caller stores the
//! outcome, and asks a model for a summary.

use std::sync::Arc;

use context_core::base::{DiagnosticCode, Severity};
use context_core::history::{
    BoundaryKind, CacheState, Goal, HistoryRewrite, HistoryView, Plan, PlanReport, PolicyKind,
    Price, Proposal, SummaryTask,
};
use context_core::{Diagnostic, Message};

use super::stage::{self, ResolvedStage};
use super::trigger::{HistoryState, Trigger};
use super::{Stage, StageFaults};
use crate::observer::{CompactionDecision, ProposedCompaction};

/// The share of the room for the history that the user's own requests fill unchanged by default;
/// see [`HistoryView::user_words`].
pub const USER_WORDS: f64 = 0.1;

/// The share of the window from which a plan is needed, whatever its price.
pub(super) const NEEDED: f64 = 0.9;

/// Decides about a compaction before it is carried out.
pub(super) type Ask<'a> = dyn Fn(&ProposedCompaction<'_>) -> CompactionDecision + 'a;

/// Stages of compaction, run from least to most lossy.
///
/// A stage runs if the request, as the stages before it leave it, reaches the stage's
/// [trigger](Trigger). Its plan is carried out if it is needed, which is from 90 percent of the
/// window on, if the trigger is not a share of the window, or if it pays off within the expected
/// calls: everything after the first change is no longer in the provider's cache and is charged
/// again. A plan that frees less than a hundredth of the history is
/// not worth an invalidated cache, unless it makes the request fit.
///
/// ```
/// use std::sync::Arc;
///
/// use context_runtime::compaction::{Goal, HistoryView, Pipeline, Stage};
/// use context_runtime::tokens::{Budget, ModelTable};
/// use context_runtime::{Message, Role, microcompact::Microcompact, snip::Snip};
///
/// let turn = |n| {
///     [Message::from(format!("What about day {n}?")), Message::text(Role::Assistant, "A museum. ".repeat(50))]
/// };
/// let history: Vec<_> = (0..30).flat_map(turn).map(Arc::new).collect();
/// let counter = ModelTable::builtin().model("gpt-4o").counter();
/// let view = HistoryView::new(&history, &counter);
///
/// let pipeline = Pipeline::new([Stage::new(Microcompact::new()), Stage::new(Snip::new()).trigger(0.8)])?;
/// let planned = pipeline.run(&view, &Goal::new(Budget::new(4_000, 1_000), 0, 2_000));
/// assert_eq!(planned.steps.last().map(|step| step.plan.policy), Some("snip")); // there are no results to shorten
/// assert!(planned.after < view.total());
/// # Ok::<(), context_runtime::compaction::StageFaults>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Pipeline {
    stages: Vec<ResolvedStage>,
}

/// The outcome of a pipeline.
#[derive(Clone, Debug, Default)]
#[must_use]
#[non_exhaustive]
pub struct Planned {
    /// The plans in the order in which they were made, including those that were not carried out.
    pub steps: Vec<PlannedStep>,
    /// The history after the plans that are to be carried out. `None` if there are none.
    pub rewrite: Option<HistoryRewrite>,
    /// A summary that would help.
    pub summary: Option<PlannedSummary>,
    /// The number of tokens of the history after all steps.
    pub after: u64,
    /// Diagnostics of the run.
    pub diagnostics: Vec<Diagnostic>,
}

/// A summary to request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PlannedSummary {
    /// The task for a model.
    pub task: Box<SummaryTask>,
    /// The history to summarize: as the stages before the summary left it.
    pub of: HistoryRewrite,
    /// The number of tokens of history that the summary should leave.
    pub target: u64,
}

/// A plan and its outcome.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlannedStep {
    /// The plan, for the history as the steps before left it.
    pub plan: Plan,
    /// Its costs and savings.
    pub price: Price,
    /// Whether it is to be carried out.
    pub applied: bool,
    /// A human-readable reason for applying the plan or not.
    pub reason: String,
}

impl PlannedStep {
    /// Returns the report of this step.
    pub fn report(&self) -> PlanReport {
        PlanReport::new(&self.plan, self.price, self.applied, self.reason.clone())
    }

    fn proposed<'p>(&'p self, view: &'p HistoryView<'p>) -> ProposedCompaction<'p> {
        let (policy, plan) = (self.plan.policy, Some(&self.plan));
        ProposedCompaction { policy, reason: &self.reason, view, plan }
    }

    /// Returns the history after this step, as decided. The diagnostic says why it is not carried
    /// out.
    fn carry_out(
        &mut self,
        decision: CompactionDecision,
        view: &HistoryView<'_>,
        cache: &CacheState,
    ) -> Result<HistoryRewrite, Diagnostic> {
        if !self.applied {
            let text = format!("{}: {}: {}", self.plan.policy, self.plan.description, self.reason);
            let code = DiagnosticCode::CompactionNotWorth;
            return Err(Diagnostic::new(code, Severity::Info, "messages", text));
        }
        if matches!(decision, CompactionDecision::Replace(_)) {
            "an observer replaced the plan".clone_into(&mut self.reason);
        }
        let (plan, applied) = decision.carry_out(self.plan.clone(), view);
        (self.price, self.plan) = (plan.price(view, cache), plan);
        applied.map_err(|error| {
            (self.applied, self.reason) = (false, error.to_string());
            error.diagnostic(self.plan.policy)
        })
    }
}

/// The history at a stage, with the tokens of each message.
struct CountedRewrite {
    rewrite: HistoryRewrite,
    counts: Vec<u64>,
}

impl Pipeline {
    /// Builds a pipeline of these stages, or returns all their faults.
    pub fn new(stages: impl IntoIterator<Item = impl Into<Stage>>) -> Result<Self, StageFaults> {
        let stages = stage::resolve(stages.into_iter().map(Into::into).collect())?;
        Ok(Self { stages })
    }

    /// Returns the same stages, made to run at any fill level.
    #[must_use]
    pub fn forced(mut self) -> Self {
        for stage in &mut self.stages {
            stage.trigger = Trigger::Share(0.0);
        }
        self
    }

    /// Returns the stages for a compaction that was asked for, made to run at any fill level: those
    /// that summarize, or all that do not truncate.
    #[cfg_attr(not(feature = "tokens"), allow(dead_code, reason = "for the default runtime"))]
    pub(super) fn requested(&self) -> Self {
        let kind = |stage: &&ResolvedStage| stage.policy.kind();
        let summarizes = |stage: &&ResolvedStage| kind(stage) == PolicyKind::Summarize;
        let any = self.stages.iter().any(|stage| summarizes(&stage));
        let runs = |stage: &&ResolvedStage| match any {
            true => summarizes(stage),
            false => kind(stage) != PolicyKind::Truncate,
        };
        let mut stages: Vec<_> = self.stages.iter().filter(runs).cloned().collect();
        for stage in &mut stages {
            (stage.trigger, stage.target) = (Trigger::Tokens(0), None);
        }
        Self { stages }
    }

    /// Whether a stage runs in this state.
    pub fn is_due(&self, state: &HistoryState) -> bool {
        self.stages.iter().any(|stage| stage.is_due(state))
    }

    /// Whether a stage requests a summary ahead in this state.
    #[cfg_attr(not(feature = "tokens"), allow(dead_code, reason = "for the default runtime"))]
    pub(super) fn is_due_ahead(&self, state: &HistoryState) -> bool {
        self.stages.iter().any(|stage| stage.is_due_ahead(state))
    }

    /// Returns the summary to request ahead of its need. It is asked about before.
    #[cfg_attr(not(feature = "tokens"), allow(dead_code, reason = "for the default runtime"))]
    pub(super) fn ahead(
        &self,
        view: &HistoryView<'_>,
        goal: &Goal,
        ask: &Ask<'_>,
    ) -> Option<PlannedSummary> {
        let state = HistoryState::of(view, goal);
        let stage = self.stages.iter().find(|stage| stage.is_due_ahead(&state))?;
        let goal = within(goal, stage, &state);
        let Proposal::Summary(mut task) = stage.policy.plan(view, &goal) else { return None };
        let due = Due { share: state.share, trigger: &stage.trigger, is_asked: false };
        let step = summary_step(&task, view, &due)?;
        let decision = ask(&ProposedCompaction { plan: None, ..step.proposed(view) });
        task.ahead = true;
        let of = HistoryRewrite::identity(view.messages());
        let summary = PlannedSummary { task, of, target: goal.history() };
        (decision == CompactionDecision::Proceed).then_some(summary)
    }

    /// The names of its policies.
    pub fn policies(&self) -> impl Iterator<Item = &'static str> {
        self.stages.iter().map(|stage| stage.policy.name())
    }

    /// Returns the policy with a name.
    pub fn policy(&self, name: &str) -> Option<&Arc<dyn context_core::CompactionPolicy>> {
        self.stages.iter().map(|stage| &stage.policy).find(|policy| policy.name() == name)
    }

    /// Plans the compaction of a history. The target of each stage is its own, or the goal's if
    /// that is smaller.
    pub fn run(&self, view: &HistoryView<'_>, goal: &Goal) -> Planned {
        self.run_with(view, goal, true, &|_| CompactionDecision::Proceed)
    }

    /// Plans as `run` does. Without `summaries` no summary is requested. Each plan and each summary
    /// is asked about before.
    pub(super) fn run_with(
        &self,
        view: &HistoryView<'_>,
        goal: &Goal,
        summaries: bool,
        ask: &Ask<'_>,
    ) -> Planned {
        let mut planned = Planned { after: view.total(), ..Planned::default() };
        let mut goal = goal.clone();
        let mut current: Option<CountedRewrite> = None;
        let mut missed = None;
        for stage in &self.stages {
            let cut = current.as_ref().map(|current| {
                let counts = current.counts.iter().copied();
                HistoryView::counted(&current.rewrite.messages, counts, view.counter())
                    .user_words(view.user_words_budget())
            });
            let view = cut.as_ref().unwrap_or(view);
            let state = HistoryState::of(view, &goal);
            let stage_goal = within(&goal, stage, &state);
            if !stage.is_due(&state) || state.tokens <= stage_goal.target {
                continue;
            }
            let (share, is_asked) = (state.share, goal.focus.is_some());
            let due = Due { share, trigger: &stage.trigger, is_asked };
            let (mut step, decision) = match stage.policy.plan(view, &stage_goal) {
                Proposal::Plan(plan) => {
                    let step = judge(plan, view, &stage_goal, &due);
                    let decision = match step.applied {
                        true => ask(&step.proposed(view)),
                        false => CompactionDecision::Proceed,
                    };
                    (step, decision)
                }
                Proposal::Summary(task) if summaries && planned.summary.is_none() => {
                    let Some(step) = summary_step(&task, view, &due) else { continue };
                    let decision = ask(&ProposedCompaction { plan: None, ..step.proposed(view) });
                    if decision == CompactionDecision::Proceed {
                        let of = match &current {
                            Some(current) => current.rewrite.clone(),
                            None => HistoryRewrite::identity(view.messages()),
                        };
                        let target = stage_goal.history();
                        planned.summary = Some(PlannedSummary { task, of, target });
                        continue;
                    }
                    (step, decision)
                }
                _ => continue,
            };
            match step.carry_out(decision, view, &goal.cache) {
                Ok(rewrite) => {
                    goal.cache.messages =
                        goal.cache.messages.min(step.plan.first_change().unwrap_or(usize::MAX));
                    planned.after = step.plan.after;
                    missed = (planned.after > stage_goal.history()).then_some(stage_goal.history());
                    let counts = counts(&rewrite, view);
                    drop(cut);
                    let rewrite = match current {
                        Some(current) => current.rewrite.then(rewrite),
                        None => rewrite,
                    };
                    current = Some(CountedRewrite { rewrite, counts });
                }
                Err(diagnostic) => planned.diagnostics.push(diagnostic),
            }
            planned.steps.push(step);
        }
        if let Some(wanted) = missed {
            planned.diagnostics.push(target_not_reached(planned.after, wanted));
        }
        planned.rewrite = current.map(|current| current.rewrite);
        planned
    }
}

/// Returns the diagnostic of a compaction that left more than the target.
pub(super) fn target_not_reached(left: u64, wanted: u64) -> Diagnostic {
    Diagnostic::new(
        DiagnosticCode::CompactionTargetNotReached,
        Severity::Info,
        "messages",
        format!("the history has {left} tokens, {wanted} were wanted"),
    )
}

/// Returns the goal of one stage.
fn within(goal: &Goal, stage: &ResolvedStage, state: &HistoryState) -> Goal {
    let mut within = goal.clone();
    within.target = stage.target(goal.budget.input(), state).min(goal.target);
    within
}

/// Returns the step of a summary, whose plan is not known yet.
fn summary_step(task: &SummaryTask, view: &HistoryView<'_>, due: &Due<'_>) -> Option<PlannedStep> {
    let description = format!("{} messages into a checkpoint", task.covers.len());
    let kind = BoundaryKind::Compact;
    let plan = Plan::of_any_size(task.policy, kind, view, Vec::new(), description).ok()?;
    Some(PlannedStep { plan, price: Price::default(), applied: true, reason: due.reason() })
}

/// The reason why a stage runs.
struct Due<'t> {
    share: f64,
    trigger: &'t Trigger,
    /// Whether the compaction was asked for.
    is_asked: bool,
}

impl Due<'_> {
    /// Whether a plan is carried out whatever its price: the window is nearly full, or the program
    /// set a trigger of its own.
    fn is_needed(&self) -> bool {
        self.share >= NEEDED || self.trigger.share().is_none()
    }

    fn reason(&self) -> String {
        match self.trigger.share() {
            _ if self.is_asked => "it was asked for".to_owned(),
            None if self.share < NEEDED => format!("the trigger is reached: {}", self.trigger),
            _ => format!("{:.0} percent of the window are full", self.share * 100.0),
        }
    }
}

/// Decides whether a plan is worth its price.
fn judge(plan: Plan, view: &HistoryView<'_>, goal: &Goal, due: &Due<'_>) -> PlannedStep {
    let price = plan.price(view, &goal.cache);
    let fits = |history: u64| history <= goal.limit();
    let little = plan.saved().saturating_mul(100) < plan.before;
    let helps = fits(plan.after) && !fits(plan.before);
    let calls = goal.cache.expected_calls;
    let (wanted, reason) = if little && !helps && plan.after > goal.history() {
        (false, "it would free less than a hundredth of the history".to_owned())
    } else if due.is_needed() {
        (true, due.reason())
    } else if price.pays_off_within(calls) {
        (true, pays_off(&price))
    } else {
        (false, pays_off(&price))
    };
    PlannedStep { plan, price, applied: wanted, reason }
}

fn pays_off(price: &Price) -> String {
    match price.pays_off_after() {
        Some(0) => "nothing that is cached changes".to_owned(),
        Some(1) => "it pays off after 1 call".to_owned(),
        Some(calls) => format!("it pays off after {calls} calls"),
        None => "it never pays off".to_owned(),
    }
}

/// Returns the tokens of each message that a rewrite of a view leaves. Only new messages are
/// counted.
fn counts(rewrite: &HistoryRewrite, view: &HistoryView<'_>) -> Vec<u64> {
    let is = |at: &usize, message: &Arc<Message>| {
        view.messages().get(*at).is_some_and(|known| Arc::ptr_eq(known, message))
    };
    let count = |(message, origin): (&Arc<Message>, &Option<usize>)| match origin
        .filter(|at| is(at, message))
    {
        Some(at) => view.tokens(at),
        None => view.counter().count_shared(message).tokens(),
    };
    rewrite.messages.iter().zip(&rewrite.origins).map(count).collect()
}
