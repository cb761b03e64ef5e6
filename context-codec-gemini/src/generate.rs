//! The codec of generateContent: whole bodies, single contents, answers and streams.
//!
//! To *lower* is to translate from the canonical form ([`ModelRequest`], [`Message`]) to the
//! provider's wire form; to *lift* is the reverse.
//!
//! | on the wire | as a message |
//! | --- | --- |
//! | `user`, or no role | [`Role::User`], with function responses in their places |
//! | `user` that holds `functionResponse` parts and nothing else; `function` | [`Role::Tool`] |
//! | `model` | [`Role::Assistant`] |
//! | `text` | a text part; its `thoughtSignature` is kept in its [metadata](SIGNATURE_KEY) |
//! | `text` of a `thought`; a `thoughtSignature` without text | a reasoning part of provider `gemini` |
//! | `inlineData`, `fileData` of images, sound and documents | image, audio and document parts; files stored by the provider are references |
//! | `functionCall` | a tool call; its `thoughtSignature` is kept in its metadata and sent with it again |
//! | `functionResponse` | a tool result: the text of `output` or `error`, else of the only other key, else the JSON of all of it ([remembered](RESPONSE_KEY)); its `parts` are media |
//! | `mediaResolution`, `videoMetadata`, `partMetadata` besides one of these | [metadata of the part](PART_KEY), sent again |
//! | `executableCode`, `codeExecutionResult`, `toolCall`, `toolResponse`, video, and any other | an opaque part, which is sent back to this provider unchanged |
//!
//! | in a body | in a request |
//! | --- | --- |
//! | `systemInstruction` | the system prompt: its texts |
//! | `functionDeclarations` of all `tools` | functions; `parametersJsonSchema`, `parameters` or none is [remembered](SCHEMA_KEY) |
//! | other `tools` | opaque tools |
//! | `toolConfig.functionCallingConfig` | the tool choice: `AUTO`, `NONE`, `ANY`, or `ANY` with one allowed name |
//! | `generationConfig`: `maxOutputTokens`, `temperature`; `responseMimeType` with `responseJsonSchema` or `responseSchema` | the fields of those names; the form of the answer |
//! | `cachedContent` | the name of [cached content](#cached-content) that holds nothing known |
//! | everything else | under [`BODY_KEY`], sent again |
//!
//! Keys are read in camel case and in snake case and written in camel case. The model, and whether
//! the answer is streamed, are parts of the address and not of the body.
//!
//! # Calls without ids
//!
//! The interface distinguishes calls by their names and their order; ids are optional. A call
//! without an id gets one derived from its place in the body, from the id of the answer, or, in a
//! single content, from the function's name. A response without an id gets that of the first call
//! of this name in the previous turn that is still open. Both are [marked](NO_ID), and written
//! without an id again.
//!
//! # What is sent
//!
//! [`GenerateCodec::lower`](MessageCodec::lower) repairs the history, then writes what the provider
//! accepts: a user first, alternating roles, all responses of a turn in one content and before
//! everything else, no empty parts, inputs that are objects (others become the `value` of one).
//! System messages in front become part of the system instruction. Thoughts of this provider are
//! sent again, signed or not; those of others are dropped.
//!
//! Media in results are written within the response if they were read there, or if the model is
//! known to be of generation 3 or later. Otherwise they follow after all responses of the turn, and
//! the text of the result says so.
//!
//! Models from generation 3 on refuse the first call of a step if it has no signature, as in a
//! history that another provider's model wrote. For such models ([`ModelRequest::model`] or
//! [`UNSIGNED_KEY`] says so) such a call is written with [`SKIP_SIGNATURE`], the value Google
//! documents for this case.
//!
//! # Cached content
//!
//! A program that stores the beginning of its requests at the provider sends the body of
//! [`cached_content`] to `cachedContents`, and sets the name from the answer as
//! [`ModelRequest::cached_content`]. What is stored is then not sent again. The provider takes no
//! system instruction, tools or tool configuration beside cached content, so a request that has
//! others than those that are stored is a [`WireError::CachedContent`], and so is one whose
//! contents do not begin with the stored ones.
//!
//! # Spoken answers
//!
//! Events of the Live API are read too: `serverContent` and `toolCall`. The words of
//! `outputTranscription` become one text, pieces of sound are joined where their Base64 allows it,
//! and the turn ends with `turnComplete`, `interrupted` or calls. The usage of such an answer is
//! the sum of all counts.
//!
//! # Differences between what was read and what is sent
//!
//! [`GenerateCodec::lower_source`](MessageCodec::lower_source) of a lifted body is that body as a
//! JSON value. The body that is sent for a lifted body differs from it in these ways, counted over
//! 74 recorded bodies of another client:
//!
//! | difference | bodies |
//! | --- | --- |
//! | `snake_case`: a key such as `parameters_json_schema` or `inline_data` is written in camel case | 44 |
//! | `system_role`: the system instruction is written without its role | 17 |
//! | `joined`: neighbours of one role are one content | 11 |
//! | `blank`: empty texts are left out, and contents of nothing else | 1 |
mod answer;
mod assembly;
mod body;
mod cached;
mod content_out;
mod event;
mod form;
mod lift;
mod live;
mod lower;
mod opaque;
mod partial;
mod request;
mod server_parts;
mod stream;
mod usage;

use context_codec_kit::normalize::HistoryRules;
use context_codec_kit::wire::{Lifted, Lowered};
use context_codec_kit::{JsonPatch, wire};
use context_core::base::{DiagnosticCode, Severity};
use context_core::model::{AnswerStream, LiftedRequest, LoweredRequest, ModelCodec, WireError};
use context_core::{
    Answer, Diagnostic, Json, Message, MessageCodec, ModelError, ModelRequest, Part, Role,
};

pub use self::cached::cached_content;
use self::content_out::Order;
use self::lower::{Mode, Writer};

/// The provider of opaque blocks and thoughts of this form.
const PROVIDER: &str = "gemini";

/// The metadata key for the difference to the source, a [`JsonPatch`]: of a message to its content,
/// of a request to its body without the contents.
pub const SOURCE_KEY: &str = "gemini.source";

/// The metadata key of a request for the other keys of its body, in camel case where the codec
/// knows them. `toolConfig` and `generationConfig` hold the keys that no field of the request
/// holds.
pub const BODY_KEY: &str = "gemini.body";

/// The metadata key of a text, a tool call or media for its `thoughtSignature`, a string.
pub const SIGNATURE_KEY: &str = "gemini.thought_signature";

/// The metadata key of a part for an object of the other keys of its wire form.
pub const PART_KEY: &str = "gemini.part";

/// The metadata key of a tool call or result whose source has no id: `true`.
pub const NO_ID: &str = "gemini.no_id";

/// The metadata key of a tool result for the form of its text in the response: `{"key": …}` if
/// under another key than `output` or `error`, `{"json": true}` if as JSON and not as a string.
pub const RESPONSE_KEY: &str = "gemini.response";

/// The metadata key of media in a tool result that stood within the response: `true`.
pub const NESTED: &str = "gemini.nested";

/// The metadata key of a function for the place of its schema: `"parameters"`, or `"none"` if it
/// had none.
pub const SCHEMA_KEY: &str = "gemini.schema";

/// The metadata key of a function for an object of the other keys of its declaration.
pub const DECLARATION_KEY: &str = "gemini.declaration";

/// The metadata key of a request whose output schema stood under `responseSchema`: `true`. The
/// schema is then not a JSON Schema, but a schema of OpenAPI.
pub const OPENAPI_KEY: &str = "gemini.openapi_output";

/// The metadata key of a request for whether calls without a signature are sent with
/// [`SKIP_SIGNATURE`]: a boolean. Without the key, they are for models that are known to require
/// signatures.
pub const UNSIGNED_KEY: &str = "gemini.skip_signatures";

/// The signature of calls that no Gemini model made, which Google documents for histories of other
/// models.
pub const SKIP_SIGNATURE: &str = "skip_thought_signature_validator";

/// The metadata key of an answer's message for facts about the answer: an object of `responseId`,
/// `modelVersion`, `promptFeedback` and the keys of the candidate except its content, such as
/// `groundingMetadata`.
pub const ANSWER_KEY: &str = "gemini.answer";

/// The provider's rules for a history.
pub const RULES: HistoryRules = {
    let mut rules = HistoryRules::new();
    rules.system_anywhere = false;
    rules.assistant_last = false;
    rules.prefill = false;
    rules.alternate = true;
    rules.max_name_len = 64;
    rules.name_characters = ".:";
    rules.name_begins_with_letter = true;
    rules.any_id = false;
    rules.chooses_blocks = true;
    rules.carries = lower::carries;
    rules
};

/// The codec of generateContent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GenerateCodec;

impl MessageCodec for GenerateCodec {
    fn name(&self) -> &'static str {
        PROVIDER
    }

    fn lower(&self, request: &ModelRequest) -> Result<LoweredRequest, WireError> {
        if request.compaction.is_some() {
            return Err(WireError::NoCompaction { form: PROVIDER });
        }
        request::lower(request)
    }

    fn lower_source(&self, request: &ModelRequest) -> LoweredRequest {
        request::lower_source(request)
    }

    fn lift(&self, body: &Json) -> Result<LiftedRequest, WireError> {
        request::lift(body)
    }
}

impl ModelCodec for GenerateCodec {
    fn lift_answer(&self, body: &Json) -> Result<Answer, WireError> {
        answer::lift(body)
    }

    fn answer_stream(&self) -> Box<dyn AnswerStream> {
        Box::<stream::GenerateStream>::default()
    }

    fn lift_error(&self, status: Option<u16>, body: &str) -> ModelError {
        context_codec_kit::classify(self.name(), status, body)
    }
}

/// Lifts one content. Values that have no place in a [`Message`] are kept in its metadata, so that
/// [`lower_source`] returns an equal value.
pub fn lift(original: &Json) -> Result<Lifted, WireError> {
    let mut reader = lift::Reader::default();
    let message = content(&mut reader, original.as_str(), &String::new)?;
    Ok(Lifted::new(message, reader.diagnostics))
}

/// Lifts a content and keeps the difference to it.
fn content(
    reader: &mut lift::Reader,
    original: &str,
    path: &dyn Fn() -> String,
) -> Result<Message, WireError> {
    let mut message = reader.content(original, path)?;
    if let Some(patch) = difference(&message, original, &mut reader.plain) {
        message.metadata.insert(SOURCE_KEY, patch.into_json());
    }
    Ok(message)
}

/// Returns the difference between the plain form of a message and its source.
fn difference(message: &Message, original: &str, plain: &mut Vec<u8>) -> Option<JsonPatch> {
    if is_one_text(original) {
        return None;
    }
    let mut writer = Writer::new(Mode::Source);
    let mut content = writer.content(message);
    for order in [Order::Usual, Order::Alphabet] {
        content.order = order;
        plain.clear();
        serde_json::to_writer(&mut *plain, &content).expect("text keys and JSON values");
        let plain = std::str::from_utf8(plain).expect("JSON is text");
        if wire::same_but_for_space(plain, original) {
            return None;
        }
    }
    content.order = Order::Usual;
    JsonPatch::between(&json(&content), &Json::from_text(original).ok()?)
}

/// Returns whether a content is one text exactly as it would be written. Most are, and need not be
/// written to find out.
fn is_one_text(content: &str) -> bool {
    let parts = content
        .strip_prefix(r#"{"role":"user""#)
        .or_else(|| content.strip_prefix(r#"{"role":"model""#));
    let text =
        parts.and_then(|parts| parts.strip_prefix(r#","parts":[{"text":"#)?.strip_suffix("}]}"));
    text.is_some_and(wire::is_plain_string)
}

/// Lowers a message for sending. A result names the called function only if the result itself holds
/// the name; whole requests are lowered by the [codec](GenerateCodec).
pub fn lower(message: &Message) -> Lowered {
    let mut writer = Writer::new(Mode::Send);
    if message.role == Role::System {
        let why = "left out: a system prompt is a key of the request, not a content";
        let (code, severity) = (DiagnosticCode::Unrepresentable, Severity::Warning);
        return Lowered::new(Vec::new(), vec![Diagnostic::new(code, severity, "parts[0]", why)]);
    }
    let content = writer.content(message);
    let contents = if content.parts.is_empty() { Vec::new() } else { vec![json(&content)] };
    drop(content);
    Lowered::new(contents, writer.diagnostics)
}

/// Writes a message in the form of its source: equal, as a JSON value, to the value that [`lift`]
/// read. A message that was not lifted is written in full, including the fields that are not sent.
pub fn lower_source(message: &Message) -> Lowered {
    let mut diagnostics = Vec::new();
    let source = source(message, &mut diagnostics);
    Lowered::new(vec![source], diagnostics)
}

/// Returns the source of a message, or its plain form if it no longer fits the kept difference.
fn source(message: &Message, diagnostics: &mut Vec<Diagnostic>) -> Json {
    let plain = written(message);
    let Some(patch) = message.metadata.get(SOURCE_KEY) else { return plain };
    if let Some(source) = JsonPatch::from(patch.clone()).apply(&plain)
        && let Ok(mut again) = lift::Reader::default().content(source.as_str(), &String::new)
    {
        adopt_ids(&mut again, message);
        if wire::says_the_same(&again, message) {
            return source;
        }
    }
    diagnostics.push(wire::outdated(SOURCE_KEY));
    plain
}

/// Copies derived ids before a comparison. They depend on the surroundings of a message and do not
/// say whether it changed.
fn adopt_ids(again: &mut Message, message: &Message) {
    for pair in again.parts.iter_mut().zip(&message.parts) {
        match pair {
            (Part::ToolCall(again), Part::ToolCall(call)) if call.metadata.get(NO_ID).is_some() => {
                again.id.clone_from(&call.id);
            }
            (Part::ToolResult(again), Part::ToolResult(result))
                if result.metadata.get(NO_ID).is_some() =>
            {
                again.call_id.clone_from(&result.call_id);
            }
            _ => {}
        }
    }
}

/// Returns the plain form of a message, to which the difference applies.
fn written(message: &Message) -> Json {
    json(&Writer::new(Mode::Source).content(message))
}

fn json(value: &(impl serde::Serialize + ?Sized)) -> Json {
    Json::from_serialize(value).expect("text keys and JSON values")
}
