//! Carrying out decisions that concern the history alone.

use context_core::history::{
    Attempt, BoundaryKind, DecisionKind, Failure, HistoryRewrite, HistoryView, Plan, PlanError,
    Proposal, RecoveryDecision as Decision,
};

use super::{RecoveryChain, repair};

/// The history after a decision was carried out.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RecoveredHistory {
    /// The cut of the history that was sent.
    pub rewrite: HistoryRewrite,
    /// The kind of cut.
    pub kind: BoundaryKind,
    /// Tokens of the history before the compaction.
    pub before: u64,
    /// The tokens of the history after.
    pub after: u64,
    /// A human-readable description.
    pub description: String,
}

/// The reason why a decision was not carried out. Nothing was changed.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CarryOutError {
    /// The decision does not concern the history alone, so the caller carries it out.
    #[error("the agent loop has to carry out {decision}")]
    NotHere {
        /// The name of the decision.
        decision: DecisionKind,
    },
    /// The history has nothing to remove, so the request would be the same again.
    #[error("the history would stay as it is: {reason}")]
    Nothing {
        /// A human-readable reason.
        reason: String,
    },
    /// The plan of the decision is not valid.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

context_core::readable_debug!(CarryOutError);

/// The result of asking a chain until a decision took effect.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
#[non_exhaustive]
pub struct Recovered {
    /// The decision.
    pub decision: Decision,
    /// The history to send, if the decision concerns it alone.
    pub carried: Option<RecoveredHistory>,
    /// Earlier decisions that would have changed nothing. Nothing was sent for them, and they count
    /// as tried.
    pub in_vain: Vec<Attempt>,
}

impl RecoveredHistory {
    fn of(plan: &Plan, view: &HistoryView<'_>) -> Result<Self, PlanError> {
        let rewrite = plan.apply(view.messages())?;
        let (kind, before, after) = (plan.kind, plan.before, plan.after);
        let description = plan.description.clone();
        Ok(Self { rewrite, kind, before, after, description })
    }

    /// Returns the attempt of this decision.
    pub fn attempt(&self, decision: Decision) -> Attempt {
        Attempt::new(decision, self.before, self.after)
    }
}

/// Returns the plan of a decision. `None` if no plan carries it out.
pub(super) fn plan(
    chain: &RecoveryChain,
    decision: &Decision,
    failure: &Failure<'_>,
) -> Result<Option<Plan>, CarryOutError> {
    let view = failure.view;
    let proposal = match decision {
        Decision::TruncateHeadAndRetry { keep_ratio, .. } => chain.truncate.keep(view, *keep_ratio),
        Decision::StripImagesAndRetry { .. } => chain.strip.for_error(view, failure.error),
        Decision::RemoveThoughtsAndRetry { .. } => {
            let plan = repair::without_thoughts(view);
            return Ok(Some(plan.ok_or_else(|| nothing("it has no thoughts"))??));
        }
        _ => return Ok(None),
    };
    match proposal {
        Proposal::Plan(plan) => Ok(Some(plan)),
        Proposal::Nothing { reason } => Err(CarryOutError::Nothing { reason }),
        _ => Err(nothing("the policy needs a call of a model")),
    }
}

pub(super) fn carry_out(
    chain: &RecoveryChain,
    decision: &Decision,
    failure: &Failure<'_>,
) -> Result<RecoveredHistory, CarryOutError> {
    let view = failure.view;
    if let Some(plan) = plan(chain, decision, failure)? {
        return Ok(RecoveredHistory::of(&plan, view)?);
    }
    match decision {
        Decision::RepairAndRetry { .. } => {
            let repaired = repair::paired(view.messages(), &failure.error.message);
            let rewrite = repaired.ok_or_else(|| nothing("calls and results are in order"))?;
            let after = HistoryView::new(&rewrite.messages, view.counter()).total();
            let description = "calls and results repaired".to_owned();
            Ok(RecoveredHistory {
                rewrite,
                kind: BoundaryKind::Strip,
                before: view.total(),
                after,
                description,
            })
        }
        other => Err(CarryOutError::NotHere { decision: other.kind() }),
    }
}

pub(super) fn recover(chain: &RecoveryChain, failure: &Failure<'_>) -> Recovered {
    let (mut attempts, tried) = (failure.attempts.to_vec(), failure.attempts.len());
    let (decision, carried) = loop {
        let mut failure_now = Failure::new(failure.error, failure.view);
        failure_now.attempts = &attempts;
        failure_now.has_attempted_compact = failure.has_attempted_compact;
        failure_now.budget = failure.budget;
        failure_now.partial = failure.partial;
        let decision = chain.decide(&failure_now);
        match decision.retries().then(|| chain.carry_out(&decision, &failure_now)) {
            None | Some(Err(CarryOutError::NotHere { .. })) => break (decision, None),
            Some(Ok(carried)) => break (decision, Some(carried)),
            Some(Err(_)) => {
                let tokens = failure.view.total();
                attempts.push(Attempt::new(decision, tokens, tokens));
            }
        }
    };
    Recovered { decision, carried, in_vain: attempts.split_off(tried) }
}

fn nothing(reason: &str) -> CarryOutError {
    CarryOutError::Nothing { reason: reason.to_owned() }
}
