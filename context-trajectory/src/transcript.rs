//! Conversations that were recorded by other systems, as rounds.
//!
//! [`Transcript::read`] is pure. Its result can be recorded step by step
//! ([`OpenRound::record_step`](crate::OpenRound::record_step)), or built at once with the times of
//! the messages ([`Transcript::build`]) and written as complete rounds
//! ([`Trajectories::import`](crate::Trajectories::import)).
//!
//! | in the conversation | in the trajectory |
//! |---|---|
//! | a user request after a model message | a round that starts with this `Query` |
//! | a further request before any model message | part of the query, after an empty line |
//! | an answer with tool calls | a `State` with its text and reasoning, an `Action` for each call |
//! | an answer without calls | a `Response` |
//! | the result of a call, in the same or a later round | `output`, `success` and end time of the call's action; a result whose text reads like an error counts as failed, also in formats that cannot mark errors |
//! | system messages, reminders, checkpoints, boundaries | nothing: they are not part of the run |
//!
//! A conversation in which the model speaks first starts with an empty query. Query and answer
//! nodes are linked to their messages, an action to the message that contains the call. Reading is
//! incremental: later messages never change what earlier messages became, except that a further
//! request may extend a query that has no answer yet. A conversation that grew is therefore
//! imported by extending the stored rounds.
//!
//! Mentioned files are not recorded here. Of a chat with several branches, the caller chooses the
//! one to read; [`Trajectories::record_chat`](crate::Trajectories::record_chat) records them all.

mod build;
mod read;

use std::sync::Arc;

use context_core::trajectory::{Changes, NewQuery};
use context_core::{MessageId, Timestamp};

use crate::Step;

/// The rounds of a conversation.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::{Message, Node, Role, Timestamp};
/// use context_core::trajectory::AgentRef;
/// use context_trajectory::Transcript;
///
/// let said = [
///     (Role::User, "Where is it warm in March?"),
///     (Role::Assistant, "On Madeira."),
///     (Role::User, "And in May?"),
/// ];
/// let nodes: Vec<_> = said
///     .iter()
///     .enumerate()
///     .map(|(n, (role, text))| {
///         Arc::new(Node::new(format!("m{n}"), Message::text(*role, *text), Timestamp::default()))
///     })
///     .collect();
/// let transcript = Transcript::read(&"trip".into(), &nodes);
/// assert_eq!((transcript.rounds.len(), transcript.rounds[0].answered), (2, true));
/// assert_eq!(transcript.build(&AgentRef::main("ada", "trip"))?.len(), 2);
/// # Ok::<(), context_trajectory::RecordError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Transcript {
    /// The rounds, in order.
    pub rounds: Vec<TranscriptRound>,
    /// The messages that belong to no round although they should.
    pub skipped: Vec<SkippedMessage>,
}

/// A question and the steps that followed it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TranscriptRound {
    /// The question.
    pub query: NewQuery,
    /// The time of the question.
    pub asked_at: Timestamp,
    /// The steps that followed, in order.
    pub steps: Vec<TranscriptStep>,
    /// Whether the last answer has no tool calls.
    pub answered: bool,
    /// Whether the round is complete: it was answered, or it ended with calls that all have
    /// results.
    pub finished: bool,
    /// The text of the question.
    pub(crate) text: Arc<str>,
    /// The messages of the question, without those before a fork.
    pub(crate) requests: Vec<MessageId>,
    /// The messages of the answers, without those before a fork. A branch may begin with the result
    /// of a call, whose message is then the first.
    pub(crate) answers: Vec<MessageId>,
}

/// One step of a round.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TranscriptStep {
    /// The time of the step.
    pub at: Timestamp,
    /// The event.
    pub event: TranscriptEvent,
}

/// The event of a step.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TranscriptEvent {
    /// An answer of the model.
    Answer(Box<Step>),
    /// The result of a call of this round.
    Result {
        /// The id of the call, as in [`StepCall`](crate::StepCall).
        call: Arc<str>,
        /// The fields that the result sets on the action.
        changes: Changes,
    },
}

/// A message that belongs to no round.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedMessage {
    /// The id of the message.
    pub message: MessageId,
    /// The reason.
    pub reason: SkipReason,
}

/// The reason why a message, or a result in it, was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkipReason {
    /// The stored format of the message cannot be read by this version.
    Unreadable,
    /// The result belongs to a call that was not seen before.
    UnknownCall,
}
