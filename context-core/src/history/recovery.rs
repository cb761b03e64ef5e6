//! What to do when a model refused a request.
//!
//! A [`RecoveryPolicy`] looks at a [`Failure`] and says what to try, or nothing; the first of
//! several that says something decides. Policies have no memory: what was tried for the same call
//! stands in the failure, so that a loop that follows decisions blindly comes to an end.

use std::fmt;

use serde::Serialize;

use crate::ModelError;
use crate::history::HistoryView;
use crate::model::Budget;

/// What to do about a refused request. The first three are those of the first contract; a loop that
/// does not know a decision gives up.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[must_use]
#[non_exhaustive]
pub enum RecoveryDecision {
    /// Keep the newest part of the history and send again.
    TruncateHeadAndRetry {
        /// How much of the history's tokens is kept, from 0 to 1.
        keep_ratio: f64,
        /// Why, for people.
        reason: String,
    },
    /// Take images and other media out of the history and send again.
    StripImagesAndRetry {
        /// Why, for people.
        reason: String,
    },
    /// Do not go on.
    GiveUp {
        /// Why, for people; it holds the error's code.
        reason: String,
    },
    /// Compact the history and send again.
    CompactAndRetry {
        /// The window the provider named, in tokens.
        window: Option<u64>,
        /// How many tokens of answer to ask for.
        max_output_tokens: Option<u64>,
        /// Why, for people.
        reason: String,
    },
    /// Ask for fewer tokens of answer and send again.
    AdjustOutputAndRetry {
        /// How many.
        max_output_tokens: u64,
        /// Whether it holds for the model from now on, and not for this call alone.
        lasting: bool,
        /// Why, for people.
        reason: String,
    },
    /// Take the model's thoughts out of the history, because their signatures are refused, and send
    /// again.
    RemoveThoughtsAndRetry {
        /// Why, for people.
        reason: String,
    },
    /// Repair the history once more, without what the provider objected to, and send again.
    RepairAndRetry {
        /// Why, for people.
        reason: String,
    },
}

impl RecoveryDecision {
    /// To give up, and why.
    pub fn give_up(reason: impl Into<String>) -> Self {
        Self::GiveUp { reason: reason.into() }
    }

    /// Its stable name, without the numbers.
    pub fn name(&self) -> &'static str {
        match self {
            Self::TruncateHeadAndRetry { .. } => "truncate_head_and_retry",
            Self::StripImagesAndRetry { .. } => "strip_images_and_retry",
            Self::GiveUp { .. } => "give_up",
            Self::CompactAndRetry { .. } => "compact_and_retry",
            Self::AdjustOutputAndRetry { .. } => "adjust_output_and_retry",
            Self::RemoveThoughtsAndRetry { .. } => "remove_thoughts_and_retry",
            Self::RepairAndRetry { .. } => "repair_and_retry",
        }
    }

    /// Why, for people.
    pub fn reason(&self) -> &str {
        match self {
            Self::TruncateHeadAndRetry { reason, .. }
            | Self::StripImagesAndRetry { reason }
            | Self::GiveUp { reason }
            | Self::CompactAndRetry { reason, .. }
            | Self::AdjustOutputAndRetry { reason, .. }
            | Self::RemoveThoughtsAndRetry { reason }
            | Self::RepairAndRetry { reason } => reason,
        }
    }

    /// Whether the request is to be sent again.
    pub fn retries(&self) -> bool {
        !matches!(self, Self::GiveUp { .. })
    }
}

/// What was tried for a call, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Attempt {
    /// What was decided.
    pub decision: RecoveryDecision,
    /// How many tokens the request had.
    pub before: u64,
    /// How many it had afterwards.
    pub after: u64,
}

impl Attempt {
    /// This was decided, and the request went from so many tokens to so many.
    pub fn new(decision: RecoveryDecision, before: u64, after: u64) -> Self {
        Self { decision, before, after }
    }

    /// Whether it made the request smaller.
    pub fn helped(&self) -> bool {
        self.after < self.before
    }
}

/// A refused request.
#[derive(Debug)]
#[non_exhaustive]
pub struct Failure<'a> {
    /// What the provider said.
    pub error: &'a ModelError,
    /// What was tried for this call already, oldest first.
    pub attempts: &'a [Attempt],
    /// Whether the caller says that it has compacted or cut for this call.
    pub has_attempted_compact: bool,
    /// The history that was sent.
    pub view: &'a HistoryView<'a>,
    /// The window and the reserve that were reckoned with, if they are known.
    pub budget: Option<Budget>,
}

impl<'a> Failure<'a> {
    /// A request of this history that was refused, for the first time.
    pub fn new(error: &'a ModelError, view: &'a HistoryView<'a>) -> Self {
        Self { error, attempts: &[], has_attempted_compact: false, view, budget: None }
    }

    /// How often a decision of this name was tried.
    pub fn tried(&self, name: &str) -> usize {
        self.attempts.iter().filter(|attempt| attempt.decision.name() == name).count()
    }

    /// Whether something was tried that should have made the history smaller.
    pub fn attempted(&self) -> bool {
        self.has_attempted_compact
            || self.tried("truncate_head_and_retry") > 0
            || self.tried("compact_and_retry") > 0
    }
}

/// Decides what to try when a model refused a request.
///
/// Implementors: be pure and synchronous, and do not decide again what was tried and did not help.
/// Nothing means that the next policy is asked; if none knows better, the call is given up.
///
/// ```
/// use context_core::history::{Failure, RecoveryDecision, RecoveryPolicy};
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
///         (is_ours && failure.tried("truncate_head_and_retry") == 0).then(|| {
///             let reason = "too many bytes: the newer half is kept".to_owned();
///             RecoveryDecision::TruncateHeadAndRetry { keep_ratio: 0.5, reason }
///         })
///     }
/// }
/// # assert_eq!(HalveLargeRequests.name(), "halve-large-requests");
/// ```
pub trait RecoveryPolicy: fmt::Debug + Send + Sync + 'static {
    /// Its name.
    fn name(&self) -> &'static str;

    /// What to try.
    fn decide(&self, failure: &Failure<'_>) -> Option<RecoveryDecision>;
}
