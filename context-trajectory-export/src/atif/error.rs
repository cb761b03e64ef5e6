//! Errors in ATIF documents.

use context_core::trajectory::TrajectoryError;
use thiserror::Error;

/// The reason why an ATIF document cannot be read. The error gives positions, but no content.
#[derive(Error)]
#[non_exhaustive]
pub enum AtifError {
    /// The text is not JSON or not in ATIF form.
    #[error("not a trajectory in ATIF: line {line}, column {column}")]
    Form {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// The version is unknown.
    #[error("a trajectory of an unknown version of ATIF")]
    UnknownVersion,
    /// The data that this crate stored in the document is damaged.
    #[error("`extra.context` of the trajectory is damaged: {part}")]
    Damaged {
        /// The part.
        part: &'static str,
    },
    /// The document does not describe a graph that could have been recorded.
    #[error(transparent)]
    Trajectory(#[from] TrajectoryError),
}

context_core::readable_debug!(AtifError);

impl From<serde_json::Error> for AtifError {
    fn from(error: serde_json::Error) -> Self {
        Self::Form { line: error.line(), column: error.column() }
    }
}
