//! Why a call was not answered.

use context_core::model::WireError;
use context_core::{Answer, Error, ErrorKind, ModelError, Retry};

/// Why a call was not answered. The history is as the caller has it.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The provider refused, and nothing that may be tried would help.
    #[error("{0}")]
    Refused(#[source] Box<Refusal>),
    /// As many requests were sent as are allowed.
    #[error("not answered after {calls} calls")]
    Exhausted {
        /// How many, summaries included.
        calls: u32,
        /// What the provider said last, if it refused.
        #[source]
        error: Option<Box<ModelError>>,
    },
    /// The model answered nothing, or its answers broke off, as often as may be tried.
    #[error("no usable answer after {calls} calls")]
    NoAnswer {
        /// How many, summaries included.
        calls: u32,
        /// The last of them, as far as it came.
        answer: Box<Answer>,
    },
    /// There is nothing to send.
    #[error(transparent)]
    Request(WireError),
    /// The runtime failed, or the caller cancelled.
    #[error(transparent)]
    Runtime(#[from] Error),
}

context_core::readable_debug!(CallError);

/// A refusal that ended a call.
#[derive(Clone, thiserror::Error)]
#[error("not answered after {calls} calls: {error} ({reason})")]
#[non_exhaustive]
pub struct Refusal {
    /// The error that the provider reported.
    pub error: ModelError,
    /// Why it was not tried again, for people.
    pub reason: String,
    /// How many calls there were, summaries included.
    pub calls: u32,
}

context_core::readable_debug!(Refusal);

impl CallError {
    /// What the provider said last, if it refused.
    pub fn model_error(&self) -> Option<&ModelError> {
        match self {
            Self::Refused(refusal) => Some(&refusal.error),
            Self::Exhausted { error, .. } => error.as_deref(),
            _ => None,
        }
    }

    /// Whether the caller cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Runtime(error) if error.kind() == ErrorKind::Cancelled)
    }

    /// What kind of failure it is for whoever asked.
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Runtime(error) => error.kind(),
            Self::Request(_) => ErrorKind::Invalid,
            Self::Refused(refusal) if !refusal.error.retryable => ErrorKind::Invalid,
            Self::Refused(_) | Self::Exhausted { .. } | Self::NoAnswer { .. } => {
                ErrorKind::Unavailable
            }
        }
    }

    pub(super) fn refused(error: ModelError, reason: impl Into<String>, calls: u32) -> Self {
        Self::Refused(Box::new(Refusal { error, reason: reason.into(), calls }))
    }

    /// Of a call that ended with an error before.
    pub(super) fn over() -> Self {
        Self::Runtime(Error::invalid(super::OPERATION, "the call has ended without an answer"))
    }
}

impl From<CallError> for Error {
    /// For programs with one error for everything. What the provider said is among the sources.
    fn from(error: CallError) -> Self {
        match error {
            CallError::Runtime(error) => error,
            CallError::Request(error) => error.into(),
            // The waits and retries that were worth it are over.
            error => Self::new(error.kind(), super::OPERATION, "the model did not answer")
                .with_retry(Retry::Never)
                .with_source(error),
        }
    }
}
