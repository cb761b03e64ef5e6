//! The codec of the Responses API: whole bodies, answers and events, over a list of items.
//!
//! To *lower* is to translate from the canonical form ([`ModelRequest`]) to the provider's wire
//! form; to *lift* is the reverse.
//!
//! | on the wire | as a message |
//! | --- | --- |
//! | `instructions` | [`ModelRequest::system`] |
//! | `message` of a user, or `input` as a text | [`Role::User`](context_core::Role::User) with text, image and document parts |
//! | `message` of the system or a developer | [`Role::System`](context_core::Role::System) where it stands; `developer` is remembered |
//! | neighbouring items of the assistant | one [`Role::Assistant`](context_core::Role::Assistant) message, parts in order |
//! | `message` of the assistant | a text part for each `output_text`; a `refusal` is a text marked as one |
//! | `reasoning` | a reasoning part: summary or content as its text, [`encrypted`](context_core::message::Reasoning::encrypted) |
//! | `function_call`, `custom_tool_call` | tool calls; the input keeps its exact text |
//! | neighbouring `…_call_output` of those | one [`Role::Tool`](context_core::Role::Tool) message; text, image and document parts |
//! | any other item, such as `web_search_call` | an opaque part of [`PROVIDER`] |
//! | any other part of a content | an opaque part of [`CONTENT_PROVIDER`], which goes back where it stood |
//! | outputs only a client writes, such as `local_shell_call_output` | opaque parts of a [synthetic](context_core::message::Origin::Synthetic) user message |
//!
//! Other keys of an item that should be sent again are metadata of its part: [`ID`], [`STATUS`],
//! [`PHASE`], [`NAMESPACE`], [`CALLER`], [`ANNOTATIONS`], [`SUMMARY`], [`CONTENT`], [`BREAKPOINT`].
//! `prompt_cache_key` is [`ModelRequest::cache_key`], of 64 characters at most.
//! `prompt_cache_retention` is [`ModelRequest::cache_lifetime`]: `in_memory` is five minutes, `24h`
//! a day and anything longer than five minutes. Other keys of a body are kept under [`BODY_KEY`].
//!
//! # What is sent
//!
//! The history is [normalised](context_codec_kit::normalize::normalize_request) first. Then:
//!
//! * A text of the assistant with an id is a `message` item with `output_text`. Without an id it is
//!   a message whose content is a text, which is the provider's form for messages it does not know.
//! * A thought is sent in front of the item that followed it, or not at all. It needs an id and its
//!   content: encrypted, as text, or stored by the provider, which stores it unless the body says
//!   `"store": false`. Thoughts of other providers are left out.
//! * Calls of server tools that want an output, and those outputs, are sent in pairs. No item is
//!   sent twice.
//! * Images are sent if they are png, jpeg, gif or webp with their bytes, or given by a web
//!   address. An address that holds bytes is sent as bytes. Sound has no form.
//! * A result with images or documents is a list of parts; data are sent as their JSON. The
//!   result's text says that a call failed, and that media of the result are not sent.
//! * Tools have legal names, each once; calls and the choice use the same names. A choice is not
//!   sent without its tool. Blank system texts are left out.
//! * If the body names a `previous_response_id` or a `conversation`, the provider may have calls
//!   that are not in the messages. Results in front of the first assistant message are then sent as
//!   they are, before everything else, and an empty input is not an error. The caller must make
//!   sure that the messages do not repeat what the provider already has.
//!
//! # Differences between what was read and what is sent
//!
//! [`lower_source`](MessageCodec::lower_source) returns an equal value for every body.
//! [`lower`](MessageCodec::lower) repairs, and writes one form where there are several. Of 57
//! recorded bodies 39 are sent as they were; the others differ in two ways:
//!
//! | difference | recorded |
//! | --- | --- |
//! | empty `instructions` are left out | 6 |
//! | a `description` of a tool that is null is left out | 12 |
//!
//! Not recorded, but possible: a tool that does not say whether it is `strict` says null; `input`
//! that is a text becomes a list; a list of one `input_text` becomes a text; `"type": "message"` of
//! a message that is not an item of the provider is left out; an `output_text` without an id
//! becomes a text; a missing `detail` of an image becomes `auto`; bytes of a document without a
//! name get one; the name and status of results of custom tools, `logprobs`, a choice of tools
//! without tools, and null for optional keys of items are left out.
//!
//! # Answers
//!
//! An answer is one message of the assistant. For a stream, the items of its last event count. If
//! the stream breaks off, the finished items count, and texts as far as they were received. Such
//! texts have no id, because the provider has no such item.
//!
//! ```
//! use context_codec_openai::responses::ResponsesCodec;
//! use context_core::{Json, Message, MessageCodec, ModelRequest};
//! use context_core::model::ModelCodec;
//!
//! let mut request = ModelRequest::new([Message::from("Two tickets to Lisbon.")]).model("gpt-5").system("You book trips.");
//! let body = ResponsesCodec.lower(&request)?.body;
//! let input = r#"[{"role":"user","content":"Two tickets to Lisbon."}]"#;
//! assert_eq!(body.as_str(), format!(r#"{{"model":"gpt-5","instructions":"You book trips.","input":{input}}}"#));
//!
//! let mut stream = ResponsesCodec.answer_stream();
//! for event in [
//!     r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}"#,
//!     r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Window or ai"}"#,
//! ] {
//!     stream.push(event)?;
//! }
//! let answer = stream.finish();
//! assert_eq!(answer.message.plain_text(), "Window or ai");
//! assert!(!answer.complete);
//! request.messages.push(answer.message.into());
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod form;
mod keys;
mod lift;
mod lower;
mod request;
mod residual;
mod stream;

use context_core::model::{AnswerStream, LiftedRequest, LoweredRequest, ModelCodec, WireError};
use context_core::{Answer, Json, MessageCodec, ModelError, ModelRequest};
pub use keys::{
    ANNOTATIONS, BREAKPOINT, CALLER, CONTENT, CONTENT_PROVIDER, ID, LOGPROBS, NAMESPACE, PHASE,
    PROVIDER, STATUS, SUMMARY,
};

/// The metadata key of a request for an object of the keys that no field of the request holds, such
/// as `reasoning`, `include`, `store` or `previous_response_id`. They are sent.
pub const BODY_KEY: &str = "openai-responses.body";

/// The metadata key for differences to the source, used only by
/// [`lower_source`](MessageCodec::lower_source). Of a message: a
/// [`JsonPatch`](context_codec_kit::JsonPatch) of the list of its items. Of a request:
/// `{"input": …, "patch": …}`, both optional. `input` says that the input was a `text`, `null` or
/// `absent`; the patch covers everything else.
pub const SOURCE_KEY: &str = "openai-responses.source";

/// The codec of the Responses API.
///
/// ```
/// use context_codec_openai::responses::ResponsesCodec;
/// use context_core::{Message, MessageCodec, ModelRequest};
///
/// let request =
///     ModelRequest::new([Message::from("Two tickets to Lisbon.")]).model("gpt-5").system("You book trips.");
/// let sent = ResponsesCodec.lower(&request)?.body;
/// assert!(sent.as_str().contains(r#""instructions":"You book trips.""#));
/// # Ok::<_, context_core::model::WireError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ResponsesCodec;

impl MessageCodec for ResponsesCodec {
    fn name(&self) -> &'static str {
        "openai-responses"
    }

    fn lower(&self, request: &ModelRequest) -> Result<LoweredRequest, WireError> {
        request::lower(request)
    }

    fn lower_source(&self, request: &ModelRequest) -> LoweredRequest {
        request::lower_source(request)
    }

    fn lift(&self, body: &Json) -> Result<LiftedRequest, WireError> {
        request::lift(body)
    }
}

impl ModelCodec for ResponsesCodec {
    fn lift_answer(&self, body: &Json) -> Result<Answer, WireError> {
        answer::lift(body, classify)
    }

    fn answer_stream(&self) -> Box<dyn AnswerStream> {
        Box::new(stream::Stream::new(classify))
    }

    fn lift_error(&self, status: Option<u16>, body: &str) -> ModelError {
        context_codec_kit::classify(self.name(), status, body)
    }
}

fn classify(body: &str) -> ModelError {
    ResponsesCodec.lift_error(None, body)
}
