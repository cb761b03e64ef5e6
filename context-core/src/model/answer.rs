//! What a model answers, at once or in events.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::WireError;
use crate::{Diagnostic, Message, ModelError, Part};

/// What a model answered.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
#[non_exhaustive]
pub struct Answer {
    /// What it said, thought and called. Without parts if it said nothing.
    pub message: Message,
    /// Why it ended, if the provider said so.
    pub stop: Option<StopReason>,
    /// What it cost, as far as the provider said so.
    pub usage: Option<Usage>,
    /// The model that answered.
    pub model: Option<String>,
    /// The provider's name of the answer.
    pub id: Option<String>,
    /// Whether it is all of it. A stream that broke off leaves what was whole until then, and that
    /// can be sent back.
    pub complete: bool,
    /// An error the provider reported in place of an answer, or in the middle of one.
    pub error: Option<ModelError>,
    /// What could not be understood, or was dropped because it was not whole.
    pub diagnostics: Vec<Diagnostic>,
}

impl Answer {
    /// An answer of this message, complete, about which nothing else is known.
    pub fn new(message: Message) -> Self {
        Self {
            message,
            stop: None,
            usage: None,
            model: None,
            id: None,
            complete: true,
            error: None,
            diagnostics: Vec::new(),
        }
    }

    /// What it says, thinks and calls, as if it came in events: one piece for each, in order.
    ///
    /// ```
    /// use context_core::{Answer, Message, Role};
    /// use context_core::model::AnswerDelta;
    ///
    /// let answer = Answer::new(Message::text(Role::Assistant, "Window or aisle?"));
    /// assert!(answer.deltas().eq([AnswerDelta::Text("Window or aisle?".into())]));
    /// ```
    pub fn deltas(&self) -> impl Iterator<Item = AnswerDelta> {
        self.message
            .parts
            .iter()
            .flat_map(|part| match part {
                Part::Text(text) => [Some(AnswerDelta::Text(text.text.clone())), None],
                Part::Reasoning(thought) => {
                    [Some(AnswerDelta::Reasoning(thought.text.clone())), None]
                }
                Part::ToolCall(call) => {
                    let begun =
                        AnswerDelta::ToolCall { id: call.id.clone(), name: call.name.clone() };
                    [Some(begun), Some(AnswerDelta::ToolInput(call.input.as_written().into()))]
                }
                _ => [None, None],
            })
            .flatten()
            .filter(|delta| !delta.is_empty())
    }
}

/// Why a model ended its answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// It was done, or wrote a stop sequence.
    Stop,
    /// It may not write more.
    Length,
    /// It waits for results of tools.
    ToolCalls,
    /// It refused.
    Refusal,
    /// The provider cut it off because of what it said.
    ContentFilter,
    /// The provider paused it; sent back as it is, it goes on.
    Paused,
    /// The window is full.
    ContextWindow,
    /// Something the provider says and this version does not know.
    Other(String),
}

/// What a call cost, in tokens. Where a provider counts cached input within the input, a codec
/// takes it out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens of input that were neither read from a cache nor written to one.
    pub input: u64,
    /// Tokens of output, thoughts included.
    pub output: u64,
    /// Tokens of input read from a cache.
    #[serde(default)]
    pub cache_read: u64,
    /// Tokens of input written to a cache.
    #[serde(default)]
    pub cache_write: u64,
    /// How many tokens of the output were thoughts, if the provider says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

impl Usage {
    /// So many tokens of input, none of them cached, and of output.
    pub fn new(input: u64, output: u64) -> Self {
        Self { input, output, ..Self::default() }
    }

    /// What the window held before the answer.
    pub fn total_input(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// Input and output.
    pub fn total(&self) -> u64 {
        self.total_input().saturating_add(self.output)
    }
}

/// What an event added to an answer, for whoever shows it while it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerDelta {
    /// More text.
    Text(String),
    /// More of a thought.
    Reasoning(String),
    /// A call begins.
    ToolCall {
        /// Its id; may be empty if the provider gives none.
        id: String,
        /// The tool.
        name: String,
    },
    /// More of the newest call's input, as it is written.
    ToolInput(String),
}

impl AnswerDelta {
    /// Whether it adds nothing. The beginning of a call is something.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) | Self::Reasoning(text) | Self::ToolInput(text) => text.is_empty(),
            Self::ToolCall { .. } => false,
        }
    }
}

/// An answer that comes in events.
///
/// ```text
/// let mut stream = codec.answer_stream();
/// while let Some(data) = events.next().await { show(stream.push(&data)?); }
/// let answer = stream.finish();
/// ```
pub trait AnswerStream: fmt::Debug + Send {
    /// Takes the data of one server-sent event and says what it added. Unknown events are passed
    /// over; an event that cannot be read is an error, and what came before it stands.
    fn push(&mut self, event: &str) -> Result<Vec<AnswerDelta>, WireError>;

    /// What there is until now, as [`finish`](Self::finish) would give it.
    fn answer(&self) -> Answer;

    /// The answer. If the stream did not end as it should, it is not [complete](Answer::complete),
    /// and holds only what may be sent back: no call whose input is cut off, no thought whose
    /// signature is missing.
    fn finish(self: Box<Self>) -> Answer {
        self.answer()
    }
}
