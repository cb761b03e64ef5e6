//! What the simulated model says.

use context_core::model::Tool;
use context_core::{Json, ModelRequest, Part, Role, ToolCall};

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Say {
    /// Text.
    Text(String),
    /// A call of a tool.
    Call {
        /// Names the call. Without one, the simulator counts: `call_1`, `call_2`, and so on.
        id: Option<String>,
        /// The name of the tool.
        name: String,
        /// What it is called with, a JSON object.
        input: Json,
    },
    /// A thought. Where the provider signs thoughts, it is signed.
    Thought(String),
}

impl Say {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A call whose id the simulator chooses.
    pub fn call(name: impl Into<String>, input: impl Into<Json>) -> Self {
        Self::Call { id: None, name: name.into(), input: input.into() }
    }

    /// A thought.
    pub fn thought(text: impl Into<String>) -> Self {
        Self::Thought(text.into())
    }

    /// What a message says, as far as a model says such things: texts, thoughts and calls. A call
    /// keeps its id, and one whose input is no object is called with nothing.
    pub fn of_parts(parts: &[Part]) -> Vec<Self> {
        parts.iter().filter_map(Self::of_part).collect()
    }

    fn of_part(part: &Part) -> Option<Self> {
        match part {
            Part::Text(text) if !text.text.trim().is_empty() => Some(Self::Text(text.text.clone())),
            Part::Reasoning(thought) if !thought.text.trim().is_empty() => {
                Some(Self::Thought(thought.text.clone()))
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

/// What a simulated model says to a request that its provider takes. Asked once for each such
/// request; the same request should be answered alike, so that a call that is repeated after a
/// fault goes on as if there had been none.
///
/// A function from a request to what is said is one.
pub trait Behaviour: Send + Sync {
    /// What is said. Nothing at all is an empty answer.
    fn answer(&self, request: &ModelRequest) -> Vec<Say>;
}

impl<F: Fn(&ModelRequest) -> Vec<Say> + Send + Sync> Behaviour for F {
    fn answer(&self, request: &ModelRequest) -> Vec<Say> {
        self(request)
    }
}

/// An agent that calls the first function it is offered until the user's last message has so many
/// results behind it, and then answers with a text that names how many messages it was sent.
/// Without a function it answers at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agent {
    calls: usize,
}

impl Agent {
    /// An agent that wants this many results before it answers.
    pub fn new(calls: usize) -> Self {
        Self { calls }
    }
}

impl Default for Agent {
    /// Three results.
    fn default() -> Self {
        Self::new(3)
    }
}

impl Behaviour for Agent {
    fn answer(&self, request: &ModelRequest) -> Vec<Say> {
        let is_result = |part: &&Part| matches!(part, Part::ToolResult(_));
        let mut results = 0;
        for message in request.messages.iter().rev() {
            let found = message.parts.iter().filter(is_result).count();
            // Some providers hold results in the user's messages.
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
                vec![Say::call(function.name.as_str(), input)]
            }
            None => vec![Say::text(format!("I was sent {} messages.", request.messages.len()))],
        }
    }
}
