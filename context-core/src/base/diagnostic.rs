//! Events that callers should know about although the call succeeded.
//!
//! Codes are an enum with stable strings, so that programs can act on them. Other crates name codes
//! of their own. Messages are for people
//! and may change. Diagnostics are returned and never logged by this crate.

mod code_name;

use std::borrow::Cow;
use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use code_name::{CodeName, CodeNameError};

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
    /// The codec of a stored message is not registered or cannot decode it. The message is shown as
    /// it is stored.
    MessageNotDecoded,
    /// Pending messages were dropped by a move to another node of the graph.
    PendingDropped,
    /// A part of a workspace is not in a snapshot, and a restore leaves it alone.
    NotInSnapshot,
    /// A move of the files and the conversation was interrupted between the two.
    RewindInterrupted,
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
    /// A file or folder of instructions or skills could not be read. The others were used.
    InstructionDiscoveryFailed,
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
    /// Memories were asked for or handed over, but there is no memory.
    MemoryDisabled,
    /// No relevant memories were found.
    MemoryContextEmpty,
    /// A result was too large and was spilled. A preview takes its place.
    ToolResultSpilled,
    /// A result was too large and could not be spilled.
    ToolResultPersistenceFailed,
    /// Media that a message refers to could not be read. A text takes their place.
    MediaUnavailable,
    /// The model does not read media of the request. A text takes the place of each.
    MediaNotReadable,
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
    /// A compaction of a provider can be read by that provider only, and the request is for another
    /// one. It was undone where that was possible.
    CompactionSealed,
    /// The request does not fit the window, even after all cuts.
    ContextOverflow,
    /// The model's window is unknown. A small one is assumed.
    UnknownWindow,
    /// The request has another prefix than the previous one, although nothing was cut, so the
    /// provider's cache is lost.
    PrefixChanged,
    /// Entries of the provider's prompt cache are asked to live for another time than before,
    /// because of the pauses between the calls of the chat.
    CacheLifetimeChanged,
    /// The provider has forgotten the prefix of the chat, because the pause before this request was
    /// longer than its cache keeps an entry.
    CacheExpired,
    /// A request cannot use the content that the provider has stored, and is sent in whole.
    CachedContentUnused,
    /// A refused request was changed and sent again.
    RecoveryApplied,
    /// A step of a turn could not be recorded. The turn went on.
    StepNotRecorded,
    /// The stream of a turn could not be written, so its readers lack a part. The turn went on.
    StreamNotWritten,
    /// A code of another crate, such as a plug-in; see [`DiagnosticCode::named`].
    Other(CodeName),
}

/// Defines the names of the codes of this crate.
macro_rules! names {
    ($($code:ident => $name:literal,)*) => {
        impl DiagnosticCode {
            /// The codes of this crate.
            const KNOWN: &[Self] = &[$(Self::$code),*];

            /// Returns the name of a code of this crate.
            fn known_name(&self) -> &'static str {
                match self {
                    $(Self::$code => $name,)*
                    Self::Other(_) => "other",
                }
            }
        }
    };
}

names! {
    UnknownFragmentKind => "unknown_fragment_kind",
    UnreadableMessage => "unreadable_message",
    MessageNotDecoded => "message_not_decoded",
    PendingDropped => "pending_dropped",
    NotInSnapshot => "not_in_snapshot",
    RewindInterrupted => "rewind_interrupted",
    Unrepresentable => "unrepresentable",
    BrokenInput => "broken_input",
    Unpaired => "unpaired",
    Misplaced => "misplaced",
    DuplicateName => "duplicate_name",
    OverLimit => "over_limit",
    InstructionDiscoveryFailed => "instruction_discovery_failed",
    NotLoaded => "not_loaded",
    ToolResultInjected => "tool_result_injected",
    ToolResultOrphaned => "tool_result_orphaned",
    ToolResultMoved => "tool_result_moved",
    ToolCallRemoved => "tool_call_removed",
    ToolCallRenamed => "tool_call_renamed",
    EmptyRemoved => "empty_removed",
    RolesAdjusted => "roles_adjusted",
    CutOff => "cut_off",
    ContextTruncated => "context_truncated",
    BudgetNotEnforced => "context_budget_not_enforced",
    MemoryProviderError => "memory_provider_error",
    MemoryDisabled => "memory_disabled",
    MemoryContextEmpty => "memory_context_empty",
    ToolResultSpilled => "tool_result_spilled",
    ToolResultPersistenceFailed => "tool_result_persistence_failed",
    MediaUnavailable => "media_reference_materialization_failed",
    MediaNotReadable => "media_not_readable",
    Compacted => "context_compacted",
    CompactionNotWorth => "compaction_not_worth",
    CompactionPlanRefused => "compaction_plan_refused",
    CompactionTargetNotReached => "compaction_target_not_reached",
    CompactionStopped => "compaction_stopped",
    CompactSummaryFailed => "compact_summary_failed",
    CompactSummaryStructureWeak => "compact_summary_structure_weak",
    CompactionSealed => "compaction_sealed",
    ContextOverflow => "context_overflow_after_emergency_compaction",
    UnknownWindow => "window_unknown",
    PrefixChanged => "prefix_changed",
    CacheLifetimeChanged => "cache_lifetime_changed",
    CacheExpired => "cache_expired",
    CachedContentUnused => "cached_content_unused",
    RecoveryApplied => "recovery_applied",
    StepNotRecorded => "step_not_recorded",
    StreamNotWritten => "stream_not_written",
}

impl DiagnosticCode {
    /// Returns the code with this name: one of this crate if it has the name, else
    /// [`Other`](Self::Other).
    ///
    /// ```
    /// use context_core::Diagnostic;
    /// use context_core::base::{DiagnosticCode, Severity};
    ///
    /// let code = DiagnosticCode::named("acme.quota_low")?;
    /// let told = Diagnostic::new(code, Severity::Warning, "chat c", "three calls are left today");
    /// assert_eq!(told.code.as_str(), "acme.quota_low");
    /// assert_eq!(DiagnosticCode::named("cut_off")?, DiagnosticCode::CutOff);
    /// assert!(DiagnosticCode::named("Quota low!").is_err());
    /// # Ok::<_, context_core::base::CodeNameError>(())
    /// ```
    pub fn named(name: &str) -> Result<Self, CodeNameError> {
        match Self::KNOWN.iter().find(|code| code.known_name() == name) {
            Some(known) => Ok(*known),
            None => CodeName::new(name).map(Self::Other),
        }
    }

    /// Returns the stable name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(name) => name.as_str(),
            known => known.known_name(),
        }
    }
}

impl Serialize for DiagnosticCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for DiagnosticCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<str>::deserialize(deserializer)?;
        Self::named(&name).map_err(D::Error::custom)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_comes_back_from_its_name() {
        let other = DiagnosticCode::named("acme.quota-low_2").unwrap();
        assert!(matches!(other, DiagnosticCode::Other(_)));
        for code in DiagnosticCode::KNOWN.iter().chain([&other]) {
            let text = serde_json::to_string(code).unwrap();
            assert_eq!(text, format!("{:?}", code.as_str()));
            assert_eq!(serde_json::from_str::<DiagnosticCode>(&text).unwrap(), *code);
        }
        assert_eq!(format!("{other:?}"), r#"Other("acme.quota-low_2")"#);
    }

    #[test]
    fn a_name_is_short_and_of_plain_characters() {
        let longest = "a".repeat(CodeName::MAX_BYTES);
        assert_eq!(DiagnosticCode::named(&longest).unwrap().as_str(), longest);
        for refused in ["", "a b", "Quota", "ü", "a\nb", &format!("{longest}a")] {
            assert!(DiagnosticCode::named(refused).is_err(), "{refused:?}");
            let text = serde_json::to_string(refused).unwrap();
            assert!(serde_json::from_str::<DiagnosticCode>(&text).is_err());
        }
    }
}
