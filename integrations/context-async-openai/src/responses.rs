//! The input items of the Responses API.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_openai::types::responses::{CreateResponse, InputItem};
use context_runtime::model::{MessageCodec, ModelRequest};
use context_runtime::openai::responses::ResponsesCodec;
use context_runtime::{Json, Message};
use serde::Deserialize;

use crate::codec::{self, Converted};
use crate::error::ConvertError;

/// The items of a body. Other keys are left out.
#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    input: Vec<InputItem>,
}

/// Converts messages to input items of async-openai, as they are. To send a valid conversation,
/// prepare a request and use [`to_request`].
///
/// # Errors
///
/// If async-openai cannot read what OpenAI's codec writes.
pub fn to_items<'m>(
    messages: impl IntoIterator<Item = &'m Message>,
) -> Result<Converted<InputItem>, ConvertError> {
    let request = ModelRequest::new(messages.into_iter().cloned());
    let lowered = ResponsesCodec.lower_source(&request);
    let Body { input } = lowered.body.parse()?;
    Ok(Converted { items: input, diagnostics: lowered.diagnostics })
}

/// Converts input items of async-openai. [`to_items`] returns equal ones. Calls, results and texts
/// of one turn become one message each for the model and for its tools.
///
/// # Errors
///
/// If an item is not one that the API takes.
pub fn from_items(items: &[InputItem]) -> Result<Converted<Message>, ConvertError> {
    let body = Json::from_serialize(&BTreeMap::from([("input", items)]))?;
    let lifted = ResponsesCodec.lift(&body)?;
    let messages = lifted.request.messages.into_iter().map(Arc::unwrap_or_clone);
    Ok(Converted { items: messages.collect(), diagnostics: lifted.diagnostics })
}

/// Reads the body that a turn or a call prepared for the provider `openai-responses`.
///
/// # Errors
///
/// If the body is not one of the Responses API.
pub fn to_request(body: &Json) -> Result<CreateResponse, ConvertError> {
    codec::request(body)
}
