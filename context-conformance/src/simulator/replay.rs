//! A recorded conversation, played again: the model says what was recorded, and so do user and
//! tools.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use context_core::{Message, ModelRequest, Role};

use super::behaviour::{Behaviour, Say};

/// A recorded conversation as an agent meets it: something comes in, the model answers, something
/// comes in again.
///
/// It is the [`Behaviour`] of a model that says what was recorded, at the step that whoever drives
/// it has reached: asked twice it says the same, so a call may be repeated. A clone plays together
/// with the first.
///
/// ```
/// use context_conformance::simulator::Replay;
/// use context_core::{Message, Role};
///
/// let replay = Replay::new([
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
pub struct Replay {
    system: Arc<[Arc<Message>]>,
    steps: Arc<[ReplayStep]>,
    /// How many steps were begun.
    begun: Arc<AtomicUsize>,
}

/// A step of a [`Replay`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReplayStep {
    /// What comes in before the model answers: messages of the user, results of tools. Empty where
    /// the model spoke twice.
    pub input: Vec<Arc<Message>>,
    /// What the model answered; nothing behind the last input of a recording that ends with it.
    pub answer: Option<Arc<Message>>,
}

impl Replay {
    /// A recording of these messages, oldest first. System messages at its beginning are the
    /// prompt.
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

    /// The system messages it begins with.
    pub fn system(&self) -> &[Arc<Message>] {
        &self.system
    }

    /// How many steps it has.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Returns whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Goes to the next step, if there is one. From now on the model says what it answers there.
    pub fn advance(&self) -> Option<ReplayStep> {
        let next = |begun| (begun < self.steps.len()).then_some(begun + 1);
        let begun = self.begun.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next).ok()?;
        self.steps.get(begun).cloned()
    }

    /// The step that was begun last.
    pub fn current(&self) -> Option<&ReplayStep> {
        self.steps.get(self.begun.load(Ordering::SeqCst).checked_sub(1)?)
    }
}

impl Behaviour for Replay {
    fn answer(&self, _request: &ModelRequest) -> Vec<Say> {
        let answer = self.current().and_then(|step| step.answer.as_ref());
        answer.map(|message| Say::of_parts(&message.parts)).unwrap_or_default()
    }
}
