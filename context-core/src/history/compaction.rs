//! Compaction of conversations that no longer fit the window: views, plans and policies.
//!
//! A [`CompactionPolicy`] examines a [`HistoryView`] and a [`Goal`] and proposes a [`Plan`]. A plan
//! is data: it states which messages are replaced by which others, and it can be shown, priced and
//! stored. Only [`Plan::apply`] carries it out, so the invariants are checked in one place for
//! every policy: calls and results stay together, the [anchors](Anchors) are kept, such as the
//! first and the newest request of the user and pinned messages, and there is one checkpoint in
//! front.
//!
//! Policies do not send, store or wait, and they are deterministic. Work that needs a model is a
//! [`Proposal::Summary`]: a request for the caller to send. The policy then turns the answer into a
//! plan.

mod anchors;
mod goal;
mod kind;
mod pairs;
mod plan;
pub(crate) mod policy;
mod rewrite;
mod structure;
mod tool_names;
mod view;

pub use anchors::Anchors;
pub use goal::{CacheState, Goal, Price};
pub use kind::{Boundary, BoundaryKind};
pub use pairs::{clean_cuts, pairs};
pub use plan::{Edit, Plan, PlanError};
pub use policy::{PolicyKind, Proposal, SummaryError, SummaryTask};
pub use rewrite::HistoryRewrite;
pub use structure::Structure;
pub use tool_names::ToolNames;
pub use view::HistoryView;
