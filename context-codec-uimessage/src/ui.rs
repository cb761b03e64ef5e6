//! UIMessage: the messages of one turn as the AI SDK shows and keeps them, to [`Message`]s and
//! back.
//!
//! | on the wire | as a message |
//! | --- | --- |
//! | `system`, `user` | one message |
//! | `assistant` | for each step one message, and one of [`Role::Tool`](context_core::Role::Tool) if the step has results |
//! | `step-start` | where a step begins |
//! | `text` | a text part |
//! | `reasoning` | a reasoning part; signatures and encrypted thoughts are taken from `providerMetadata` |
//! | `google.thoughtSignature`, `openai.itemId` of other parts | beside the part, where the codecs of these providers look for them |
//! | `file` | an image, audio or document part by its `mediaType`; a data address becomes its bytes |
//! | `tool-<name>`, `dynamic-tool` | a tool call, and a result if it is in one of the output states |
//! | `input-streaming` | nothing for a model: the part stays opaque, as its input is not whole |
//! | `output-denied` | a result that is an error and says so |
//! | `data-<name>` | a data part |
//! | `source-url`, `source-document`, unknown types | opaque parts |
//! | `content`, `tool-invocation`, `toolInvocations` of version 4 | text, calls and results |
//!
//! A text `output` is a text; a list of `text` and `file` parts is these parts; any other output is
//! the text of its JSON, which is what a model gets. Tools that a provider runs itself
//! (`providerExecuted`) are calls with results like others, so that any provider can be told of
//! them.
//!
//! # The way back
//!
//! The messages that one UIMessage became are marked, and are one again. Keys that a message has no
//! place for ride along in the metadata of parts and messages and are written again. Unmarked
//! messages, such as those of a provider's form, are grouped: messages of the assistant and of
//! tools that follow each other are one UIMessage, with `step-start` between its steps, and each
//! result stands in the part of its call, wherever it came. Ids that are not there are `msg-1`,
//! `msg-2`, … by position.
//!
//! This is what people see and applications keep, not a request to a model. So histories are not
//! [normalised](context_core::normalize()): calls without results are `input-available`, and
//! nothing is added. Left out, with a diagnostic, is what the form cannot hold: results without
//! calls, media without address or bytes, blocks of providers.
//!
//! [`lower_source`] writes what was read: the difference between the plain form and the source is
//! kept with the first message of a UIMessage under [`SOURCE_KEY`]. If the messages were edited
//! since, so that it no longer fits, the plain form is what counts and a diagnostic says so.

mod form;
mod kept;
mod lift;
mod lower;
mod media;
mod output;
mod providers;
mod request;
mod residual;
mod thought;
mod write;

use context_codec_kit::wire::{Lifted, Lowered};
use context_core::model::WireError;
use context_core::{Json, Message};

pub use self::request::UiMessageCodec;

/// The metadata key of the first message of a UIMessage: its `id`, null if it has none.
pub const ID_KEY: &str = "uimessage.id";
/// The metadata key of the other messages of a UIMessage: they belong to the one before.
pub const CONTINUES_KEY: &str = "uimessage.continues";
/// The metadata key of the first message of a UIMessage: its `metadata`.
pub const METADATA_KEY: &str = "uimessage.metadata";
/// The metadata key of the first message of a UIMessage: an object of its other keys.
pub const MESSAGE_KEY: &str = "uimessage.message";
/// The metadata key of the first message of a UIMessage with `content` as in version 4: `"beside"`
/// the parts or `"alone"`.
pub const CONTENT_KEY: &str = "uimessage.content";
/// The metadata key of a message of the assistant: how many `step-start` stand before it, where
/// that is not none for the first and one for the others.
pub const STEPS_KEY: &str = "uimessage.steps";
/// The metadata key of a message with data parts that have more keys, such as `id`: an object of
/// the index of the part and an object of these keys.
pub const DATA_KEY: &str = "uimessage.data";
/// The metadata key of a part: an object of its other keys, such as `state`.
pub const PART_KEY: &str = "uimessage.part";
/// The metadata key of a call: it was a `dynamic-tool`.
pub const DYNAMIC_KEY: &str = "uimessage.dynamic";
/// The metadata key of a result: the user denied the call.
pub const DENIED_KEY: &str = "uimessage.denied";
/// The metadata key of a text in a result: it is JSON and is written as that.
pub const JSON_KEY: &str = "uimessage.json";
/// The metadata key of the first message of a UIMessage for the difference to its source, a
/// [`JsonPatch`](context_codec_kit::JsonPatch).
pub const SOURCE_KEY: &str = "uimessage.source";
/// The metadata key of a request whose body was an object: its other keys.
pub const BODY_KEY: &str = "uimessage.body";

/// The codec's name, and whose opaque parts these are.
const PROVIDER: &str = "uimessage";

/// Reads one UIMessage: the messages it stands for, at least one. What has no place in them is kept
/// beside them, so that [`lower_source`] gives back an equal value.
pub fn lift(original: &Json) -> Result<Vec<Lifted>, WireError> {
    let mut diagnostics = Vec::new();
    let messages = residual::message(original.as_raw(), &form::At::Top, &mut diagnostics)?;
    let mut lifted: Vec<_> =
        messages.into_iter().map(|message| Lifted::new(message, Vec::new())).collect();
    if let Some(first) = lifted.first_mut() {
        first.diagnostics = diagnostics;
    }
    Ok(lifted)
}

/// Writes messages as UIMessages.
pub fn lower<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Lowered {
    let messages: Vec<_> = messages.into_iter().collect();
    lower::lowered(&messages, lower::Mode::Send)
}

/// Writes messages as UIMessages, those that were [lifted](lift) as their source had them.
pub fn lower_source<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Lowered {
    let messages: Vec<_> = messages.into_iter().collect();
    lower::lowered(&messages, lower::Mode::Source)
}
