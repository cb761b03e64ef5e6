//! Cuts of a history: plans of policies, boundaries that store them, and recovery decisions after a
//! model has refused a request.

mod boundary;
pub(crate) mod compaction;
mod recovery;
mod report;
pub mod shorten;

pub use boundary::{
    BoundaryDraft, BoundaryStep, DraftError, FrontEntry, Replacement, ShownMessage, StoredBoundary,
    shown,
};
pub use compaction::{
    Anchors, Boundary, BoundaryKind, CacheState, Edit, Goal, HistoryRewrite, HistoryView, Plan,
    PlanError, PolicyKind, Price, Proposal, Structure, SummaryError, SummaryTask, ToolNames,
    clean_cuts, pairs,
};
pub use recovery::{Attempt, DecisionKind, Failure, RecoveryDecision, RecoveryPolicy};
pub use report::PlanReport;
