//! Reports about compaction plans.

use serde::Serialize;

use crate::history::{BoundaryKind, Plan, Price};

/// A compaction plan that was applied or only proposed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlanReport {
    /// The name of the policy.
    pub policy: &'static str,
    /// The kind of cut.
    pub kind: BoundaryKind,
    /// A human-readable description of the plan.
    #[serde(rename = "what")]
    pub description: String,
    /// Tokens of the history before the plan.
    pub before: u64,
    /// Tokens of the history after the plan.
    pub after: u64,
    /// The price of the plan.
    pub price: Price,
    /// Whether the plan was applied.
    pub applied: bool,
    /// A human-readable reason for applying the plan or not.
    pub reason: String,
}

impl PlanReport {
    /// Creates the report of a plan at this price.
    pub fn new(plan: &Plan, price: Price, applied: bool, reason: impl Into<String>) -> Self {
        Self {
            policy: plan.policy,
            kind: plan.kind,
            description: plan.description.clone(),
            before: plan.before,
            after: plan.after,
            price,
            applied,
            reason: reason.into(),
        }
    }
}

impl PlanReport {
    /// Creates the report of a cut that had to be made at any price. `before` and `after` are the
    /// tokens of the history.
    pub fn forced(
        policy: &'static str,
        kind: BoundaryKind,
        (before, after): (u64, u64),
        description: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        let (description, reason) = (description.into(), reason.into());
        Self {
            policy,
            kind,
            description,
            before,
            after,
            price: Price::default(),
            applied: true,
            reason,
        }
    }
}
