//! The codec of the Messages API: whole request bodies, answers and streams, and single message
//! objects.
//!
//! [`MessagesCodec`] translates requests and answers; [`lift`], [`lower`] and [`lower_source`]
//! translate single messages, as transcripts hold them. To *lower* is to translate from the
//! canonical form to the provider's wire form; to *lift* is the reverse.
//!
//! | on the wire | as a message |
//! | --- | --- |
//! | `user` | [`Role::User`](context_core::Role::User), with `tool_result` blocks in their places |
//! | `user` that holds `tool_result` blocks and nothing else | [`Role::Tool`](context_core::Role::Tool) |
//! | `assistant` | [`Role::Assistant`](context_core::Role::Assistant); `id`, `model`, `stop_reason`, `usage` and so on are [remembered](RESPONSE_KEY) |
//! | `system`, between messages or in transcripts | [`Role::System`](context_core::Role::System) |
//! | `content` text or blocks | parts, in order |
//! | `text`, `image`, `document` | text, image and document parts; documents of text or blocks stay opaque |
//! | `thinking`, `redacted_thinking` | a reasoning part with signature, or encrypted |
//! | `tool_use`, `tool_result` | a tool call, a tool result |
//! | `cache_control`, `citations`, `context`, `caller` and so on of these | metadata of the part, under `anthropic.` and the key; sent again |
//! | blocks of server tools, and any other | an opaque part, which is sent back to this provider unchanged |
//!
//! | in a body | in a request |
//! | --- | --- |
//! | `model`, `max_tokens`, `temperature`, `stream` | the same; without `max_tokens`, [`DEFAULT_MAX_TOKENS`] is sent |
//! | `system` | [`system`](context_core::ModelRequest::system) |
//! | `tools` with an `input_schema` | functions; other keys are metadata under `anthropic.` |
//! | other `tools` | opaque tools |
//! | `tool_choice` | [`tool_choice`](context_core::ModelRequest::tool_choice); `disable_parallel_tool_use` under [`PARALLEL_KEY`] |
//! | `output_config.format`, `output_format` | [`output`](context_core::ModelRequest::output) |
//! | everything else | an object under [`BODY_KEY`]; sent again |
//!
//! # What is sent
//!
//! A request is [repaired](context_codec_kit::normalize::normalize_request) by [`RULES`] first.
//! Then:
//!
//! * Consecutive results, and the user's content right after them, become one message, results
//!   first. Other neighbours of one role stay separate. System messages in front become part of the
//!   system prompt.
//! * No text is blank, not even within results. Content of the user or the assistant is always
//!   written in blocks, so that moving a cache mark does not change it.
//! * A failed result is text only: media that came with it follow the results.
//! * Thoughts are sent back only if they are this provider's and signed or encrypted, in their
//!   places, and never at the end of the assistant's turn. A prefill ends without white space.
//! * Images are JPEG, PNG, GIF or WebP in Base64, at an address or in a file. Documents are PDF,
//!   text, at an address or in a file. Audio is left out.
//! * Blocks of server tools are sent back in pairs. A use without a result is allowed only at the
//!   end of an answer that was paused, or while the application answers calls that the tool made.
//! * [Cache marks](context_core::model::CacheMarks) are at most [`MAX_CACHE_MARKS`], including
//!   those of tools, of the system prompt, of the whole body and those that parts
//!   [carry](CACHE_KEY). Requested marks take precedence over carried ones, later ones over earlier
//!   ones. `Auto` marks the system prompt (or the last tool) and the last two messages of the user.
//!   If a block cannot carry a mark, the nearest block before it does.
//! * A mark is for five minutes, or for an hour if the
//!   [lifetime](context_core::ModelRequest::cache_lifetime) of the request is longer. The provider
//!   refuses an hour behind five minutes, so such a mark is for five minutes.
//!
//! Diagnostics report everything that is left out or changed.
//!
//! # Exact restoration
//!
//! [`lower_source`](context_core::MessageCodec::lower_source) writes the value that was read:
//! everything that a message or a request cannot hold (nulls, unknown keys, the spelling of a
//! number) is kept as a [difference](SOURCE_KEY) to the plain form. If the message was edited since
//! and the difference no longer fits, the plain form is written and a diagnostic says so.
//!
//! A body that is lifted and [lowered](context_core::MessageCodec::lower) is equal to its source,
//! or differs in these ways. The counts are of 70 recorded bodies, 64 of which are equal:
//!
//! | difference | count |
//! | --- | --- |
//! | a system message between others becomes a user message, within `<system>` | 6 |
//! | a change of tools (`tool_addition`) between messages is left out | 1 |
//! | the user's content after results becomes one message with them | 1 |
//! | `max_tokens` is sent where there was none: the body was for counting tokens | 1 |
//! | blank texts, nulls and `is_error` that is not a boolean are left out | 0 |
//! | a text that was not a block is written as one | 0 |
//! | `output_format` is written as `output_config.format` | 0 |
//!
//! # Answers
//!
//! A stream gives the same message as the whole answer. The message of a broken stream can be sent:
//! calls whose input is cut off, thoughts without signature and server tools without result are
//! dropped.

mod answer;
mod fast_path;
mod fields;
mod form;
mod history;
mod lift;
mod lower;
mod marks;
mod media;
mod request;
mod stream;

pub use self::request::MessagesCodec;

use context_codec_kit::normalize::HistoryRules;
use context_codec_kit::wire::{Lifted, Lowered};
use context_codec_kit::{JsonPatch, wire};
use context_core::model::WireError;
use context_core::{Json, Message};
use serde::Serialize;
use serde_json::value::RawValue;

use self::fields::JsonPath;
use self::form::Mode;

/// The metadata key for the difference to a source, a [`JsonPatch`]: of a message object for a
/// message, of a body without its messages for a request.
pub const SOURCE_KEY: &str = "anthropic.source";

/// The metadata key of an assistant message for the facts about the response: an object of `id`,
/// `type`, `model`, `stop_reason`, `stop_sequence` and `usage`, as far as they were present. A
/// message of an [`Answer`](context_core::Answer) has all other keys of the response there, except
/// its content.
pub const RESPONSE_KEY: &str = "anthropic.response";

/// The metadata key of a request for the other keys of its body, such as `thinking` or `metadata`.
pub const BODY_KEY: &str = "anthropic.body";

/// The metadata key of a request for `disable_parallel_tool_use` of the body's tool choice: whether
/// parallel calls are disabled.
pub const PARALLEL_KEY: &str = "anthropic.disable_parallel_tool_use";

/// The metadata key of a part or a tool for its own cache mark.
pub const CACHE_KEY: &str = "anthropic.cache_control";

/// The metadata key of a text for its citations, and of a document for whether it may be cited.
pub const CITATIONS_KEY: &str = "anthropic.citations";

/// The `max_tokens` of a request that does not set them: the provider requires a number. A caller
/// that keeps a budget reserves as much.
pub const DEFAULT_MAX_TOKENS: u64 = 4_096;

/// Maximum number of cache marks that the provider accepts.
pub const MAX_CACHE_MARKS: usize = 4;

/// The provider's rules for a history.
pub const RULES: HistoryRules = {
    let mut rules = HistoryRules::new();
    rules.system_anywhere = false;
    rules.assistant_last = false;
    rules.prefill = true;
    rules.alternate = false;
    rules.max_name_len = 128;
    rules.any_id = false;
    rules.chooses_blocks = true;
    rules.carries = lower::carries;
    rules
};

/// The provider of opaque blocks and thoughts of this form.
const PROVIDER: &str = "anthropic";
/// Message, result or system text: whether its only text is written as a list of blocks.
const AS_BLOCKS: &str = "anthropic.blocks";
/// The keys of a message object that are facts about the response.
const RESPONSE: [&str; 6] = ["id", "type", "model", "stop_reason", "stop_sequence", "usage"];

/// Result: the source says explicitly that it is not an error.
const IS_ERROR: &str = "anthropic.is_error";

/// A key of a block that is kept in the metadata of its part and sent again.
struct ExtraKey {
    key: &'static str,
    metadata: &'static str,
    kinds: &'static [&'static str],
}

const EXTRAS: [ExtraKey; 7] = [
    ExtraKey {
        key: "cache_control",
        metadata: CACHE_KEY,
        kinds: &["text", "image", "document", "tool_use", "tool_result"],
    },
    ExtraKey { key: "citations", metadata: CITATIONS_KEY, kinds: &["text", "document"] },
    ExtraKey { key: "context", metadata: "anthropic.context", kinds: &["document"] },
    ExtraKey { key: "transformations", metadata: "anthropic.transformations", kinds: &["image"] },
    // Kept only for an explicit `false`, which is not written otherwise.
    ExtraKey { key: "is_error", metadata: IS_ERROR, kinds: &["tool_result"] },
    ExtraKey { key: "caller", metadata: "anthropic.caller", kinds: &["tool_use"] },
    ExtraKey {
        key: "toolset_name",
        metadata: "anthropic.toolset_name",
        kinds: &["tool_use", "tool_result"],
    },
];

/// Lifts one message object. Values that have no place in a [`Message`] are kept in its metadata,
/// so that [`lower_source`] returns an equal value.
pub fn lift(original: &Json) -> Result<Lifted, WireError> {
    lift_at(original.as_raw(), &JsonPath::Root)
}

/// Lifts the message object at `path`.
fn lift_at(raw: &RawValue, path: &JsonPath<'_>) -> Result<Lifted, WireError> {
    if let Some(message) = fast_path::message(raw.get()) {
        return Ok(Lifted::new(message, Vec::new()));
    }
    let lift::LiftedMessage { mut message, diagnostics, is_plain } = lift::message(raw, path)?;
    if !is_plain {
        let original = Json::from(raw.to_owned());
        if let Some(patch) = JsonPatch::between(&written(&message), &original) {
            message.metadata.insert(SOURCE_KEY, patch.into_json());
        }
    }
    Ok(Lifted::new(message, diagnostics))
}

/// Lowers a message for sending.
pub fn lower(message: &Message) -> Lowered {
    lower::message(message, Mode::Send)
}

/// Writes a message in the form of its source: equal, as a JSON value, to the value that [`lift`]
/// read. A message that was not lifted is written in full, including the fields that are not sent.
pub fn lower_source(message: &Message) -> Lowered {
    let Some(patch) = message.metadata.get(SOURCE_KEY) else {
        return lower::message(message, Mode::Source);
    };
    if let Some(source) = JsonPatch::from(patch.clone()).apply(&written(message))
        && let Ok(again) = lift::message(source.as_raw(), &JsonPath::Root)
        && wire::says_the_same(&again.message, message)
    {
        return Lowered::new(vec![source], Vec::new());
    }
    let mut lowered = lower::message(message, Mode::Source);
    lowered.diagnostics.push(wire::outdated(SOURCE_KEY));
    lowered
}

/// Returns the plain form of a lifted message, to which the difference applies.
fn written(message: &Message) -> Json {
    lower::message(message, Mode::Source).messages.pop().unwrap_or_else(wire::null)
}

/// Returns the JSON of a wire form.
fn json(value: &(impl Serialize + ?Sized)) -> Json {
    Json::from_serialize(value).expect("text keys and JSON values")
}
