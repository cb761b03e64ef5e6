//! Events that callers should know about although the call succeeded.
//!
//! Codes are an enum with stable strings, so that programs can act on them. Messages are for people
//! and may change. Diagnostics are returned and never logged by this crate.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::base::display::clean;

/// The severity of a [`Diagnostic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// Informational.
    Info,
    /// Probably unintended.
    Warning,
    /// Something is missing or broken.
    Error,
}

/// The subject of a [`Diagnostic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DiagnosticCode {
    /// No codec is registered for the kind of a persisted fragment. The fragment is kept but not
    /// rendered.
    UnknownFragmentKind,
    /// The kind or version of a stored message cannot be read. The message is kept but not shown.
    UnreadableMessage,
    /// Pending messages were dropped by a move to another node of the graph.
    PendingDropped,
    /// The target form cannot represent a part of the input. The part was kept separately or left
    /// out.
    Unrepresentable,
    /// A part of the input is malformed or inconsistent. The valid parts were kept.
    BrokenInput,
    /// A tool call has no result, or a result has no call.
    Unpaired,
    /// The input refers to a position that does not exist or is taken. The item was kept elsewhere.
    Misplaced,
    /// Two items have the same name. The first one was used.
    DuplicateName,
    /// A part was truncated or left out because of a limit.
    OverLimit,
    /// Lazy data could not be loaded. The prompt was built without it.
    NotLoaded,
    /// A call had no result. A marked placeholder was added as its result.
    ToolResultInjected,
    /// A result was left out because it had no call, or its call already had a result.
    ToolResultOrphaned,
    /// A result was moved to its call.
    ToolResultMoved,
    /// A call without a result was left out.
    ToolCallRemoved,
    /// A call or tool had a duplicate or illegal id or name, and was renamed for sending.
    ToolCallRenamed,
    /// An empty item was left out.
    EmptyRemoved,
    /// Messages were merged, added or given another role, because the provider requires an order of
    /// roles.
    RolesAdjusted,
    /// An answer was interrupted. Incomplete parts were left out.
    CutOff,
    /// The history was cut to a maximum number of messages.
    ContextTruncated,
    /// The size of the history is not limited, because no limit was given.
    BudgetNotEnforced,
    /// Memories could not be recalled or captured, or not in time.
    MemoryProviderError,
    /// No relevant memories were found.
    MemoryContextEmpty,
    /// A result was too large and was spilled. A preview takes its place.
    ToolResultSpilled,
    /// A result was too large and could not be spilled.
    ToolResultPersistenceFailed,
    /// Media that a message refers to could not be read. A text takes their place.
    MediaUnavailable,
    /// A plan was applied to the history.
    Compacted,
    /// A plan was not applied, because rereading the prefix would cost more than the plan saves.
    CompactionNotWorth,
    /// A policy made a plan that must not be applied.
    CompactionPlanRefused,
    /// The policies could not reach the target size of the history.
    CompactionTargetNotReached,
    /// Compaction is disabled for this session, because it made no progress several times in a row.
    CompactionStopped,
    /// A summary failed or was refused. The history is unchanged.
    CompactSummaryFailed,
    /// A summary lacks parts that it should have.
    CompactSummaryStructureWeak,
    /// The request does not fit the window, even after all cuts.
    ContextOverflow,
    /// The model's window is unknown. A small one is assumed.
    UnknownWindow,
    /// The request has another prefix than the previous one, although nothing was cut, so the
    /// provider's cache is lost.
    PrefixChanged,
    /// A refused request was changed and sent again.
    RecoveryApplied,
    /// A step of a turn could not be recorded. The turn went on.
    StepNotRecorded,
}

impl DiagnosticCode {
    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownFragmentKind => "unknown_fragment_kind",
            Self::UnreadableMessage => "unreadable_message",
            Self::PendingDropped => "pending_dropped",
            Self::Unrepresentable => "unrepresentable",
            Self::BrokenInput => "broken_input",
            Self::Unpaired => "unpaired",
            Self::Misplaced => "misplaced",
            Self::DuplicateName => "duplicate_name",
            Self::OverLimit => "over_limit",
            Self::NotLoaded => "not_loaded",
            Self::ToolResultInjected => "tool_result_injected",
            Self::ToolResultOrphaned => "tool_result_orphaned",
            Self::ToolResultMoved => "tool_result_moved",
            Self::ToolCallRemoved => "tool_call_removed",
            Self::ToolCallRenamed => "tool_call_renamed",
            Self::EmptyRemoved => "empty_removed",
            Self::RolesAdjusted => "roles_adjusted",
            Self::CutOff => "cut_off",
            Self::ContextTruncated => "context_truncated",
            Self::BudgetNotEnforced => "context_budget_not_enforced",
            Self::MemoryProviderError => "memory_provider_error",
            Self::MemoryContextEmpty => "memory_context_empty",
            Self::ToolResultSpilled => "tool_result_spilled",
            Self::ToolResultPersistenceFailed => "tool_result_persistence_failed",
            Self::MediaUnavailable => "media_reference_materialization_failed",
            Self::Compacted => "context_compacted",
            Self::CompactionNotWorth => "compaction_not_worth",
            Self::CompactionPlanRefused => "compaction_plan_refused",
            Self::CompactionTargetNotReached => "compaction_target_not_reached",
            Self::StepNotRecorded => "step_not_recorded",
            Self::CompactionStopped => "compaction_stopped",
            Self::CompactSummaryFailed => "compact_summary_failed",
            Self::CompactSummaryStructureWeak => "compact_summary_structure_weak",
            Self::ContextOverflow => "context_overflow_after_emergency_compaction",
            Self::UnknownWindow => "window_unknown",
            Self::PrefixChanged => "prefix_changed",
            Self::RecoveryApplied => "recovery_applied",
        }
    }
}

impl Serialize for DiagnosticCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// An event that the caller should know about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The subject.
    pub code: DiagnosticCode,
    /// The severity.
    pub severity: Severity,
    /// A human-readable message.
    pub message: String,
    /// The location: a message id, a fragment's path, a file and line.
    pub path: String,
}

impl Diagnostic {
    /// Creates a diagnostic at `path`.
    pub fn new(
        code: DiagnosticCode,
        severity: Severity,
        path: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { code, severity, message: message.into(), path: path.into() }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}", self.code.as_str(), clean(&self.path), clean(&self.message))
    }
}
