//! Cuts as they are reported.

use context_core::history::Plan;
use context_core::runtime::Boundary;
use serde_json::Value;

/// The cut that a plan makes which leaves so many messages.
pub(super) fn boundary(plan: &Plan, retained: usize) -> Boundary {
    let mut boundary = Boundary::new(plan.kind, retained);
    let facts = &mut boundary.metadata;
    facts.insert("policy", Value::from(plan.policy));
    facts.insert("before", Value::from(plan.before));
    facts.insert("after", Value::from(plan.after));
    facts.insert("what", Value::from(plan.what.as_str()));
    boundary
}
