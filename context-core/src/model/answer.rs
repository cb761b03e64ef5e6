//! Model answers, complete or streamed.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::WireError;
use crate::{Diagnostic, Message, ModelError, Part};

/// An answer of a model.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
#[non_exhaustive]
pub struct Answer {
    /// The message of the model: text, reasoning and tool calls. Without parts if the answer is
    /// empty.
    pub message: Message,
    /// The reason why the answer ended, if the provider reported one.
    pub stop: Option<StopReason>,
    /// Token usage, as far as the provider reported it.
    pub usage: Option<Usage>,
    /// The model that answered.
    pub model: Option<String>,
    /// The provider's id of the answer.
    pub id: Option<String>,
    /// Whether the answer is complete. The answer of an interrupted stream holds the parts that
    /// were complete by then, and can be sent back.
    pub complete: bool,
    /// An error that the provider reported instead of an answer, or in the middle of one.
    pub error: Option<ModelError>,
    /// Parts that could not be parsed, or were dropped because they were incomplete.
    pub diagnostics: Vec<Diagnostic>,
}

impl Answer {
    /// Creates a complete answer from a message, without further details.
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

    /// Returns the message as deltas, one piece for each part, in order.
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
                Part::Text(text) => {
                    [Some(AnswerDelta::Text(text.text.to_cow().into_owned())), None]
                }
                Part::Reasoning(thought) => {
                    [Some(AnswerDelta::Reasoning(thought.text.to_cow().into_owned())), None]
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

/// The reason why a model ended its answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The answer is finished, or the model wrote a stop sequence.
    Stop,
    /// The output limit was reached.
    Length,
    /// The model waits for tool results.
    ToolCalls,
    /// The model refused.
    Refusal,
    /// The provider's content filter cut the answer off.
    ContentFilter,
    /// The provider paused the answer. Sending it back unchanged continues it.
    Paused,
    /// The window is full.
    ContextWindow,
    /// A reason that this version does not know.
    Other(String),
}

/// Token usage of one model call, as the provider reported it. Codecs subtract cached input where a
/// provider counts it as part of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens of input that were neither read from a cache nor written to one.
    pub input: u64,
    /// Tokens of output, reasoning included.
    pub output: u64,
    /// Input tokens read from a cache.
    #[serde(default)]
    pub cache_read: u64,
    /// Input tokens written to a cache.
    #[serde(default)]
    pub cache_write: u64,
    /// The part of [`cache_write`](Self::cache_write) that was written for a longer lifetime than
    /// the provider's usual one, which costs more. 0 if the provider does not report it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_long: u64,
    /// Tokens of output that were reasoning, if the provider reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

impl Usage {
    /// Creates a usage of uncached input and output tokens.
    pub fn new(input: u64, output: u64) -> Self {
        Self { input, output, ..Self::default() }
    }

    /// Returns all input tokens: the part of the window that was used before the answer.
    pub fn total_input(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// Returns the sum of input and output tokens.
    pub fn total(&self) -> u64 {
        self.total_input().saturating_add(self.output)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(tokens: &u64) -> bool {
    *tokens == 0
}

impl std::ops::AddAssign for Usage {
    /// Adds the usage of another call, saturating.
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.cache_write_long = self.cache_write_long.saturating_add(other.cache_write_long);
        let reasoning = self.reasoning.into_iter().chain(other.reasoning);
        self.reasoning = reasoning.reduce(u64::saturating_add);
    }
}

impl fmt::Display for Usage {
    /// Writes `1204 tokens in (1000 cached), 88 out`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tokens in", self.total_input())?;
        if self.cache_read > 0 {
            write!(f, " ({} cached)", self.cache_read)?;
        }
        write!(f, ", {} out", self.output)
    }
}

/// An addition to an answer while it streams, for display.
///
/// The JSON form is an object with one key, such as `{"text": "Window"}` or
/// `{"tool_call": {"id": "call_1", "name": "book"}}`; [`Restarted`](Self::Restarted) is the text
/// `"restarted"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AnswerDelta {
    /// More text.
    Text(String),
    /// More reasoning text.
    Reasoning(String),
    /// The start of a tool call.
    ToolCall {
        /// The id of the call. Empty if the provider gives none.
        id: String,
        /// The name of the tool.
        name: String,
    },
    /// More of the newest call's input, as the model wrote it.
    ToolInput(String),
    /// The answer broke off and is requested again. The deltas before this one are void.
    Restarted,
}

impl AnswerDelta {
    /// Returns whether the delta adds nothing. The start of a call and a restart are never empty.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) | Self::Reasoning(text) | Self::ToolInput(text) => text.is_empty(),
            Self::ToolCall { .. } | Self::Restarted => false,
        }
    }
}

/// A parser for a streamed answer.
///
/// ```text
/// let mut stream = codec.answer_stream();
/// while let Some(data) = events.next().await { show(stream.push(&data)?); }
/// let answer = stream.finish();
/// ```
pub trait AnswerStream: fmt::Debug + Send + Sync {
    /// Parses the data of one server-sent event and returns the deltas. Unknown events are ignored.
    /// A malformed event is an error, and the answer up to it is kept.
    fn push(&mut self, event: &str) -> Result<Vec<AnswerDelta>, WireError>;

    /// Returns the answer so far, as [`finish`](Self::finish) would return it.
    fn answer(&self) -> Answer;

    /// Returns the answer. If the stream did not end properly, the answer is not
    /// [complete](Answer::complete) and holds only parts that may be sent back: no call whose input
    /// is truncated, no reasoning without its signature.
    fn finish(self: Box<Self>) -> Answer {
        self.answer()
    }
}
