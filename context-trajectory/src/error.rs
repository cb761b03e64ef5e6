//! The error of the recorder.

use std::sync::Arc;

use context_core::trajectory::{RoundRef, TrajectoryError};
use context_core::{Error, ErrorKind, Retry};
use thiserror::Error as ThisError;

/// The error of a recorder call. Callers that wait for the same write get the same error.
#[derive(Clone, ThisError)]
#[non_exhaustive]
pub enum RecordError {
    /// The graph refused the change. Nothing was changed.
    #[error(transparent)]
    Refused(#[from] TrajectoryError),
    /// The round is already open with a different value of an option.
    #[error("{round} is already open with another {option}")]
    ConflictingOption {
        /// The round.
        round: Box<RoundRef>,
        /// The name of the option.
        option: &'static str,
    },
    /// Another writer wrote to the round, so this handle can no longer write. Its unwritten changes
    /// can still be read. Opening the round again reads the stored state.
    #[error("another writer wrote to {round}: open it again")]
    Superseded {
        /// The round.
        round: Box<RoundRef>,
    },
    /// The round cannot be read.
    #[error("{round} cannot be read")]
    DamagedRound {
        /// The round.
        round: Box<RoundRef>,
        /// The cause.
        source: Arc<Error>,
    },
    /// Two channels hold different versions of a round, and neither is a prefix of the other.
    #[error("the channels hold different records of {round}")]
    Diverged {
        /// The round.
        round: Box<RoundRef>,
    },
    /// A step follows several branches that do not start at one common node.
    #[error(
        "{endpoints} branches are open that begin at different nodes: name the one that the step follows"
    )]
    ParallelBranches {
        /// The number of open branches.
        endpoints: usize,
    },
    /// A tool result refers to a call that was not recorded.
    #[error("no call {call:?} in this round")]
    UnknownCall {
        /// The id of the call.
        call: String,
    },
    /// A channel failed. The change stays in memory, unsaved, and is written with the next write.
    #[error(transparent)]
    Store(Arc<Error>),
}

context_core::readable_debug!(RecordError);

impl RecordError {
    pub(crate) fn damaged(round: &RoundRef, source: Error) -> Self {
        Self::DamagedRound { round: Box::new(round.clone()), source: Arc::new(source) }
    }

    pub(crate) fn superseded(round: &RoundRef) -> Self {
        Self::Superseded { round: Box::new(round.clone()) }
    }

    /// Returns whether the same call may be retried.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Store(error) => error.retry(),
            Self::Superseded { .. } => Retry::AfterRefresh,
            _ => Retry::Never,
        }
    }
}

impl From<Error> for RecordError {
    fn from(error: Error) -> Self {
        Self::Store(Arc::new(error))
    }
}

impl From<RecordError> for Error {
    fn from(error: RecordError) -> Self {
        const OPERATION: &str = "record";
        let (kind, message) = match error {
            RecordError::Refused(error) => return error.during(OPERATION),
            RecordError::Store(error) => match Arc::try_unwrap(error) {
                Ok(error) => return error,
                Err(error) => {
                    let shared =
                        Error::new(error.kind(), OPERATION, "a channel of the trajectory failed");
                    return shared.with_retry(error.retry()).with_source(error);
                }
            },
            RecordError::Superseded { .. } => {
                (ErrorKind::Conflict, "another writer wrote to the round")
            }
            RecordError::DamagedRound { .. } => (ErrorKind::Corrupt, "a round cannot be read"),
            RecordError::Diverged { .. } => {
                (ErrorKind::Corrupt, "the channels hold different records of the round")
            }
            RecordError::UnknownCall { .. } => (ErrorKind::NotFound, "no such call"),
            RecordError::ConflictingOption { .. } | RecordError::ParallelBranches { .. } => {
                (ErrorKind::Invalid, "the recorder rejects the option or the step")
            }
        };
        Error::new(kind, OPERATION, message).with_source(error)
    }
}
