//! Formats whose messages are read and written together because they depend on each other: a turn
//! in several items, one object for several messages, calls without ids.

use std::sync::Arc;

use context_codec_gemini::generate::GenerateCodec;
use context_codec_openai::responses::ResponsesCodec;
use context_codec_uimessage::UiMessageCodec;
use context_core::base::JsonMap;
use context_core::model::WireError;
use context_core::{Diagnostic, Json, Message, MessageCodec, MessageId, ModelRequest};
use serde_json::value::RawValue;

use crate::ChatContent;

/// The codec of a format whose messages are read and written as one list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListCodec {
    codec: &'static dyn MessageCodec,
    /// The key of a body for the messages.
    key: &'static str,
}

impl ListCodec {
    /// OpenAI Responses items.
    pub(crate) const RESPONSES: Self = Self { codec: &ResponsesCodec, key: "input" };
    /// Gemini contents.
    pub(crate) const GEMINI: Self = Self { codec: &GenerateCodec, key: "contents" };
    /// UIMessages of the AI SDK.
    pub(crate) const UIMESSAGE: Self = Self { codec: &UiMessageCodec, key: "messages" };

    /// Lifts the messages of a list.
    pub(crate) fn lift(
        self,
        list: &[&RawValue],
    ) -> Result<(Vec<Arc<Message>>, Vec<Diagnostic>), WireError> {
        let lifted = self.codec.lift(&self.body(list))?;
        Ok((lifted.request.messages.into(), lifted.diagnostics))
    }

    /// Returns a body that consists of messages only.
    fn body(self, list: &[&RawValue]) -> Json {
        let list = Json::from_serialize(list).expect("JSON values");
        let body: JsonMap = [(self.key.to_owned(), list)].into_iter().collect();
        Json::from_serialize(&body).expect("text keys and JSON values")
    }

    /// Returns the index of the list object that an error refers to, if any.
    pub(crate) fn error_position(self, error: &WireError) -> Option<usize> {
        position(error.path(), self.key).map(|(index, _)| index)
    }

    /// Lowers messages to the form of their source.
    pub(crate) fn lower_source(self, messages: Vec<Arc<Message>>) -> (Vec<Json>, Vec<Diagnostic>) {
        let body = self.codec.lower_source(&ModelRequest::new(messages));
        let list = self.list(&body.body).and_then(|list| list.parse().ok());
        (list.unwrap_or_default(), body.diagnostics)
    }

    /// Lowers messages for recipients of this format: to a list, or to an object if there is more
    /// than the list, such as a system prompt.
    pub(crate) fn lower(
        self,
        messages: Vec<Arc<Message>>,
    ) -> Result<(ChatContent, Vec<Diagnostic>), WireError> {
        let lowered = match self.codec.lower(&ModelRequest::new(messages)) {
            Ok(lowered) => lowered,
            // An empty chat is an empty list.
            Err(WireError::NothingToSend) => {
                return Ok((ChatContent::Messages(Vec::new()), Vec::new()));
            }
            Err(error) => return Err(error),
        };
        let alone = match lowered.body.parse::<JsonMap>() {
            Ok(map) if map.len() == 1 => map.get(self.key).cloned(),
            Ok(_) => None,
            Err(_) => Some(lowered.body.clone()),
        };
        let content = match alone.and_then(|list| list.parse().ok()) {
            Some(list) => ChatContent::Messages(list),
            None => ChatContent::Whole(lowered.body),
        };
        Ok((content, lowered.diagnostics))
    }

    /// Returns the list in a body, which may be the list itself.
    fn list(self, body: &Json) -> Option<Json> {
        match body.as_str().starts_with('[') {
            true => Some(body.clone()),
            false => body.parse::<JsonMap>().ok()?.get(self.key).cloned(),
        }
    }
}

/// Replaces the position of a message in the path of a diagnostic, as in `messages[0]`, by the id
/// of the message. `ids` are the ids of all messages in order.
pub fn locate_by_id(diagnostic: &mut Diagnostic, ids: &[MessageId]) {
    if let Some((index, rest)) = position(&diagnostic.path, "messages")
        && let Some(id) = ids.get(index)
    {
        diagnostic.path = format!("{id} {rest}").trim_end().to_owned();
    }
}

/// Splits `key[number].rest` into the number and the rest.
fn position<'a>(path: &'a str, key: &str) -> Option<(usize, &'a str)> {
    let (number, rest) = path.strip_prefix(key)?.strip_prefix('[')?.split_once(']')?;
    Some((number.parse().ok()?, rest.strip_prefix('.').unwrap_or(rest)))
}
