//! What can be wrong with a document.

use context_core::trajectory::TrajectoryError;
use thiserror::Error;

/// Why a document in ATIF cannot be read. Says where, never what stands there.
#[derive(Error)]
#[non_exhaustive]
pub enum AtifError {
    /// It is no JSON, or not of the form.
    #[error("no trajectory in ATIF: line {line}, column {column}")]
    Form {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// It is of a version that nobody here knows.
    #[error("a trajectory of an unknown version of ATIF")]
    UnknownVersion,
    /// What it keeps for us is not as we write it.
    #[error("what the trajectory keeps in `extra.context` is damaged: {what}")]
    Damaged {
        /// Which part.
        what: &'static str,
    },
    /// It is no graph that could have been recorded.
    #[error(transparent)]
    Trajectory(#[from] TrajectoryError),
}

context_core::readable_debug!(AtifError);

impl From<serde_json::Error> for AtifError {
    fn from(error: serde_json::Error) -> Self {
        Self::Form { line: error.line(), column: error.column() }
    }
}
