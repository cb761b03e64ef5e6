//! The messages of Chat Completions.

use async_openai::types::chat::{ChatCompletionRequestMessage, CreateChatCompletionRequest};
use context_runtime::openai::chat::{lift, lower_source};
use context_runtime::{Json, Message};

use crate::codec::{self, Converted};
use crate::error::ConvertError;

/// Converts messages to those of async-openai, as they are. To send a valid conversation, prepare a
/// request and use [`to_request`].
///
/// # Errors
///
/// If async-openai cannot read what OpenAI's codec writes.
pub fn to_messages<'m>(
    messages: impl IntoIterator<Item = &'m Message>,
) -> Result<Converted<ChatCompletionRequestMessage>, ConvertError> {
    let mut converted = Converted::new();
    for (number, message) in messages.into_iter().enumerate() {
        let lowered = lower_source(message);
        for message in lowered.messages {
            converted.items.push(message.parse()?);
        }
        converted.note(number, lowered.diagnostics);
    }
    Ok(converted)
}

/// Converts messages of async-openai. [`to_messages`] returns equal ones.
///
/// # Errors
///
/// If a message is not one that the API takes.
pub fn from_messages(
    messages: &[ChatCompletionRequestMessage],
) -> Result<Converted<Message>, ConvertError> {
    let mut converted = Converted::new();
    for (number, message) in messages.iter().enumerate() {
        let lifted = lift(&Json::from_serialize(message)?)?;
        converted.items.push(lifted.message);
        converted.note(number, lifted.diagnostics);
    }
    Ok(converted)
}

/// Reads the body that a turn or a call prepared for the provider `openai`.
///
/// # Errors
///
/// If the body is not one of Chat Completions.
pub fn to_request(body: &Json) -> Result<CreateChatCompletionRequest, ConvertError> {
    codec::request(body)
}
