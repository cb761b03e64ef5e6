//! Compaction as data: policies that plan cuts, the pipeline that orders policies, and boundaries
//! that record cuts.
//!
//! Each policy of this workspace has a function of its name that returns it as a stage. In order
//! from least to most lossy:
//!
//! ```
//! use context_runtime::DefaultContextRuntime;
//! use context_runtime::compaction::{microcompact, snip, truncate_head};
//!
//! let runtime = DefaultContextRuntime::builder()
//!     .model("claude-sonnet-4-5")
//!     .compaction([microcompact(), snip().trigger(0.95), truncate_head()])
//!     .build()?;
//! # Ok::<(), context_runtime::Error>(())
//! ```
//!
//! Their options are in their crates, such as [`microcompact`](crate::microcompact):
//! `Stage::new(Microcompact::new().…)`. A custom policy implements [`CompactionPolicy`], or
//! [`RecoveryPolicy`] if it helps against a refusal.

#[cfg(feature = "tokens")]
mod on_demand;

pub use context_core::CompactionPolicy;
pub use context_core::history::{
    Anchors, Attempt, Boundary, BoundaryDraft, BoundaryKind, BoundaryStep, CacheState,
    DecisionKind, DraftError, Edit, Failure, FrontEntry, Goal, HistoryRewrite, HistoryView, Plan,
    PlanError, PolicyKind, Price, Proposal, RecoveryPolicy, Replacement, ShownMessage, Structure,
    ToolNames, shorten, shown,
};
pub use context_core::model::{Budget, Pressure};
pub use context_core::runtime::CutOwner;

#[cfg(feature = "tokens")]
pub use self::on_demand::OnDemand;
pub use crate::plugins::policies::*;
pub use crate::runtime::{
    HistoryState, Pipeline, Planned, PlannedStep, PlannedSummary, Stage, StageFault, StageFaults,
    Trigger, USER_WORDS,
};
