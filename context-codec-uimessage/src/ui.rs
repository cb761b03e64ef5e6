//! The codec of UIMessages, the messages of one turn as the AI SDK shows and stores them.
//!
//! To *lower* is to translate from canonical [`Message`]s to UIMessages; to *lift* is the reverse.
//!
//! | on the wire | as a message |
//! | --- | --- |
//! | `system`, `user` | one message |
//! | `assistant` | for each step one message, and one of [`Role::Tool`](context_core::Role::Tool) if the step has results |
//! | `step-start` | where a step begins |
//! | `text` | a text part |
//! | `reasoning` | a reasoning part; signatures and encrypted thoughts are taken from `providerMetadata` |
//! | `google.thoughtSignature`, `openai.itemId` of other parts | metadata of the part, under the keys that the codecs of these providers read |
//! | `file` | an image, audio or document part by its `mediaType`; a data address becomes its bytes |
//! | `tool-<name>`, `dynamic-tool` | a tool call, and a result if it is in one of the output states |
//! | `input-streaming` | nothing for a model: the part stays opaque, as its input is not whole |
//! | `output-denied` | a result that is an error and says so |
//! | `data-<name>` | a data part |
//! | `source-url`, `source-document`, unknown types | opaque parts |
//! | `content`, `tool-invocation`, `toolInvocations` of version 4 | text, calls and results |
//!
//! An `output` that is a text becomes a text. A list of `text` and `file` parts becomes these
//! parts. Any other output becomes the text of its JSON, which is what a model gets. Tools that a
//! provider runs itself (`providerExecuted`) are calls with results like others, so that they can
//! be sent to any provider.
//!
//! # Lowering and exact restoration
//!
//! The messages that were lifted from one UIMessage are marked, and become one UIMessage again.
//! Keys that a message has no place for are kept in the metadata of parts and messages and written
//! again. Unmarked messages, such as those of a provider's form, are grouped: consecutive assistant
//! and tool messages become one UIMessage, with `step-start` between its steps, and each result is
//! written in the part of its call, wherever the result stood. Missing ids become `msg-1`, `msg-2`,
//! … by position.
//!
//! A UIMessage is for display and storage, not a request to a model. So histories are not
//! [normalised](context_codec_kit::normalize::normalize_request): calls without results are
//! `input-available`, and nothing is added. Content that the form cannot hold is left out, with a
//! diagnostic: results without calls, media without address or bytes, blocks of providers.
//!
//! [`fragments`](fn@fragments) lifts UIMessages to message fragments that keep their ids, for an
//! engine that stores them.
//!
//! [`lower_source`] writes the value that was read: the difference between the plain form and the
//! source is kept with the first message of a UIMessage under [`SOURCE_KEY`]. If the messages were
//! edited since and the difference no longer fits, the plain form is written and a diagnostic says
//! so.

mod form;
mod fragments;
mod lift;
mod lower;
mod media;
mod output;
mod part_entries;
mod providers;
mod request;
mod residual;
mod thought;
mod write;

use context_codec_kit::wire::{Lifted, Lowered};
use context_core::model::WireError;
use context_core::{Json, Message};

pub use self::fragments::{UiFragments, fragments};
pub use self::request::UiMessageCodec;

/// The metadata key of the first message of a UIMessage: its `id`, null if it has none.
pub const ID_KEY: &str = "uimessage.id";
/// The metadata key of the other messages of a UIMessage: they belong to the message before.
pub const CONTINUES_KEY: &str = "uimessage.continues";
/// The metadata key of the first message of a UIMessage: its `metadata`.
pub const METADATA_KEY: &str = "uimessage.metadata";
/// The metadata key of the first message of a UIMessage: an object of its other keys.
pub const MESSAGE_KEY: &str = "uimessage.message";
/// The metadata key of the first message of a UIMessage with `content` as in version 4: `"beside"`
/// the parts or `"plain_form"`.
pub const CONTENT_KEY: &str = "uimessage.content";
/// The metadata key of an assistant message: how many `step-start` stand before it, if not zero for
/// the first message and one for the others.
pub const STEPS_KEY: &str = "uimessage.steps";
/// The metadata key of a message with data parts that have more keys, such as `id`: an object that
/// maps the index of a part to an object of these keys.
pub const DATA_KEY: &str = "uimessage.data";
/// The metadata key of a part: an object of its other keys, such as `state`.
pub const PART_KEY: &str = "uimessage.part";
/// The metadata key of a call: it was a `dynamic-tool`.
pub const DYNAMIC_KEY: &str = "uimessage.dynamic";
/// The metadata key of a result: the user denied the call.
pub const DENIED_KEY: &str = "uimessage.denied";
/// The metadata key of a text in a result: the text is JSON and is written as JSON.
pub const JSON_KEY: &str = "uimessage.json";
/// The metadata key of the first message of a UIMessage for the difference to its source, a
/// [`JsonPatch`](context_codec_kit::JsonPatch).
pub const SOURCE_KEY: &str = "uimessage.source";
/// The metadata key of a request whose body was an object: its other keys.
pub const BODY_KEY: &str = "uimessage.body";

/// The codec's name, and the provider of its opaque parts.
const PROVIDER: &str = "uimessage";

/// Lifts one UIMessage to its messages, at least one. Values that have no place in them are kept in
/// their metadata, so that [`lower_source`] returns an equal value.
pub fn lift(original: &Json) -> Result<Vec<Lifted>, WireError> {
    let mut diagnostics = Vec::new();
    let messages = residual::message(original.as_raw(), &form::JsonPath::Top, &mut diagnostics)?;
    let mut lifted: Vec<_> =
        messages.into_iter().map(|message| Lifted::new(message, Vec::new())).collect();
    if let Some(first) = lifted.first_mut() {
        first.diagnostics = diagnostics;
    }
    Ok(lifted)
}

/// Lowers messages to UIMessages.
pub fn lower<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Lowered {
    let messages: Vec<_> = messages.into_iter().collect();
    lower::lowered(&messages, lower::Mode::Send)
}

/// Writes messages as UIMessages. Those that were [lifted](lift) are written in the form of their
/// source.
pub fn lower_source<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Lowered {
    let messages: Vec<_> = messages.into_iter().collect();
    lower::lowered(&messages, lower::Mode::Source)
}
