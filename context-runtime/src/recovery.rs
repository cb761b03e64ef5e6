//! What to do when a model refuses a request: the policies in order, and carrying out what they
//! decide.
//!
//! A [`RecoveryChain`] asks its policies one after the other, the application's first; the first
//! decision that is worth a try stands. It sends nothing and remembers nothing: what was tried for
//! a call is in the [`Failure`]. Who follows its decisions blindly, and notes each as an
//! [`Attempt`](crate::compaction::Attempt), makes at most [`limit`](RecoveryChain::limit) requests
//! more, each of which is smaller than the one before or changed in a way that is tried once.
//!
//! What the decisions are is a matter of the [`Contract`].

mod carry_out;
mod decide;
mod failed;
mod output;
mod repair;

use std::sync::Arc;

pub use carry_out::{Carried, CarryOutError, Recovered};
#[cfg(feature = "strip-images")]
use context_policy_strip_images::StripImages;
#[cfg(feature = "truncate-head")]
use context_policy_truncate_head::TruncateHead;
pub use failed::without_failed_answer;
pub use output::raised_output;

use context_core::history::{Failure, RecoveryDecision, RecoveryPolicy};

/// Which decisions a loop is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Contract {
    /// The first contract, for loops that know three decisions: images are taken out, an overflow
    /// is cut once, everything else is given up.
    #[default]
    Seed,
    /// All decisions: also less output, compaction with the window the provider named, deeper cuts,
    /// thoughts and pairs repaired, and requests with too many bytes.
    Extended,
}

/// Decides what to try when a model refused a request, and tries it as far as that needs nobody
/// else.
///
/// ```
/// use context_runtime::{Contract, RecoveryChain, RecoveryDecision, compaction::{Failure, HistoryView}, model::ModelError};
/// # use context_runtime::model::{TokenCount, TokenCounter};
/// # #[derive(Debug)]
/// # struct Bytes;
/// # impl TokenCounter for Bytes {
/// #     fn name(&self) -> &str { "bytes" }
/// #     fn count(&self, text: &str) -> TokenCount { TokenCount::exact(text.len() as u64) }
/// # }
/// let error = context_runtime::model::classify("openai", Some(400), r#"{"error": {"code": "context_length_exceeded"}}"#);
/// let view = HistoryView::new(&[], &Bytes);
/// let chain = RecoveryChain::new(Contract::Seed);
/// let decision = chain.decide(&Failure::new(&error, &view));
/// assert_eq!(decision.name(), "truncate_head_and_retry");
/// ```
#[derive(Clone, Debug)]
pub struct RecoveryChain {
    contract: Contract,
    limit: usize,
    least_output: u64,
    policies: Vec<Arc<dyn RecoveryPolicy>>,
    #[cfg(feature = "truncate-head")]
    truncate: TruncateHead,
    #[cfg(feature = "strip-images")]
    strip: StripImages,
}

impl Default for RecoveryChain {
    fn default() -> Self {
        Self::new(Contract::default())
    }
}

impl RecoveryChain {
    /// How often a call is tried again, unless something else is said.
    pub const LIMIT: usize = 4;
    /// Below how many tokens an answer is taken to be of no use, unless something else is said.
    pub const LEAST_OUTPUT: u64 = 4_096;

    /// The built-in policies under a contract.
    pub fn new(contract: Contract) -> Self {
        Self {
            contract,
            limit: Self::LIMIT,
            least_output: Self::LEAST_OUTPUT,
            policies: Vec::new(),
            #[cfg(feature = "truncate-head")]
            truncate: TruncateHead::new(),
            #[cfg(feature = "strip-images")]
            strip: StripImages::new(),
        }
    }

    /// With another policy, which is asked before the built-in ones and after those that were added
    /// before it.
    #[must_use]
    pub fn policy(mut self, policy: impl RecoveryPolicy) -> Self {
        self.policies.push(Arc::new(policy));
        self
    }

    /// Tries a call at most this often again.
    #[must_use]
    pub fn limit(mut self, attempts: usize) -> Self {
        self.limit = attempts;
        self
    }

    /// Rather compacts than asks for an answer of fewer tokens than this.
    #[must_use]
    pub fn least_output(mut self, tokens: u64) -> Self {
        self.least_output = tokens.max(1);
        self
    }

    /// Cuts by this policy.
    #[cfg(feature = "truncate-head")]
    #[must_use]
    pub fn truncate(mut self, policy: TruncateHead) -> Self {
        self.truncate = policy;
        self
    }

    /// Takes media out by this policy.
    #[cfg(feature = "strip-images")]
    #[must_use]
    pub fn strip(mut self, policy: StripImages) -> Self {
        self.strip = policy;
        self
    }

    /// What to try. Never fails: what nobody knows a remedy for is given up, with the error's code
    /// in the reason.
    pub fn decide(&self, failure: &Failure<'_>) -> RecoveryDecision {
        decide::decide(self, failure)
    }

    /// Carries out a decision that concerns the history alone: to cut it, to take media or thoughts
    /// out, to repair it.
    pub fn carry_out(
        &self,
        decision: &RecoveryDecision,
        failure: &Failure<'_>,
    ) -> Result<Carried, CarryOutError> {
        carry_out::carry_out(self, decision, failure)
    }

    /// Decides and carries out, until a decision changes something, is the loop's to carry out, or
    /// is to give up.
    pub fn recover(&self, failure: &Failure<'_>) -> Recovered {
        carry_out::recover(self, failure)
    }
}
