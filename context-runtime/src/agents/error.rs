//! The errors of a turn.

use context_core::{Error, ErrorKind, Retry};

use crate::CallError;

/// The reason why a turn has no answer. The turn has ended in order: what arrived is stored, and
/// the chat can go on.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// The model was asked and did not answer.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A [limit](crate::TurnLimits) is reached.
    #[error("the turn reached its limit of {most} {limit}")]
    Limit {
        /// The limit: `calls`, `steps` or `seconds`.
        limit: &'static str,
        /// Its value.
        most: u64,
    },
    /// The turn was ended before the model answered.
    #[error("the turn has no answer: call `next` until it returns none, or `cancel`")]
    Unanswered,
    /// The store failed, the turn was cancelled, or a part is missing.
    #[error(transparent)]
    Store(#[from] Error),
}

context_core::readable_debug!(TurnError);

impl TurnError {
    /// Whether the turn was cancelled.
    pub fn is_cancelled(&self) -> bool {
        match self {
            Self::Call(error) => error.is_cancelled(),
            Self::Store(error) => error.kind() == ErrorKind::Cancelled,
            _ => false,
        }
    }
}

impl From<TurnError> for Error {
    /// Converts to the common error type. The cause is among the sources.
    fn from(error: TurnError) -> Self {
        match error {
            TurnError::Call(error) => error.into(),
            TurnError::Store(error) => error,
            TurnError::Limit { .. } => Self::new(ErrorKind::Unavailable, "turn", error.to_string())
                .with_retry(Retry::Never)
                .with_source(error),
            TurnError::Unanswered => Self::invalid("turn", error.to_string()).with_source(error),
        }
    }
}
