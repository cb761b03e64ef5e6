//! The codec of Chat Completions: whole requests, answers and streams, and single messages.
//!
//! To *lower* is to translate from the canonical form ([`ModelRequest`], [`Message`]) to the
//! provider's wire form; to *lift* is the reverse.
//!
//! | on the wire | as a message |
//! | --- | --- |
//! | `system`, `developer` | [`Role::System`](context_core::Role::System); `developer` is remembered |
//! | `content` text or parts | text, image, audio, document parts; a part of an unknown type stays opaque |
//! | `refusal` | a text part marked as refusal |
//! | `reasoning_content`, `reasoning` | a reasoning part; never sent back |
//! | `audio` of the assistant | an audio part; sent back by the provider's id for it |
//! | `tool_calls`, `function_call` | tool calls; the arguments keep their exact text; custom tools are remembered |
//! | `tool`, `function` | [`Role::Tool`](context_core::Role::Tool) with one result |
//! | `prompt_cache_breakpoint` | metadata of its part, and sent again |
//!
//! | of a body | of a request |
//! | --- | --- |
//! | the first message, if it is a system prompt and nothing else, and others follow | `system` |
//! | `messages` | `messages`; other system messages stay where they stand |
//! | `tools`, the older `functions` | `tools`; tools that are not functions stay opaque |
//! | `tool_choice`, the older `function_call` | `tool_choice` |
//! | `response_format` of a JSON Schema | `output` |
//! | `max_completion_tokens`, `max_tokens` | `max_output_tokens`; the old key is remembered |
//! | `model`, `temperature`, `stream` | the same |
//! | `prompt_cache_key` | `cache_key`, of 64 characters at most |
//! | `prompt_cache_retention` | `cache_lifetime`: `in_memory` is five minutes, `24h` a day and anything longer than five minutes |
//! | everything else, such as `stream_options` | metadata under [`BODY_KEY`], and sent again |
//!
//! # What is sent
//!
//! Histories are [normalised](context_codec_kit::normalize::normalize_request) first. Ids of calls
//! have at most 40 characters, names of tools 64. In addition:
//!
//! * A message that only calls tools has no `content`. Missing arguments are sent as `{}`.
//! * A tool result is text. Its media are sent in one user message after all results of the turn,
//!   each with a line that names the result, and the result says that they follow. Data are sent as
//!   their JSON.
//! * A failed call is marked by `Error: ` in front of the result, unless the result's first line
//!   already says that the call failed.
//! * Images are sent if they are png, jpeg, gif or webp with their bytes, or given by a web
//!   address. A result states which of its media are not sent.
//! * Sound is sent as `wav` or `mp3`, documents with their bytes or the provider's id of the file.
//! * The older form of calls and results is sent as `tool_calls` and `tool`; the `name` of a result
//!   is not sent.
//! * Tools have legal names, each once; calls and the choice use the same names. Blank system texts
//!   are left out.
//! * A choice of tools is not sent without its tool, `stream_options` not without a stream.
//!
//! # Exact restoration
//!
//! [`lower`] writes the form for the provider. [`lower_source`] writes the value that was read:
//! everything that a message cannot hold (unknown keys, nulls, a key that was left out, spaces
//! around arguments) is kept as a [difference](SOURCE_KEY) to the plain form. If the message was
//! edited since and the difference no longer fits, the plain form is written and a diagnostic says
//! so. The same holds for the other keys of a body.
//!
//! The functions for single messages do not look at the conversation as a whole: calls without
//! answers and repeated ids are kept. A legacy function call has no id, so the call and its answer
//! get an id derived from the function's name.
//!
//! A lifted body that is lowered differs from its source only in the ways below. Counts: 18
//! recorded bodies of one client, and 74 conversations of three collections as bodies.
//!
//! | way | recorded bodies | conversations |
//! | --- | --- | --- |
//! | `content` null besides calls is left out | 1 | 319 |
//! | a key of no message is left out | 0 | 364 |
//! | the `name` of a tool message is left out | 0 | 313 |
//! | an id that repeats gets a number | 0 | 48 |
//! | a legacy call is a tool call | 0 | 41 |
//! | a legacy result is a tool message | 0 | 24 |
//! | a list of one call id is the id | 0 | 22 |
//! | a call without a result gets one | 0 | 17 |
//!
//! By the same rules, though in none of the recordings: a list of one text is sent as the text,
//! nulls and blank texts are left out, a whole temperature is written with a point, a file without
//! a name gets one, and keys that no field of a tool or of an output schema holds are left out.
mod answer;
mod chunk;
mod envelope;
mod form;
mod lift;
mod lower;
mod media;
mod part_kinds;
mod request;
mod residual;
mod result_media;
mod stream;

use context_codec_kit::wire::{Lifted, Lowered};
use context_core::model::{AnswerStream, LiftedRequest, LoweredRequest, ModelCodec, WireError};
use context_core::{Answer, Json, Message, MessageCodec, ModelError, ModelRequest};

/// The codec of Chat Completions.
///
/// ```
/// use context_codec_openai::chat::ChatCodec;
/// use context_core::{Json, Message, MessageCodec, ModelRequest};
/// use context_core::model::ModelCodec;
///
/// let request = ModelRequest::new([Message::from("Two tickets to Lisbon.")]).model("gpt-5").system("You book trips.");
/// let sent = ChatCodec.lower(&request)?.body;
/// assert!(sent.as_str().starts_with(r#"{"model":"gpt-5","messages":[{"role":"system","content":"You book trips."}"#));
///
/// let text = r#"{"choices": [{"message": {"content": "Which day?"}, "finish_reason": "stop"}]}"#;
/// assert_eq!(ChatCodec.lift_answer(&Json::from_text(text)?)?.message.plain_text(), "Which day?");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChatCodec;

impl MessageCodec for ChatCodec {
    fn name(&self) -> &'static str {
        PROVIDER
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

impl ModelCodec for ChatCodec {
    fn lift_answer(&self, body: &Json) -> Result<Answer, WireError> {
        answer::lift(body)
    }

    fn answer_stream(&self) -> Box<dyn AnswerStream> {
        Box::<stream::ChatStream>::default()
    }

    fn lift_error(&self, status: Option<u16>, body: &str) -> ModelError {
        context_codec_kit::classify(self.name(), status, body)
    }
}

/// The metadata key of a message for the difference to its source: `{"parts": true, "patch": …}`,
/// both optional. `parts` says that a single text was written as a list of parts. A patch is a
/// [`JsonPatch`](context_codec_kit::JsonPatch).
pub const SOURCE_KEY: &str = "openai.source";

/// The metadata key of a request for the other keys of its body, as an object. They are sent.
pub const BODY_KEY: &str = "openai.body";
/// The metadata key of a request whose `max_output_tokens` is written under the older key
/// `max_tokens`, whatever the metadata's value.
pub const MAX_TOKENS_KEY: &str = "openai.max_tokens";
/// The provider of opaque blocks of this form.
const PROVIDER: &str = "openai";
/// Message: the role as written, if it differs from the message's role.
const ROLE: &str = "openai.role";
/// Message: the name of a participant.
const NAME: &str = "openai.name";
/// Message: the sources of the model's statements.
const ANNOTATIONS: &str = "openai.annotations";
/// Call or result: written in the form before `tool_calls`.
const LEGACY: &str = "openai.legacy";
/// Call: its type, if it is not a function.
const TYPE: &str = "openai.type";
/// Text: the model refuses.
const REFUSAL: &str = "openai.refusal";
/// Thought: the key under which it was written, if not `reasoning_content`.
const REASONING: &str = "openai.reasoning";
/// Text or media: an entry of the prompt cache ends here.
const BREAKPOINT: &str = "openai.prompt_cache_breakpoint";
/// Image: the level of detail.
const DETAIL: &str = "openai.detail";
/// Media stored by the provider: the id is one that the provider assigned.
const REFERENCE: &str = "openai.reference";
/// Sound of the model, with its bytes: the provider's id for it.
const AUDIO: &str = "openai.audio";
/// Sound of the model: its transcript.
const TRANSCRIPT: &str = "openai.transcript";

/// Lifts one message object. Values that have no place in a [`Message`] are kept in its metadata,
/// so that [`lower_source`] returns an equal value.
pub fn lift(original: &Json) -> Result<Lifted, WireError> {
    residual::lifted(original.as_raw())
}

/// Lowers a message for sending.
pub fn lower(message: &Message) -> Lowered {
    residual::written_by(lower::Writer::new(lower::Mode::Send), message)
}

/// Writes a message in the form of its source: equal, as a JSON value, to the value that [`lift`]
/// read. A message that was not lifted is written in full, including the fields that are not sent.
pub fn lower_source(message: &Message) -> Lowered {
    residual::restore(message)
}
