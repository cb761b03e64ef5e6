//! What happened that the caller should know although the call went well.
//!
//! Codes are an enum with stable strings, so that a program can act on them; the message is for
//! people and may change. Diagnostics are returned, never logged from here.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::base::shown::clean;

/// How much a [`Diagnostic`] matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Probably not what was wanted.
    Warning,
    /// Something is missing or broken.
    Error,
}

/// What a [`Diagnostic`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DiagnosticCode {
    /// A persisted fragment has a kind no codec is registered for: kept, not rendered.
    UnknownFragmentKind,
    /// A stored message has a kind or version that cannot be read: kept, not shown.
    UnreadableMessage,
    /// Pending messages were dropped by a move to another place of the graph.
    PendingDropped,
    /// Input has a part the target form cannot hold; it was kept aside or left out.
    Unrepresentable,
    /// A part of the input is broken or does not fit to the rest; the good parts were kept.
    BrokenInput,
    /// A tool call is without its result, or a result without its call.
    Unpaired,
    /// Input says that something belongs where nothing is, or where something else is; it was kept
    /// elsewhere.
    Misplaced,
    /// Two things have the same name; the first was taken.
    DuplicateName,
    /// A part was cut or left out because of a limit.
    OverLimit,
    /// Lazy data could not be loaded; the prompt was made without it.
    NotLoaded,
    /// A call had no result and was answered by a marked placeholder.
    ToolResultInjected,
    /// A result had no call, or its call had another one, and was left out.
    ToolResultOrphaned,
    /// A result stood apart from its call and was moved to it.
    ToolResultMoved,
    /// A call without result was left out.
    ToolCallRemoved,
    /// A call or tool had an id or name that repeats or is not allowed, and was given another for
    /// sending.
    ToolCallRenamed,
    /// Something without content was left out.
    EmptyRemoved,
    /// Messages were joined, added or given another role, because the provider wants roles in
    /// order.
    RolesAdjusted,
    /// An answer broke off; what was not whole was left out.
    CutOff,
    /// The history was cut to a number of messages.
    ContextTruncated,
    /// Nothing keeps the history within the window: no limit was given.
    BudgetNotEnforced,
    /// Memories could not be recalled or kept, or not in time.
    MemoryProviderError,
    /// Nothing worth telling was remembered.
    MemoryContextEmpty,
    /// A result was too large and is kept elsewhere; a preview stands in its place.
    ToolResultSpilled,
    /// A result was too large and could not be kept elsewhere.
    ToolResultPersistenceFailed,
    /// Media that a message names could not be read; a text stands in their place.
    MediaUnavailable,
    /// A plan was applied to the history.
    Compacted,
    /// A plan was not applied, since reading the prefix again would cost more than it saves.
    CompactionNotWorth,
    /// A policy made a plan that may not be applied.
    CompactionPlanRefused,
    /// The policies could not make the history as small as was wanted.
    CompactionTargetNotReached,
    /// Compaction is turned off for this session, because it made no progress several times in a
    /// row.
    CompactionStopped,
    /// A summary failed or was refused; the history is as it was.
    CompactSummaryFailed,
    /// A summary lacks parts that it should have.
    CompactSummaryStructureWeak,
    /// The request does not fit the window, whatever was cut.
    ContextOverflow,
    /// The model's window is not known; a small one is assumed.
    UnknownWindow,
    /// The request does not begin as the one before it, although nothing was cut: the provider's
    /// cache is lost.
    PrefixChanged,
    /// A refused request was changed and sent again.
    RecoveryApplied,
}

impl DiagnosticCode {
    /// The stable name.
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

/// One thing the caller should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Diagnostic {
    /// What it is about.
    pub code: DiagnosticCode,
    /// How much it matters.
    pub severity: Severity,
    /// For people.
    pub message: String,
    /// Where: a message id, a fragment's path, a file and line.
    pub path: String,
}

impl Diagnostic {
    /// A diagnostic at `path`.
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
