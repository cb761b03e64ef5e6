//! Replay of a recorded conversation: the model, the user and the tools all repeat the recording.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use context_core::{Message, ModelRequest, Role};

use super::behaviour::{AnswerPiece, Behaviour};

/// A recorded conversation as the agent loop sees it: input arrives, the model answers, the next
/// input arrives.
///
/// A replay is the [`Behaviour`] of a model that repeats the recorded answer of the current step.
/// The caller moves to the next step. Asked twice in one step, the model gives the same answer, so
/// a call may be retried. Clones share their position.
///
/// ```
/// use context_simulator::ConversationReplay;
/// use context_core::{Message, Role};
///
/// let replay = ConversationReplay::new([
///     Message::from("Two tickets to Lisbon."),
///     Message::text(Role::Assistant, "Window or aisle?"),
///     Message::from("Aisle."),
/// ]);
/// let first = replay.advance().expect("a step");
/// assert_eq!(first.input.len(), 1);
/// assert!(first.answer.is_some());
/// let last = replay.advance().expect("a step");
/// assert!(last.answer.is_none() && replay.advance().is_none());
/// ```
#[derive(Clone, Debug)]
pub struct ConversationReplay {
    system: Arc<[Arc<Message>]>,
    steps: Arc<[ReplayStep]>,
    /// The number of steps begun.
    begun: Arc<AtomicUsize>,
}

/// A step of a [`ConversationReplay`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReplayStep {
    /// The input before the answer of the model: user messages and tool results. Empty if the
    /// recording has two assistant messages in a row.
    pub input: Vec<Arc<Message>>,
    /// The answer of the model. `None` in the last step if the recording ends with input.
    pub answer: Option<Arc<Message>>,
}

impl ConversationReplay {
    /// Creates a replay of these messages, oldest first. System messages at the beginning are the
    /// system prompt.
    pub fn new(messages: impl IntoIterator<Item = impl Into<Arc<Message>>>) -> Self {
        let mut messages = messages.into_iter().map(Into::into).peekable();
        let mut system: Vec<Arc<Message>> = Vec::new();
        while let Some(message) = messages.next_if(|message| message.role == Role::System) {
            system.push(message);
        }
        let (mut steps, mut input) = (Vec::new(), Vec::new());
        for message in messages {
            if message.role == Role::Assistant {
                let input = std::mem::take(&mut input);
                steps.push(ReplayStep { input, answer: Some(message) });
            } else {
                input.push(message);
            }
        }
        if !input.is_empty() {
            steps.push(ReplayStep { input, answer: None });
        }
        Self { system: system.into(), steps: steps.into(), begun: Arc::default() }
    }

    /// Returns the system messages at the beginning.
    pub fn system(&self) -> &[Arc<Message>] {
        &self.system
    }

    /// Returns the number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there are no steps.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Moves to the next step and returns it, or `None` at the end. From now on the model repeats
    /// the answer of this step.
    pub fn advance(&self) -> Option<ReplayStep> {
        let next = |begun| (begun < self.steps.len()).then_some(begun + 1);
        let begun = self.begun.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next).ok()?;
        self.steps.get(begun).cloned()
    }

    /// Returns the current step: the one that was begun last.
    pub fn current(&self) -> Option<&ReplayStep> {
        self.steps.get(self.begun.load(Ordering::SeqCst).checked_sub(1)?)
    }
}

impl Behaviour for ConversationReplay {
    fn answer(&self, _request: &ModelRequest) -> Vec<AnswerPiece> {
        let answer = self.current().and_then(|step| step.answer.as_ref());
        answer.map(|message| AnswerPiece::of_parts(&message.parts)).unwrap_or_default()
    }
}
