//! Steps as messages.

use std::sync::Arc;

use context_core::message::Reasoning;
use context_core::trajectory::TrajectoryNode;
use context_core::{Message, Part, Role};

use super::calls::{call, is_answered, result};
use super::steps::{RecordedStep, Replay};

impl Replay {
    /// Returns the run as messages: questions, model messages with their calls, and tool results. A
    /// call without a recorded result has none here either; wire codecs make such a history valid
    /// for a provider.
    pub fn messages(&self) -> Vec<Message> {
        let mut messages = Vec::with_capacity(self.steps().len() * 2);
        for step in self {
            match step {
                RecordedStep::Query { query } => {
                    messages.push(Message::text(Role::User, query.body.text("query")))
                }
                _ => messages.extend(self.model_message(step)),
            }
            if let RecordedStep::Calls { calls, .. } = step {
                let answered = calls.iter().filter(|action| is_answered(action));
                let results: Vec<Part> =
                    answered.map(|action| result(&self.call_id(action), action)).collect();
                if !results.is_empty() {
                    messages.push(Message::new(Role::Tool, results));
                }
            }
        }
        messages
    }

    /// Returns the model's message of a step, if the step has one.
    pub(super) fn model_message(&self, step: &RecordedStep) -> Option<Message> {
        let (spoken, text, calls): (Option<&Arc<TrajectoryNode>>, _, &[Arc<TrajectoryNode>]) =
            match step {
                RecordedStep::Query { .. } => return None,
                RecordedStep::Calls { state, calls } => (state.as_ref(), "content", calls),
                RecordedStep::Response { response } => (Some(response), "response", &[]),
            };
        let mut parts = Vec::new();
        if let Some(node) = spoken {
            let thought = node.body.text("reasoning_content");
            if !thought.is_empty() {
                parts.push(Part::Reasoning(Reasoning {
                    text: thought.into(),
                    ..Reasoning::default()
                }));
            }
            let model_message = node.body.text(text);
            if !model_message.is_empty() {
                parts.push(Part::text(model_message));
            }
        }
        parts.extend(calls.iter().map(|action| call(&self.call_id(action), action)));
        Some(Message::new(Role::Assistant, parts))
    }
}
