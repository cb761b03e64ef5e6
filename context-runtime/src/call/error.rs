//! The errors of a call.

use context_core::model::WireError;
use context_core::{Answer, Error, ErrorKind, ModelError, Retry};

/// The reason why a call was not answered. The caller's history is unchanged.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The provider refused, and nothing that may be tried would help.
    #[error("{0}")]
    Refused(#[source] Box<Refusal>),
    /// The limit of calls is reached.
    #[error("not answered after {calls} calls")]
    Exhausted {
        /// The number of calls, summaries included.
        calls: u32,
        /// The last error of the provider, if it refused.
        #[source]
        error: Option<Box<ModelError>>,
    },
    /// The model answered nothing or its answers broke off, and all retries are used.
    #[error("no usable answer after {calls} calls")]
    NoAnswer {
        /// The number of calls, summaries included.
        calls: u32,
        /// The last answer, as far as it came.
        answer: Box<Answer>,
    },
    /// The request cannot be lowered to the wire form, for example because there is nothing to
    /// send.
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
    /// The reason why it was not tried again, as text for people.
    pub reason: String,
    /// The number of calls, summaries included.
    pub calls: u32,
}

context_core::readable_debug!(Refusal);

impl CallError {
    /// The last error of the provider, if it refused.
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

    /// The kind of failure as the caller sees it.
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

    /// Creates the error for a call that already ended with an error.
    pub(crate) fn over() -> Self {
        Self::Runtime(Error::invalid(super::OPERATION, "the call has ended without an answer"))
    }
}

impl From<CallError> for Error {
    /// Converts to the common error type. The provider's error is among the sources.
    fn from(error: CallError) -> Self {
        match error {
            CallError::Runtime(error) => error,
            CallError::Request(error) => error.into(),
            // The call itself made all sensible waits and retries.
            error => Self::new(error.kind(), super::OPERATION, "the model did not answer")
                .with_retry(Retry::Never)
                .with_source(error),
        }
    }
}
