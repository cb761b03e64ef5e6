//! Where a replay does something else than the record.

use context_core::trajectory::NodeId;
use thiserror::Error as ThisError;

/// Where a replay does something else than the record.
#[derive(Clone, PartialEq, Eq, ThisError)]
#[error("{}{kind}", shown_step(.step))]
#[non_exhaustive]
pub struct Divergence {
    /// The step, counted from 0, as in [`Replay::steps`](super::Replay::steps); none for what has
    /// no place in the record.
    pub step: Option<usize>,
    /// The node that is recorded there.
    pub node: Option<NodeId>,
    /// What is different.
    pub kind: DivergenceKind,
}

fn shown_step(step: &Option<usize>) -> String {
    step.map_or_else(String::new, |step| format!("step {step}: "))
}

/// What is different.
#[derive(Clone, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum DivergenceKind {
    /// The model is asked though the record has no further answer.
    #[error("the record has no further answer")]
    Ended,
    /// The request does not ask the question that was asked.
    #[error("the question is another one")]
    OtherQuery,
    /// The request lacks the result of a call.
    #[error("the result of the call {call:?} is missing")]
    MissingResult {
        /// The id of the call.
        call: String,
    },
    /// The request has the result of a call that was not made here.
    #[error("a result of the call {call:?}, which was not made here")]
    UnexpectedResult {
        /// The id of the call.
        call: String,
    },
    /// The result of a call is another one.
    #[error("the result of the call {call:?} is another one")]
    OtherResult {
        /// The id of the call.
        call: String,
    },
    /// The request has a message of a user where none spoke.
    #[error("a user speaks where none did")]
    UnexpectedMessage,
    /// A tool is called in a way in which it never was.
    #[error("no call {call:?} of {tool:?} with these parameters is recorded")]
    UnknownCall {
        /// The id of the call.
        call: String,
        /// The tool.
        tool: String,
    },
    /// A tool is called more often than it was.
    #[error("the call {call:?} of {tool:?} was made before, and is recorded no further time")]
    RepeatedCall {
        /// The id of the call.
        call: String,
        /// The tool.
        tool: String,
    },
    /// A call whose id is recorded has another tool or other parameters.
    #[error("the call {call:?} has another tool or other parameters")]
    OtherCall {
        /// The id of the call.
        call: String,
    },
    /// A call that got no result then.
    #[error("the call {call:?} never got a result")]
    Unanswered {
        /// The id of the call.
        call: String,
    },
}

context_core::readable_debug!(Divergence, DivergenceKind);
