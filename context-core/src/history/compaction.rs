//! What is cut when a conversation no longer fits: the view of it, plans, policies.
//!
//! A [`CompactionPolicy`] looks at a [`HistoryView`] and a [`Goal`] and proposes a [`Plan`]: data
//! that says which messages give way to which others, that can be shown, priced and stored, and
//! that nothing but [`Plan::apply`] carries out. So what must hold whatever a policy does is
//! checked in one place: calls and results stay together, the first and the newest request of the
//! user stay, one checkpoint stays in front.
//!
//! Policies do not send, store, wait or count differently from one time to the next. What needs a
//! model is a [`Proposal::Summary`]: a request that somebody may send, and the policy that takes
//! the answer.

mod goal;
mod kind;
mod pairs;
mod plan;
pub(crate) mod policy;
mod structure;
mod tool_names;
mod view;

pub use goal::{CacheState, Goal, Price};
pub use kind::BoundaryKind;
pub use pairs::{clean_cuts, pairs};
pub use plan::{Compacted, Edit, Plan, PlanError};
pub use policy::{Proposal, SummaryError, SummaryTask};
pub use structure::Structure;
pub use tool_names::ToolNames;
pub use view::HistoryView;
