//! Recovery from refused requests: an ordered chain of policies, and carrying out their decisions.
//!
//! A [`RecoveryChain`] asks its policies in order, the application's first. The first decision that
//! was not tried in vain is taken. The chain sends nothing and keeps no state: the attempts at a
//! call are in the [`Failure`]. A loop that follows all decisions, and records each as an
//! [`Attempt`](crate::compaction::Attempt), makes at most [`limit`](RecoveryChain::limit) further
//! requests. Each of them is smaller than the one before or changed in a way that is tried once.
//!
//! The [`DecisionSet`] determines which decisions are possible.

mod carry_out;
mod decide;
mod failed_answer;
mod output;
mod repair;

use std::sync::Arc;

pub use carry_out::{CarryOutError, Recovered, RecoveredHistory};
use context_policy_strip_images::StripImages;
use context_policy_truncate_head::TruncateHead;
pub use failed_answer::without_failed_answer;
pub use output::raised_output;

use context_core::history::{Failure, RecoveryDecision, RecoveryPolicy};

/// The set of decisions that a caller supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecisionSet {
    /// The three basic decisions: images are removed, an overflow is cut once, and everything else
    /// is given up.
    #[default]
    Basic,
    /// All decisions: also less output, compaction to the window that the provider named, deeper
    /// cuts, removal of reasoning, repair of call/result pairs, requests with too many bytes, and
    /// answers that break off.
    Full,
}

/// Decides what to try when a model refused a request, and carries out the decisions that concern
/// the history alone.
///
/// ```
/// use context_runtime::{DecisionSet, RecoveryChain, compaction::{DecisionKind, Failure, HistoryView}, model::ModelError};
/// # use context_runtime::model::{TokenCount, TokenCounter};
/// # #[derive(Debug)]
/// # struct Bytes;
/// # impl TokenCounter for Bytes {
/// #     fn name(&self) -> &str { "bytes" }
/// #     fn count(&self, text: &str) -> TokenCount { TokenCount::exact(text.len() as u64) }
/// # }
/// let error = context_runtime::model::classify("openai", Some(400), r#"{"error": {"code": "context_length_exceeded"}}"#);
/// let view = HistoryView::new(&[], &Bytes);
/// let chain = RecoveryChain::new(DecisionSet::Basic);
/// let decision = chain.decide(&Failure::new(&error, &view));
/// assert_eq!(decision.kind(), DecisionKind::TruncateHeadAndRetry);
/// ```
#[derive(Clone, Debug)]
pub struct RecoveryChain {
    decisions: DecisionSet,
    limit: usize,
    least_output: u64,
    broken_retries: usize,
    policies: Vec<Arc<dyn RecoveryPolicy>>,
    truncate: TruncateHead,
    strip: StripImages,
}

impl Default for RecoveryChain {
    fn default() -> Self {
        Self::new(DecisionSet::default())
    }
}

impl RecoveryChain {
    /// The default number of further attempts at a call.
    pub const LIMIT: usize = 4;
    /// The default number of tokens below which an answer is considered useless.
    pub const LEAST_OUTPUT: u64 = 4_096;
    /// The default number of times that an answer is requested again because it broke off.
    pub const BROKEN_RETRIES: usize = 2;

    /// Creates a chain of the built-in policies with these decisions.
    pub fn new(decisions: DecisionSet) -> Self {
        Self {
            decisions,
            limit: Self::LIMIT,
            least_output: Self::LEAST_OUTPUT,
            broken_retries: Self::BROKEN_RETRIES,
            policies: Vec::new(),
            truncate: TruncateHead::new(),
            strip: StripImages::new(),
        }
    }

    /// Adds a policy. It is asked before the built-in ones and after those that were added before
    /// it.
    #[must_use]
    pub fn policy(mut self, policy: impl RecoveryPolicy) -> Self {
        self.policies.push(Arc::new(policy));
        self
    }

    /// Sets how often a call is tried again.
    #[must_use]
    pub fn limit(mut self, attempts: usize) -> Self {
        self.limit = attempts;
        self
    }

    /// Sets the smallest useful answer in tokens. The chain compacts rather than asking for a
    /// smaller one.
    #[must_use]
    pub fn least_output(mut self, tokens: u64) -> Self {
        self.least_output = tokens.max(1);
        self
    }

    /// Sets how often an answer is requested again that broke off after a usable part. After that
    /// the part is accepted, marked as incomplete. Default: 2. Use 0 where a person reads the
    /// answer as it comes, and must not see it begin again.
    #[must_use]
    pub fn broken_retries(mut self, retries: usize) -> Self {
        self.broken_retries = retries;
        self
    }

    /// Sets the policy that cuts the history.
    #[must_use]
    pub fn truncate(mut self, policy: TruncateHead) -> Self {
        self.truncate = policy;
        self
    }

    /// Sets the policy that removes media.
    #[must_use]
    pub fn strip(mut self, policy: StripImages) -> Self {
        self.strip = policy;
        self
    }

    /// Decides what to try. Never fails: an error without a remedy is given up, with the error's
    /// code in the reason.
    pub fn decide(&self, failure: &Failure<'_>) -> RecoveryDecision {
        decide::decide(self, failure)
    }

    /// Carries out a decision that concerns the history alone: cutting it, removing media or
    /// reasoning, or repairing it.
    pub fn carry_out(
        &self,
        decision: &RecoveryDecision,
        failure: &Failure<'_>,
    ) -> Result<RecoveredHistory, CarryOutError> {
        carry_out::carry_out(self, decision, failure)
    }

    /// Returns the plan of a decision. `None` if no plan carries it out.
    #[cfg(feature = "tokens")]
    pub(crate) fn plan(
        &self,
        decision: &RecoveryDecision,
        failure: &Failure<'_>,
    ) -> Result<Option<context_core::history::Plan>, CarryOutError> {
        carry_out::plan(self, decision, failure)
    }

    /// Decides and carries out, until a decision changes something, is one for the caller, or is to
    /// give up.
    pub fn recover(&self, failure: &Failure<'_>) -> Recovered {
        carry_out::recover(self, failure)
    }
}
