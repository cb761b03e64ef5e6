//! Forms whose messages are read and written together, because what one says hangs on others: a
//! turn in several items, one object for several messages, calls without ids.

use std::sync::Arc;

use context_runtime::gemini::generate::GenerateCodec;
use context_runtime::model::WireError;
use context_runtime::openai::responses::ResponsesCodec;
use context_runtime::uimessage::UiMessageCodec;
use context_runtime::{
    Diagnostic, Json, JsonMap, Message, MessageId,
    model::{MessageCodec, ModelRequest},
};
use serde_json::value::RawValue;

use super::Content;

/// A form that is read and written as a whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole {
    codec: &'static dyn MessageCodec,
    /// Which key of a body holds the messages.
    key: &'static str,
}

impl Whole {
    /// Items of OpenAI's Responses.
    pub(crate) const RESPONSES: Self = Self { codec: &ResponsesCodec, key: "input" };
    /// Contents of Gemini.
    pub(crate) const GEMINI: Self = Self { codec: &GenerateCodec, key: "contents" };
    /// UIMessages of the AI SDK.
    pub(crate) const UIMESSAGE: Self = Self { codec: &UiMessageCodec, key: "messages" };

    /// Reads the messages of a list.
    pub(super) fn lift(
        self,
        list: &[&RawValue],
    ) -> Result<(Vec<Arc<Message>>, Vec<Diagnostic>), WireError> {
        let lifted = self.codec.lift(&self.body(list))?;
        Ok((lifted.request.messages, lifted.diagnostics))
    }

    /// A body of nothing but messages.
    fn body(self, list: &[&RawValue]) -> Json {
        let list = Json::from_serialize(list).expect("JSON values");
        let body: JsonMap = [(self.key.to_owned(), list)].into_iter().collect();
        Json::from_serialize(&body).expect("text keys and JSON values")
    }

    /// Which of the objects of a list an error is about, from 0, if it is about one.
    pub(super) fn place(self, error: &WireError) -> Option<usize> {
        position(error.path(), self.key).map(|(index, _)| index)
    }

    /// Writes messages as their source had them.
    pub(super) fn lower_source(self, messages: Vec<Arc<Message>>) -> (Vec<Json>, Vec<Diagnostic>) {
        let body = self.codec.lower_source(&ModelRequest::new(messages));
        let list = self.list(&body.body).and_then(|list| list.parse().ok());
        (list.unwrap_or_default(), body.diagnostics)
    }

    /// Writes messages for who takes this form: a list, or an object where there is more than that,
    /// such as a system prompt.
    pub(crate) fn lower(
        self,
        messages: Vec<Arc<Message>>,
    ) -> Result<(Content, Vec<Diagnostic>), WireError> {
        let lowered = match self.codec.lower(&ModelRequest::new(messages)) {
            Ok(lowered) => lowered,
            // An empty chat is an empty list.
            Err(WireError::NothingToSend) => {
                return Ok((Content::Messages(Vec::new()), Vec::new()));
            }
            Err(error) => return Err(error),
        };
        let alone = match lowered.body.parse::<JsonMap>() {
            Ok(map) if map.len() == 1 => map.get(self.key).cloned(),
            Ok(_) => None,
            Err(_) => Some(lowered.body.clone()),
        };
        let content = match alone.and_then(|list| list.parse().ok()) {
            Some(list) => Content::Messages(list),
            None => Content::Whole(lowered.body),
        };
        Ok((content, lowered.diagnostics))
    }

    /// The list of a body, which may be one itself.
    fn list(self, body: &Json) -> Option<Json> {
        match body.as_str().starts_with('[') {
            true => Some(body.clone()),
            false => body.parse::<JsonMap>().ok()?.get(self.key).cloned(),
        }
    }
}

/// Names the message that a diagnostic is about by its id.
pub(crate) fn locate(diagnostic: &mut Diagnostic, ids: &[MessageId]) {
    if let Some((index, rest)) = position(&diagnostic.path, "messages")
        && let Some(id) = ids.get(index)
    {
        diagnostic.path = format!("{id} {rest}").trim_end().to_owned();
    }
}

/// The number in `key[number].rest`, and the rest.
fn position<'a>(path: &'a str, key: &str) -> Option<(usize, &'a str)> {
    let (number, rest) = path.strip_prefix(key)?.strip_prefix('[')?.split_once(']')?;
    Some((number.parse().ok()?, rest.strip_prefix('.').unwrap_or(rest)))
}
