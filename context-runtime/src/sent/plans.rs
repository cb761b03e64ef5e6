//! Cuts: what was planned, what is in force.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use context_core::MessageId;
use context_core::history::{BoundaryKind, Plan, StoredBoundary};
use context_core::runtime::TurnRef;
use serde::Serialize;

use crate::observer::{CompactionDecision, Observer, ProposedCompaction};

/// A cut that is in force in a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CutInForce {
    /// The policy. Empty if no policy made the cut.
    pub policy: String,
    /// The kind of cut.
    pub kind: BoundaryKind,
    /// A human-readable description.
    #[serde(rename = "what", skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// A human-readable reason, if it is known. A stored boundary has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The request that made the cut. `None` for a cut that was made between two requests, or
    /// before the part of the branch that is replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<usize>,
    /// The stored boundary of the cut. `None` for a cut that only the replay made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boundary: Option<MessageId>,
    /// Tokens of the history before the cut.
    pub before: u64,
    /// Tokens of the history after the cut.
    pub after: u64,
}

impl CutInForce {
    /// Returns the cuts of a stored boundary, one for each of its steps.
    pub(super) fn of_boundary(
        boundary: &StoredBoundary,
        id: &MessageId,
        request: Option<usize>,
    ) -> Vec<Self> {
        let cut = |policy: &str, kind, description: &str, (before, after)| Self {
            policy: policy.to_owned(),
            kind,
            description: description.to_owned(),
            reason: String::new(),
            request,
            boundary: Some(id.clone()),
            before,
            after,
        };
        let steps = boundary
            .steps
            .iter()
            .map(|step| cut(&step.policy, step.kind, &step.description, (step.before, step.after)));
        let steps: Vec<Self> = steps.collect();
        match steps.is_empty() {
            true => {
                let StoredBoundary { policy, kind, description, before, after, .. } = boundary;
                vec![cut(policy, *kind, description, (*before, *after))]
            }
            false => steps,
        }
    }

    /// Returns the cut of a plan.
    pub(super) fn of_plan(plan: &ProposedPlan, request: usize) -> Self {
        let Plan { policy, kind, description, before, after, .. } = &plan.plan;
        Self {
            policy: (*policy).to_owned(),
            kind: *kind,
            description: description.clone(),
            reason: plan.reason.clone(),
            request: Some(request),
            boundary: None,
            before: *before,
            after: *after,
        }
    }

    /// Returns the name of the policy for people.
    pub(super) fn name(&self) -> &str {
        match self.policy.as_str() {
            "" => self.kind.as_str(),
            policy => policy,
        }
    }

    /// Whether the cut shortens messages and removes none.
    pub(super) fn shortens(&self) -> bool {
        matches!(self.kind, BoundaryKind::Microcompact | BoundaryKind::Strip)
    }
}

/// A plan that a stage is about to carry out.
#[derive(Clone, Debug)]
pub(super) struct ProposedPlan {
    pub(super) plan: Plan,
    pub(super) reason: String,
}

/// Notes the plans of a call, step by step, which its report does not hold.
#[derive(Clone, Default)]
pub(super) struct PlanLog(Arc<Mutex<Vec<ProposedPlan>>>);

impl PlanLog {
    /// Returns the plans since the last call, and forgets them.
    pub(super) fn take(&self) -> Vec<ProposedPlan> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for PlanLog {
    fn before_compaction(
        &self,
        _: &TurnRef,
        proposed: &ProposedCompaction<'_>,
    ) -> CompactionDecision {
        if let Some(plan) = proposed.plan {
            let proposed = ProposedPlan { plan: plan.clone(), reason: proposed.reason.to_owned() };
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(proposed);
        }
        CompactionDecision::Proceed
    }
}

impl fmt::Debug for PlanLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanLog").finish_non_exhaustive()
    }
}
