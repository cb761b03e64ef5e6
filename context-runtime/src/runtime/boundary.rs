//! Reporting cuts as boundaries.

use context_core::history::Plan;
use context_core::runtime::Boundary;
use serde_json::Value;

/// Returns the boundary of a plan that retains this many messages.
pub(super) fn boundary(plan: &Plan, retained: usize) -> Boundary {
    let mut boundary = Boundary::new(plan.kind, retained);
    let facts = &mut boundary.metadata;
    facts.insert("policy", Value::from(plan.policy));
    facts.insert("before", Value::from(plan.before));
    facts.insert("after", Value::from(plan.after));
    facts.insert("what", Value::from(plan.what.as_str()));
    boundary
}
