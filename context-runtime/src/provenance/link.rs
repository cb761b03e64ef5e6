//! The links between answers and their sources.

use context_core::{MessageId, Role};
use serde::Serialize;

use super::ValueKind;

/// The links of one message, strongest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
#[must_use]
pub struct Provenance {
    /// The links.
    pub links: Vec<DataLink>,
    /// The number of answers with values from the message that were not looked at, because there
    /// are too many.
    pub answers_left_out: usize,
}

/// A value of an answer that was seen before the answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DataLink {
    /// The value as it is written in the answer, unescaped.
    pub value: String,
    /// The kind of the value.
    pub kind: ValueKind,
    /// The strength of the evidence, from 0 to 1. A value in one other message has 1, words half of
    /// it, and the more messages hold the value, the less.
    pub strength: f64,
    /// The number of messages that hold the value, with the answer and later ones.
    pub messages: u32,
    /// The answer.
    pub answer: MessageId,
    /// The part of the answer that holds the value.
    pub place: AnswerPlace,
    /// The first message that holds the value. If that is an answer, the model itself wrote it
    /// first.
    pub first: Occurrence,
    /// The newest occurrence before the answer that no model wrote, if that is another message
    /// than the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Occurrence>,
}

/// The part of an answer that holds a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AnswerPlace {
    /// A text.
    Text,
    /// An argument of a tool call.
    Argument {
        /// The id of the call.
        call_id: String,
        /// The name of the tool.
        tool: String,
        /// The JSON pointer of the argument. Empty if the arguments are not an object or a list.
        pointer: String,
    },
}

/// An occurrence of a value in a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Occurrence {
    /// The message. `None` for the system prompt that the index was given as text.
    pub message: Option<MessageId>,
    /// The role of the message.
    pub role: Role,
    /// The part of the message.
    pub place: SourcePlace,
    /// The occurrence, with text around it.
    pub quote: Quote,
}

/// The part of a message in which a value was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum SourcePlace {
    /// A text, or the system prompt.
    Text,
    /// A tool call, which the model wrote.
    ToolCall {
        /// The id of the call.
        call_id: String,
        /// The name of the tool.
        tool: String,
        /// The JSON pointer of the argument. `None` if the input is not JSON.
        pointer: Option<String>,
    },
    /// The result of a tool call.
    ToolResult {
        /// The id of the call.
        call_id: String,
        /// The name of the tool, if the result or a call shortly before it has it.
        tool: Option<String>,
        /// The JSON pointer of the string, number or key. `None` if the result is not JSON.
        pointer: Option<String>,
    },
    /// Data of the application.
    Data {
        /// The name of the data.
        name: String,
        /// The JSON pointer of the string, number or key.
        pointer: Option<String>,
    },
}

/// An occurrence in a text, as it is written there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Quote {
    /// The text before the value. Begins with `…` if there is more.
    pub before: String,
    /// The value.
    pub value: String,
    /// The text after the value. Ends with `…` if there is more.
    pub after: String,
}
