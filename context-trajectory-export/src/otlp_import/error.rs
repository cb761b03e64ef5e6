//! Errors in traces.

use context_core::trajectory::TrajectoryError;
use thiserror::Error;

/// The reason why traces cannot be read. The error gives positions, but no content.
#[derive(Error)]
#[non_exhaustive]
pub enum OtlpError {
    /// The text is not JSON, or not in the form of OTLP.
    #[error("not traces in OTLP JSON: line {line}, column {column}")]
    Form {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// A span lacks its id, the id of its trace or its start, or one of them cannot be read.
    #[error("span {span} of the traces cannot be read: {part}")]
    Span {
        /// The number of the span in the file, from 1.
        span: usize,
        /// The part.
        part: &'static str,
    },
    /// There are too many spans.
    #[error("there are more than {limit} spans")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// There is no span of an agent, a model or a tool.
    #[error("none of {spans} spans is of an agent, a model or a tool")]
    Nothing {
        /// The number of spans.
        spans: usize,
    },
    /// The traces do not describe a graph that could have been recorded.
    #[error(transparent)]
    Trajectory(#[from] TrajectoryError),
}

context_core::readable_debug!(OtlpError);

impl From<serde_json::Error> for OtlpError {
    fn from(error: serde_json::Error) -> Self {
        Self::Form { line: error.line(), column: error.column() }
    }
}
