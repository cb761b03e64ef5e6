//! What became of a plan.

use serde::Serialize;

use crate::history::{BoundaryKind, Plan, Price};

/// A plan that was applied, or was only shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlanReport {
    /// The policy.
    pub policy: &'static str,
    /// What kind of cut.
    pub kind: BoundaryKind,
    /// What is done, for people.
    pub what: String,
    /// Tokens of the history before.
    pub before: u64,
    /// Tokens of the history after.
    pub after: u64,
    /// What it costs.
    pub price: Price,
    /// Whether it was applied.
    pub applied: bool,
    /// Why, or why not, for people.
    pub reason: String,
}

impl PlanReport {
    /// Of a plan at this price.
    pub fn new(plan: &Plan, price: Price, applied: bool, reason: impl Into<String>) -> Self {
        Self {
            policy: plan.policy,
            kind: plan.kind,
            what: plan.what.clone(),
            before: plan.before,
            after: plan.after,
            price,
            applied,
            reason: reason.into(),
        }
    }
}

impl PlanReport {
    /// Of a cut that had to be made, whatever it costs: the history went from so many tokens to so
    /// many.
    pub fn forced(
        policy: &'static str,
        kind: BoundaryKind,
        (before, after): (u64, u64),
        what: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        let (what, reason) = (what.into(), reason.into());
        Self { policy, kind, what, before, after, price: Price::default(), applied: true, reason }
    }
}
