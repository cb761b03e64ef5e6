//! Divergence of a replay from the record.

use context_core::trajectory::NodeId;
use thiserror::Error as ThisError;

/// A divergence of a replay from the record.
#[derive(Clone, PartialEq, Eq, ThisError)]
#[error("{}{kind}", shown_step(.step))]
#[non_exhaustive]
pub struct Divergence {
    /// The step, counted from 0, as in [`Replay::steps`](super::Replay::steps). `None` if it has no
    /// place in the record.
    pub step: Option<usize>,
    /// The node recorded for the step.
    pub node: Option<NodeId>,
    /// The kind of divergence.
    pub kind: DivergenceKind,
}

fn shown_step(step: &Option<usize>) -> String {
    step.map_or_else(String::new, |step| format!("step {step}: "))
}

/// The kind of a divergence.
#[derive(Clone, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum DivergenceKind {
    /// The model was asked, but the record has no further answer.
    #[error("the record has no further answer")]
    Ended,
    /// The request asks a different question.
    #[error("the request differs from the recorded one")]
    OtherQuery,
    /// The request lacks the result of a call.
    #[error("the result of the call {call:?} is missing")]
    MissingResult {
        /// The id of the call.
        call: String,
    },
    /// The request contains the result of a call that was not made at this step.
    #[error("a result of the call {call:?}, which was not made here")]
    UnexpectedResult {
        /// The id of the call.
        call: String,
    },
    /// The result of a call differs.
    #[error("the result of the call {call:?} differs from the recorded one")]
    OtherResult {
        /// The id of the call.
        call: String,
    },
    /// The request contains a user message where the record has none.
    #[error("a user message, where none was recorded")]
    UnexpectedMessage,
    /// A tool was called with an id, name and parameters that are not recorded.
    #[error("no call {call:?} of {tool:?} with these parameters is recorded")]
    UnknownCall {
        /// The id of the call.
        call: String,
        /// The tool.
        tool: String,
    },
    /// A tool was called more often than recorded.
    #[error("the call {call:?} of {tool:?} was made before, and is recorded no further time")]
    RepeatedCall {
        /// The id of the call.
        call: String,
        /// The tool.
        tool: String,
    },
    /// A call with a recorded id has a different tool or different parameters.
    #[error("the call {call:?} has another tool or other parameters")]
    OtherCall {
        /// The id of the call.
        call: String,
    },
    /// The recorded call has no result.
    #[error("the call {call:?} never got a result")]
    Unanswered {
        /// The id of the call.
        call: String,
    },
}

context_core::readable_debug!(Divergence, DivergenceKind);
