//! Conversations that were had elsewhere, as rounds.
//!
//! [`Transcript::read`] is pure. What it makes can be recorded step by step
//! ([`OpenRound::record_step`](crate::OpenRound::record_step)), or built at once with the times of
//! the messages ([`Transcript::build`]) and written as a whole
//! ([`Trajectories::import`](crate::Trajectories::import)).
//!
//! | in the conversation | in the trajectory |
//! |---|---|
//! | a request of the user, when the model has spoken since the last one | a round that begins with this `Query` |
//! | a request before the model has said anything | a part of the query, behind an empty line |
//! | an answer that calls tools | a `State` with its text and thoughts, an `Action` for each call |
//! | an answer that calls none | a `Response` |
//! | the result of a call, in whatever round it comes | `output` and `success` of the call's action, and when it ended; a result that reads like an error is none that went well, also where the form cannot say so |
//! | what the system says, reminders, checkpoints, boundaries | nothing: nobody asked, concluded or did it |
//!
//! A conversation in which the model speaks first begins with an empty query. The nodes of a query
//! and of an answer are linked to their messages; an action to the message that calls it. Nothing
//! that comes later in a conversation changes what was made of its beginning, but that a further
//! request may add to a query which has no answer yet: so a conversation that grew is imported by
//! adding to what is there.
//!
//! What is not here: files that are mentioned, and the branches of a chat that is a tree. Whoever
//! reads says which one branch it is.

mod build;
mod read;

use std::sync::Arc;

use context_core::trajectory::{Changes, NewQuery};
use context_core::{MessageId, Timestamp};

use crate::Turn;

/// The rounds that a conversation was.
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
    /// What of the conversation is in none of them although it should be.
    pub skipped: Vec<SkippedMessage>,
}

/// One question and what followed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TranscriptRound {
    /// The question.
    pub query: NewQuery,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// What followed, in order.
    pub steps: Vec<TranscriptStep>,
    /// Whether its last answer called nothing.
    pub answered: bool,
    /// Whether nothing is missing: it was answered, or it ended with calls that all have results.
    pub finished: bool,
}

/// One thing that happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TranscriptStep {
    /// When.
    pub at: Timestamp,
    /// What.
    pub event: TranscriptEvent,
}

/// What happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TranscriptEvent {
    /// The model spoke.
    Turn(Box<Turn>),
    /// A call of this round was answered.
    Result {
        /// The id of the call, as its [`TurnCall`](crate::TurnCall) has it.
        call: Arc<str>,
        /// What is known of the action now.
        changes: Changes,
    },
}

/// A message that has no place in any round.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedMessage {
    /// Which.
    pub message: MessageId,
    /// Why.
    pub reason: SkipReason,
}

/// Why a message, or a result in it, has no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkipReason {
    /// It is stored in a form that this program does not read.
    Unreadable,
    /// It is a result of a call that nobody made before.
    UnknownCall,
}
