//! The Responses API: whole bodies, answers and events, over a list of items.
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
//! | outputs only a client writes, such as `local_shell_call_output` | opaque parts of a [synthetic](context_core::Message::SYNTHETIC) user message |
//!
//! What an item says besides, and what should be sent again, is metadata of its part: [`ID`],
//! [`STATUS`], [`PHASE`], [`NAMESPACE`], [`CALLER`], [`ANNOTATIONS`], [`SUMMARY`], [`CONTENT`],
//! [`BREAKPOINT`]. Other keys of a body are kept under [`BODY_KEY`].
//!
//! # What is sent
//!
//! The history is [normalised](context_core::normalize) first. Then:
//!
//! * A text of the assistant with an id is a `message` item with `output_text`; without one, a
//!   message whose content is a text, which is the form the provider has for what it does not know.
//! * A thought is sent in front of what followed it, or not at all. It needs an id and what it
//!   says: encrypted, in words, or kept by the provider, which it does unless the body says
//!   `"store": false`. Thoughts of other providers are left out.
//! * Calls of server tools that want an output, and those outputs, are sent in pairs. No item is
//!   sent twice.
//! * Images are sent if they are png, jpeg, gif or webp with their bytes, or at an address of the
//!   web. An address that holds bytes is sent as bytes. Sound has no form.
//! * A result with images or documents is a list of parts; data are sent as their JSON. That a call
//!   failed, and that media of its result are not sent, is said in its text.
//! * Tools have legal names, each there once; calls and the choice have the same. A choice is not
//!   sent without its tool. System texts without words are left out.
//! * If the body names a `previous_response_id` or a `conversation`, calls may be at the provider
//!   and not here: results in front of the first message of the assistant are sent as they are,
//!   before everything else. An empty input is then no error. What the provider already has must
//!   not be in the messages; that is the caller's to see to.
//!
//! # What is sent otherwise than it was read
//!
//! [`lower_source`](MessageCodec::lower_source) gives back an equal value for every body.
//! [`lower`](MessageCodec::lower) repairs, and writes one form where there are several. Of 57
//! recorded bodies 39 are sent as they were, the others differ in two ways:
//!
//! | difference | recorded |
//! | --- | --- |
//! | empty `instructions` are left out | 6 |
//! | a `description` of a tool that is null is left out | 12 |
//!
//! Not recorded, but possible: a tool that does not say whether it is `strict` says null; `input`
//! that is a text becomes a list; a list of one `input_text` becomes a text; `"type": "message"` of
//! what is no item of the provider's is left out; an `output_text` without an id becomes a text;
//! `detail` of an image is `auto` if nothing is said; bytes of a document without a name get one;
//! the name and status of results of custom tools, `logprobs`, a choice of tools without tools, and
//! null for optional keys of items are left out.
//!
//! # Answers
//!
//! An answer is one message of the assistant. Of a stream, the items of its last event count; if it
//! breaks off, the items that were done, and texts as far as they came. Those have no id, since the
//! provider has no such item.
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

use context_core::model::WireError;
use context_core::model::{AnswerStream, LiftedRequest, LoweredRequest, ModelCodec};
use context_core::{Answer, Json, MessageCodec, ModelError, ModelRequest};
pub use keys::{
    ANNOTATIONS, BREAKPOINT, CALLER, CONTENT, CONTENT_PROVIDER, ID, LOGPROBS, NAMESPACE, PHASE,
    PROVIDER, STATUS, SUMMARY,
};

/// The metadata key of a request under which an object of the keys stands that no field of it
/// holds, such as `reasoning`, `include`, `store` or `previous_response_id`. They are sent.
pub const BODY_KEY: &str = "openai-responses.body";

/// The metadata key under which differences to the source are kept, for
/// [`lower_source`](MessageCodec::lower_source) alone. Of a message: a
/// [`JsonPatch`](context_codec_kit::JsonPatch) of the list of its items. Of a request:
/// `{"input": …, "patch": …}`, both optional. `input` says that the input was a `text`, `null` or
/// `absent`; the patch is one of everything else.
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
