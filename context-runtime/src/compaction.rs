//! Cuts as data: policies that plan them, the pipeline that orders policies, boundaries that keep what was cut.
//!
//! The policies of this workspace are modules of their own, such as `microcompact`; one of yours implements [`CompactionPolicy`], or
//! [`RecoveryPolicy`] if it helps against a refusal.

pub use context_core::{
    Attempt, Boundary, BoundaryDraft, BoundaryKind, BoundaryStep, Budget, CHECKPOINT, CacheState, Compacted,
    CompactionPolicy, DraftError, Edit, Failure, FrontEntry, GAP, Goal, HistoryView, Plan, PlanError,
    Pressure, Price, Proposal, RecoveryPolicy, Replacement, Shown, Structure, ToolNames, shorten, shown,
};

pub use crate::policies::{POLICIES, policy};
pub use crate::runtime::{Pipeline, Planned, PlannedStep, Stage, StageFault, StageFaults};
