//! Recovery from refused model requests.
//!
//! A [`RecoveryPolicy`] examines a [`Failure`] and returns a decision or `None`; the first policy
//! with a decision wins. Policies are stateless. The attempts for the same call are part of the
//! failure, so that a loop that follows every decision terminates.

use std::fmt;

use serde::Serialize;

use crate::history::HistoryView;
use crate::model::Budget;
use crate::{Message, ModelError};

/// A decision about a refused request. The first three variants are the basic ones. A loop that
/// does not know a decision gives up.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[must_use]
#[non_exhaustive]
pub enum RecoveryDecision {
    /// Keep the newest part of the history and send again.
    TruncateHeadAndRetry {
        /// The share of the history's tokens to keep, from 0 to 1.
        keep_ratio: f64,
        /// A human-readable reason.
        reason: String,
    },
    /// Remove images and other media from the history and send again.
    StripImagesAndRetry {
        /// A human-readable reason.
        reason: String,
    },
    /// Stop.
    GiveUp {
        /// A human-readable reason, which includes the error's code.
        reason: String,
    },
    /// Compact the history and send again.
    CompactAndRetry {
        /// The window that the provider reported, in tokens.
        window: Option<u64>,
        /// The maximum number of output tokens to request.
        max_output_tokens: Option<u64>,
        /// A human-readable reason.
        reason: String,
    },
    /// Request fewer output tokens and send again.
    AdjustOutputAndRetry {
        /// The maximum number of output tokens.
        max_output_tokens: u64,
        /// Whether the limit applies to the model from now on, not only to this call.
        lasting: bool,
        /// A human-readable reason.
        reason: String,
    },
    /// Remove reasoning from the history, because its signatures are refused, and send again.
    RemoveThoughtsAndRetry {
        /// A human-readable reason.
        reason: String,
    },
    /// Repair the history once more, without the parts that the provider objected to, and send
    /// again.
    RepairAndRetry {
        /// A human-readable reason.
        reason: String,
    },
    /// Send the same request again, because the answer broke off.
    RetryUnchanged {
        /// A human-readable reason.
        reason: String,
    },
    /// Accept the part of the answer that arrived before it broke off. The loop marks the answer as
    /// incomplete.
    AcceptPartial {
        /// A human-readable reason.
        reason: String,
    },
}

impl RecoveryDecision {
    /// Creates a decision to give up.
    pub fn give_up(reason: impl Into<String>) -> Self {
        Self::GiveUp { reason: reason.into() }
    }

    /// Returns the kind, without parameters.
    pub fn kind(&self) -> DecisionKind {
        match self {
            Self::TruncateHeadAndRetry { .. } => DecisionKind::TruncateHeadAndRetry,
            Self::StripImagesAndRetry { .. } => DecisionKind::StripImagesAndRetry,
            Self::GiveUp { .. } => DecisionKind::GiveUp,
            Self::CompactAndRetry { .. } => DecisionKind::CompactAndRetry,
            Self::AdjustOutputAndRetry { .. } => DecisionKind::AdjustOutputAndRetry,
            Self::RemoveThoughtsAndRetry { .. } => DecisionKind::RemoveThoughtsAndRetry,
            Self::RepairAndRetry { .. } => DecisionKind::RepairAndRetry,
            Self::RetryUnchanged { .. } => DecisionKind::RetryUnchanged,
            Self::AcceptPartial { .. } => DecisionKind::AcceptPartial,
        }
    }

    /// Returns the human-readable reason.
    pub fn reason(&self) -> &str {
        match self {
            Self::TruncateHeadAndRetry { reason, .. }
            | Self::StripImagesAndRetry { reason }
            | Self::GiveUp { reason }
            | Self::CompactAndRetry { reason, .. }
            | Self::AdjustOutputAndRetry { reason, .. }
            | Self::RemoveThoughtsAndRetry { reason }
            | Self::RepairAndRetry { reason }
            | Self::RetryUnchanged { reason }
            | Self::AcceptPartial { reason } => reason,
        }
    }

    /// Returns whether the request is to be sent again.
    pub fn retries(&self) -> bool {
        !matches!(self, Self::GiveUp { .. } | Self::AcceptPartial { .. })
    }
}

/// The kind of a [`RecoveryDecision`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecisionKind {
    /// [`RecoveryDecision::TruncateHeadAndRetry`].
    TruncateHeadAndRetry,
    /// [`RecoveryDecision::StripImagesAndRetry`].
    StripImagesAndRetry,
    /// [`RecoveryDecision::GiveUp`].
    GiveUp,
    /// [`RecoveryDecision::CompactAndRetry`].
    CompactAndRetry,
    /// [`RecoveryDecision::AdjustOutputAndRetry`].
    AdjustOutputAndRetry,
    /// [`RecoveryDecision::RemoveThoughtsAndRetry`].
    RemoveThoughtsAndRetry,
    /// [`RecoveryDecision::RepairAndRetry`].
    RepairAndRetry,
    /// [`RecoveryDecision::RetryUnchanged`].
    RetryUnchanged,
    /// [`RecoveryDecision::AcceptPartial`].
    AcceptPartial,
}

impl DecisionKind {
    /// Returns the stable name, as in the JSON form of a decision.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TruncateHeadAndRetry => "truncate_head_and_retry",
            Self::StripImagesAndRetry => "strip_images_and_retry",
            Self::GiveUp => "give_up",
            Self::CompactAndRetry => "compact_and_retry",
            Self::AdjustOutputAndRetry => "adjust_output_and_retry",
            Self::RemoveThoughtsAndRetry => "remove_thoughts_and_retry",
            Self::RepairAndRetry => "repair_and_retry",
            Self::RetryUnchanged => "retry_unchanged",
            Self::AcceptPartial => "accept_partial",
        }
    }
}

impl fmt::Display for DecisionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A recovery attempt and its effect.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Attempt {
    /// The decision.
    pub decision: RecoveryDecision,
    /// Tokens of the request before the attempt.
    pub before: u64,
    /// Tokens of the request after the attempt.
    pub after: u64,
}

impl Attempt {
    /// Creates an attempt.
    pub fn new(decision: RecoveryDecision, before: u64, after: u64) -> Self {
        Self { decision, before, after }
    }

    /// Returns whether the attempt made the request smaller.
    pub fn helped(&self) -> bool {
        self.after < self.before
    }
}

/// A refused request, or one whose answer broke off.
#[derive(Debug)]
#[non_exhaustive]
pub struct Failure<'a> {
    /// The error that the provider reported.
    pub error: &'a ModelError,
    /// Earlier attempts for this call, oldest first.
    pub attempts: &'a [Attempt],
    /// Whether the caller reports that it has compacted or cut the history for this call.
    pub has_attempted_compact: bool,
    /// The usable part of an answer that broke off. `None` if nothing usable arrived.
    pub partial: Option<&'a Message>,
    /// The history that was sent.
    pub view: &'a HistoryView<'a>,
    /// The window and the reserve that the request was prepared for, if known.
    pub budget: Option<Budget>,
}

impl<'a> Failure<'a> {
    /// Creates the first failure of a call.
    pub fn new(error: &'a ModelError, view: &'a HistoryView<'a>) -> Self {
        Self {
            error,
            attempts: &[],
            has_attempted_compact: false,
            partial: None,
            view,
            budget: None,
        }
    }

    /// Returns the number of attempts with a decision of this kind.
    pub fn tried(&self, kind: DecisionKind) -> usize {
        self.attempts.iter().filter(|attempt| attempt.decision.kind() == kind).count()
    }

    /// Returns whether an attempt to make the history smaller was made.
    pub fn attempted(&self) -> bool {
        self.has_attempted_compact
            || self.tried(DecisionKind::TruncateHeadAndRetry) > 0
            || self.tried(DecisionKind::CompactAndRetry) > 0
    }
}

/// Decides how to recover from a refused request.
///
/// Contract with implementors: be pure and synchronous, and do not repeat a decision that was tried
/// without success. `None` passes the failure to the next policy. If no policy decides, the call is
/// given up.
///
/// ```
/// use context_core::history::{DecisionKind, Failure, RecoveryDecision, RecoveryPolicy};
/// use context_core::model::ModelErrorCode;
///
/// /// Halves the history once where a request has too many bytes.
/// #[derive(Debug)]
/// struct HalveLargeRequests;
///
/// impl RecoveryPolicy for HalveLargeRequests {
///     fn name(&self) -> &'static str {
///         "halve-large-requests"
///     }
///
///     fn decide(&self, failure: &Failure<'_>) -> Option<RecoveryDecision> {
///         let is_ours = failure.error.code == ModelErrorCode::RequestTooLarge;
///         (is_ours && failure.tried(DecisionKind::TruncateHeadAndRetry) == 0).then(|| {
///             let reason = "too many bytes: the newer half is kept".to_owned();
///             RecoveryDecision::TruncateHeadAndRetry { keep_ratio: 0.5, reason }
///         })
///     }
/// }
/// # assert_eq!(HalveLargeRequests.name(), "halve-large-requests");
/// ```
pub trait RecoveryPolicy: fmt::Debug + Send + Sync + 'static {
    /// Returns the name of the policy.
    fn name(&self) -> &'static str;

    /// Returns the next decision, or `None`.
    fn decide(&self, failure: &Failure<'_>) -> Option<RecoveryDecision>;
}
