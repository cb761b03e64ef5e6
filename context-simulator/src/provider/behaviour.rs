//! The replies of the simulated model.

use context_core::model::Tool;
use context_core::{Json, ModelRequest, Part, Role, ToolCall};

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerPiece {
    /// Text.
    Text(String),
    /// A call of a tool.
    Call {
        /// The id of the call. If `None`, the simulator counts: `call_1`, `call_2`, and so on.
        id: Option<String>,
        /// The name of the tool.
        name: String,
        /// The input of the call, a JSON object.
        input: Json,
    },
    /// A thinking block. It is signed if the provider signs thinking.
    Thought(String),
}

impl AnswerPiece {
    /// Creates a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Creates a call whose id the simulator chooses.
    pub fn call(name: impl Into<String>, input: impl Into<Json>) -> Self {
        Self::Call { id: None, name: name.into(), input: input.into() }
    }

    /// Creates a thinking block.
    pub fn thought(text: impl Into<String>) -> Self {
        Self::Thought(text.into())
    }

    /// Converts the texts, thinking blocks and calls of a message. Other parts are left out. A call
    /// keeps its id. A call whose input is not an object gets an empty input.
    pub fn of_parts(parts: &[Part]) -> Vec<Self> {
        parts.iter().filter_map(Self::of_part).collect()
    }

    fn of_part(part: &Part) -> Option<Self> {
        match part {
            Part::Text(text) if !text.text.trim().is_empty() => {
                Some(Self::Text(text.text.to_cow().into_owned()))
            }
            Part::Reasoning(thought) if !thought.text.trim().is_empty() => {
                Some(Self::Thought(thought.text.to_cow().into_owned()))
            }
            Part::ToolCall(ToolCall { id, name, input, .. }) => {
                let written =
                    Some(input.as_written()).filter(|input| input.trim_start().starts_with('{'));
                let input = written.and_then(|input| Json::from_text(input).ok());
                let input = input.unwrap_or_else(|| Json::from(serde_json::json!({})));
                let id = Some(id.clone()).filter(|id| !id.is_empty());
                Some(Self::Call { id, name: name.clone(), input })
            }
            _ => None,
        }
    }
}

/// The behaviour of a simulated model. It is asked once for each request that the provider accepts.
/// The same request should get the same answer, so that a call that is retried after a fault
/// continues as if there had been no fault.
///
/// A function from a request to its answer is a behaviour.
pub trait Behaviour: Send + Sync {
    /// Returns the answer to a request. An empty list is an empty answer.
    fn answer(&self, request: &ModelRequest) -> Vec<AnswerPiece>;
}

impl<F: Fn(&ModelRequest) -> Vec<AnswerPiece> + Send + Sync> Behaviour for F {
    fn answer(&self, request: &ModelRequest) -> Vec<AnswerPiece> {
        self(request)
    }
}

/// An agent that calls the first offered function until the last user message is followed by a
/// given number of results. Then it answers with a text that contains the number of messages it was
/// sent. Without a function it answers at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agent {
    calls: usize,
}

impl Agent {
    /// Creates an agent that wants `calls` results before it answers.
    pub fn new(calls: usize) -> Self {
        Self { calls }
    }
}

impl Default for Agent {
    /// Wants three results.
    fn default() -> Self {
        Self::new(3)
    }
}

impl Behaviour for Agent {
    fn answer(&self, request: &ModelRequest) -> Vec<AnswerPiece> {
        let is_result = |part: &&Part| matches!(part, Part::ToolResult(_));
        let mut results = 0;
        for message in request.messages.iter().rev() {
            let found = message.parts.iter().filter(is_result).count();
            // Some providers put results into user messages.
            if message.role == Role::User && found == 0 {
                break;
            }
            results += found;
        }
        let function = request.tools.iter().find_map(|tool| match tool {
            Tool::Function(function) => Some(function),
            _ => None,
        });
        match function.filter(|_| results < self.calls) {
            Some(function) => {
                let input = serde_json::json!({ "step": results + 1 });
                vec![AnswerPiece::call(function.name.as_str(), input)]
            }
            None => {
                vec![AnswerPiece::text(format!("I was sent {} messages.", request.messages.len()))]
            }
        }
    }
}
