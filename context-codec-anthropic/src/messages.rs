//! The Messages API: whole request bodies, answers and streams, and single message objects.
//!
//! [`MessagesCodec`] translates requests and answers; [`lift`], [`lower`] and [`lower_source`]
//! single messages, as transcripts hold them.
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
//! | blocks of server tools, and any other | an opaque part, which goes back to this provider as it is |
//!
//! | in a body | in a request |
//! | --- | --- |
//! | `model`, `max_tokens`, `temperature`, `stream` | the same; without `max_tokens`, [`DEFAULT_MAX_TOKENS`] are asked for |
//! | `system` | [`system`](context_core::ModelRequest::system) |
//! | `tools` with an `input_schema` | functions; other keys are metadata under `anthropic.` |
//! | other `tools` | opaque tools |
//! | `tool_choice` | [`tool_choice`](context_core::ModelRequest::tool_choice); `disable_parallel_tool_use` under [`PARALLEL_KEY`] |
//! | `output_config.format`, `output_format` | [`output`](context_core::ModelRequest::output) |
//! | everything else | an object under [`BODY_KEY`]; sent again |
//!
//! # What is sent
//!
//! A request is [repaired](context_core::normalize) by [`RULES`] first. Then:
//!
//! * Results in a row, and what the user says right behind them, are one message, results first.
//!   Other neighbours of one role stay apart. System messages in front become part of the system
//!   prompt.
//! * No text is blank, also within results. What the user or the assistant says is always written
//!   in blocks, so that a mark that moves on does not change it.
//! * An error is text: media that came with it follow the results.
//! * Thoughts go back only if they are this provider's and signed or encrypted, in their places,
//!   and never as the end of the assistant's turn. A prefill ends without white space.
//! * Images are JPEG, PNG, GIF or WebP in Base64, at an address or in a file; documents are PDF,
//!   text, at an address or in a file. Audio is left out.
//! * Blocks of server tools go back in pairs. A use without result waits only at the end of an
//!   answer that was paused, or while the application answers calls that the tool made.
//! * [Cache marks](context_core::model::CacheMarks) are at most [`MAX_CACHE_MARKS`], those of
//!   tools, of the system prompt, of the whole body and those that parts [carry](CACHE_KEY)
//!   included; the wanted ones count more than the carried ones, the last ones more than the first.
//!   `Auto` marks the system prompt (or the last tool) and the last two messages of the user. Where
//!   a block cannot carry one, the nearest before it does. Marks of an hour stand in front of those
//!   of five minutes.
//!
//! What is left out or changed is told in diagnostics.
//!
//! # The way back
//!
//! [`lower_source`](context_core::MessageCodec::lower_source) writes what was read: whatever a
//! message or a request cannot hold (nulls, unknown keys, how a number was written) is kept as a
//! [difference](SOURCE_KEY) to the plain form. If it was edited since, so that the difference no
//! longer fits, the plain form is what counts and a diagnostic says so.
//!
//! A body that is read and [sent](context_core::MessageCodec::lower) is equal to what was read, or
//! differs in these ways. The counts are of 70 recorded bodies, 64 of which are equal:
//!
//! | difference | count |
//! | --- | --- |
//! | a system message between others is said by the user, within `<system>` | 6 |
//! | a change of tools (`tool_addition`) between messages is left out | 1 |
//! | what the user says behind results is one message with them | 1 |
//! | `max_tokens` is sent where there was none: the body was for counting tokens | 1 |
//! | blank texts, nulls and `is_error` that is not a boolean are left out | 0 |
//! | a text that was no block is written as one | 0 |
//! | `output_format` is written as `output_config.format` | 0 |
//!
//! # Answers
//!
//! A stream gives the same message as the whole answer. What a broken stream leaves can be sent:
//! calls whose input is cut off, thoughts without signature and server tools without result are
//! dropped.

mod answer;
mod form;
mod history;
mod lift;
mod lower;
mod marks;
mod media;
mod plain;
mod read;
mod request;
mod stream;

pub use self::request::MessagesCodec;

use context_codec_kit::JsonPatch;
use context_codec_kit::normalize::HistoryRules;
use context_codec_kit::wire;
use context_codec_kit::wire::{Lifted, Lowered};
use context_core::model::WireError;
use context_core::{Json, Message};
use serde::Serialize;
use serde_json::value::RawValue;

use self::form::Mode;
use self::read::Place;

/// The metadata key under which the difference to a source is kept, as a [`JsonPatch`]: of a
/// message object for a message, of a body without its messages for a request.
pub const SOURCE_KEY: &str = "anthropic.source";

/// The metadata key of an assistant's message under which the facts about the response are kept: an
/// object of `id`, `type`, `model`, `stop_reason`, `stop_sequence` and `usage`, as far as they were
/// there. A message of an [`Answer`](context_core::Answer) has there whatever else was said beside
/// its content.
pub const RESPONSE_KEY: &str = "anthropic.response";

/// The metadata key of a request under which the other keys of its body are, such as `thinking` or
/// `metadata`.
pub const BODY_KEY: &str = "anthropic.body";

/// The metadata key of a request that says whether calls may come in parallel:
/// `disable_parallel_tool_use` of the body's choice of tools.
pub const PARALLEL_KEY: &str = "anthropic.disable_parallel_tool_use";

/// The metadata key of a part or a tool under which its own cache mark is kept.
pub const CACHE_KEY: &str = "anthropic.cache_control";

/// The metadata key of a text under which its citations are kept, and of a document under which it
/// is said whether it may be cited.
pub const CITATIONS_KEY: &str = "anthropic.citations";

/// How many tokens of answer are asked for if a request does not say: the provider demands a
/// number. Whoever keeps a budget reserves as much.
pub const DEFAULT_MAX_TOKENS: u64 = 4_096;

/// How many cache marks the provider takes.
pub const MAX_CACHE_MARKS: usize = 4;

/// What the provider demands of a history.
pub const RULES: HistoryRules = {
    let mut rules = HistoryRules::new();
    rules.system_anywhere = false;
    rules.assistant_last = false;
    rules.prefill = true;
    rules.alternate = false;
    rules.max_name_len = 128;
    rules.any_id = false;
    rules.carries = lower::carries;
    rules
};

/// Whose opaque blocks and thoughts these are.
const PROVIDER: &str = "anthropic";
/// Message, result or system text: whether its one text is written as a list of blocks.
const AS_BLOCKS: &str = "anthropic.blocks";
/// The keys of a message object that are facts about the response.
const RESPONSE: [&str; 6] = ["id", "type", "model", "stop_reason", "stop_sequence", "usage"];

/// Result: that it was said not to be an error.
const IS_ERROR: &str = "anthropic.is_error";

/// A key of a block that is kept in the metadata of its part and sent again.
struct Extra {
    key: &'static str,
    metadata: &'static str,
    kinds: &'static [&'static str],
}

const EXTRAS: [Extra; 7] = [
    Extra {
        key: "cache_control",
        metadata: CACHE_KEY,
        kinds: &["text", "image", "document", "tool_use", "tool_result"],
    },
    Extra { key: "citations", metadata: CITATIONS_KEY, kinds: &["text", "document"] },
    Extra { key: "context", metadata: "anthropic.context", kinds: &["document"] },
    Extra { key: "transformations", metadata: "anthropic.transformations", kinds: &["image"] },
    // Only where it says false, which is not written otherwise.
    Extra { key: "is_error", metadata: IS_ERROR, kinds: &["tool_result"] },
    Extra { key: "caller", metadata: "anthropic.caller", kinds: &["tool_use"] },
    Extra {
        key: "toolset_name",
        metadata: "anthropic.toolset_name",
        kinds: &["tool_use", "tool_result"],
    },
];

/// Reads one message object. What has no place in a [`Message`] is kept beside it, so that
/// [`lower_source`] gives back an equal value.
pub fn lift(original: &Json) -> Result<Lifted, WireError> {
    lift_at(original.as_raw(), &Place::Root)
}

/// Reads the message object that stands at `place`.
fn lift_at(raw: &RawValue, place: &Place<'_>) -> Result<Lifted, WireError> {
    if let Some(message) = plain::message(raw.get()) {
        return Ok(Lifted::new(message, Vec::new()));
    }
    let lift::Read { mut message, diagnostics, is_plain } = lift::message(raw, place)?;
    if !is_plain {
        let original = Json::from(raw.to_owned());
        if let Some(patch) = JsonPatch::between(&written(&message), &original) {
            message.metadata.insert(SOURCE_KEY, patch.into_json());
        }
    }
    Ok(Lifted::new(message, diagnostics))
}

/// Writes a message for sending.
pub fn lower(message: &Message) -> Lowered {
    lower::message(message, Mode::Send)
}

/// Writes a message as its source had it: equal, as a JSON value, to what [`lift`] read. A message
/// that was not lifted is written in full, with what is otherwise not sent.
pub fn lower_source(message: &Message) -> Lowered {
    let Some(patch) = message.metadata.get(SOURCE_KEY) else {
        return lower::message(message, Mode::Source);
    };
    if let Some(source) = JsonPatch::from(patch.clone()).apply(&written(message))
        && let Ok(again) = lift::message(source.as_raw(), &Place::Root)
        && wire::says_the_same(&again.message, message)
    {
        return Lowered::new(vec![source], Vec::new());
    }
    let mut lowered = lower::message(message, Mode::Source);
    lowered.diagnostics.push(wire::outdated(SOURCE_KEY));
    lowered
}

/// The plain form of a lifted message, which the difference is to.
fn written(message: &Message) -> Json {
    lower::message(message, Mode::Source).messages.pop().unwrap_or_else(wire::null)
}

/// The JSON of a wire form.
fn json(value: &(impl Serialize + ?Sized)) -> Json {
    Json::from_serialize(value).expect("text keys and JSON values")
}
