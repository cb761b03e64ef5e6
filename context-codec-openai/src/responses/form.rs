//! The wire form: the types that are read and the types that are written.
//!
//! Reading borrows: every value is first its source text, and only the values that a message needs
//! are parsed further.

use std::borrow::Cow;

use context_codec_kit::wire;
pub(super) use context_codec_kit::wire::raw_text as peek;
use context_core::model::WireError;
use context_core::{Json, JsonString, Metadata};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::shared::{Address, PartOut};

/// A value that is present and not null.
pub(super) type Raw<'a> = Option<&'a RawValue>;

/// An item of `input` or `output`, of any type.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Item<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Raw<'a>,
    #[serde(borrow)]
    pub(super) role: Raw<'a>,
    #[serde(borrow)]
    pub(super) id: Raw<'a>,
    #[serde(borrow)]
    pub(super) status: Raw<'a>,
    #[serde(borrow)]
    pub(super) phase: Raw<'a>,
    #[serde(borrow)]
    pub(super) content: Raw<'a>,
    #[serde(borrow)]
    pub(super) summary: Raw<'a>,
    #[serde(borrow)]
    pub(super) encrypted_content: Raw<'a>,
    #[serde(borrow)]
    pub(super) call_id: Raw<'a>,
    #[serde(borrow)]
    pub(super) name: Raw<'a>,
    #[serde(borrow)]
    pub(super) namespace: Raw<'a>,
    #[serde(borrow)]
    pub(super) caller: Raw<'a>,
    #[serde(borrow)]
    pub(super) arguments: Raw<'a>,
    #[serde(borrow)]
    pub(super) input: Raw<'a>,
    #[serde(borrow)]
    pub(super) output: Raw<'a>,
}

/// A part of the content of a message, of a thought or of a result.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Content<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Raw<'a>,
    #[serde(borrow)]
    pub(super) text: Raw<'a>,
    #[serde(borrow)]
    pub(super) refusal: Raw<'a>,
    #[serde(borrow)]
    pub(super) annotations: Raw<'a>,
    #[serde(borrow)]
    pub(super) logprobs: Raw<'a>,
    #[serde(borrow)]
    pub(super) image_url: Raw<'a>,
    #[serde(borrow)]
    pub(super) file_id: Raw<'a>,
    #[serde(borrow)]
    pub(super) file_data: Raw<'a>,
    #[serde(borrow)]
    pub(super) file_url: Raw<'a>,
    #[serde(borrow)]
    pub(super) filename: Raw<'a>,
    #[serde(borrow)]
    pub(super) detail: Raw<'a>,
    #[serde(borrow)]
    pub(super) input_audio: Raw<'a>,
    #[serde(borrow)]
    pub(super) prompt_cache_breakpoint: Raw<'a>,
}

/// Sound in the content of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Sound<'a> {
    #[serde(borrow)]
    pub(super) data: Raw<'a>,
    #[serde(borrow)]
    pub(super) format: Raw<'a>,
}

/// The path of an item in a list, formatted only for errors and diagnostics.
#[derive(Clone, Copy, Debug)]
pub(super) struct ItemPath {
    /// The list.
    pub(super) list: &'static str,
    /// The position.
    pub(super) index: usize,
}

impl ItemPath {
    pub(super) fn item(self) -> String {
        format!("{}[{}]", self.list, self.index)
    }

    pub(super) fn key(self, key: &str) -> String {
        format!("{}[{}].{key}", self.list, self.index)
    }
}

/// Reads a type. The path is only computed if the value does not fit.
pub(super) fn read<'a, T: Deserialize<'a>>(
    raw: &'a RawValue,
    path: impl FnOnce() -> String,
) -> Result<T, WireError> {
    serde_json::from_str(raw.get()).or_else(|_| wire::read(raw.get(), &path()))
}

/// Reads an object. Serde alone would also accept a list for a struct.
pub(super) fn object<'a, T: Deserialize<'a>>(
    raw: &'a RawValue,
    path: impl FnOnce() -> String,
) -> Result<T, WireError> {
    let read = raw.get().starts_with('{').then(|| serde_json::from_str(raw.get()).ok()).flatten();
    read.map_or_else(|| wire::read_object(raw, &path()), Ok)
}

/// Reads the items of a list.
pub(super) fn list(
    raw: &RawValue,
    path: impl FnOnce() -> String,
) -> Result<Vec<&RawValue>, WireError> {
    let read = raw.get().starts_with('[').then(|| serde_json::from_str(raw.get()).ok()).flatten();
    read.map_or_else(|| wire::read_list(raw, &path()), Ok)
}

/// Reads a text; borrowed unless it has escapes.
pub(super) fn text<'a>(
    raw: &'a RawValue,
    path: impl FnOnce() -> String,
) -> Result<Cow<'a, str>, WireError> {
    peek(raw).ok_or_else(|| wire::wrong_type_of(raw, &path(), "a string"))
}

/// Reads a required text.
pub(super) fn need<'a>(raw: Raw<'a>, path: impl Fn() -> String) -> Result<Cow<'a, str>, WireError> {
    text(raw.ok_or_else(|| WireError::Missing { path: path() })?, path)
}

/// Returns an owned copy of the value.
pub(super) fn keep(raw: &RawValue) -> Json {
    Json::from(raw.to_owned())
}

/// Keeps a value in a part's metadata, to be sent again.
pub(super) fn remember(metadata: &mut Metadata, key: &str, raw: Raw<'_>) {
    if let Some(raw) = raw {
        metadata.insert(key, keep(raw));
    }
}

/// An item that is written.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ItemOut<'a> {
    Message(OutMessage<'a>),
    Reasoning(OutReasoning<'a>),
    Call(OutCall<'a>),
    Result(OutResult<'a>),
    Opaque(&'a Json),
}

/// A message. An assistant message that the provider knows has an id, a status and output parts;
/// any other message is a plain text with a role.
#[derive(Debug, Serialize)]
pub(super) struct OutMessage<'a> {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a Json>,
    pub(super) role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<ValueOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) phase: Option<&'a Json>,
    pub(super) content: OutContent<'a>,
}

/// A value that was kept from the source, or a fixed one.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ValueOut<'a> {
    Source(&'a Json),
    Fixed(&'static str),
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum OutContent<'a> {
    Text(Cow<'a, JsonString>),
    Parts(Vec<OutPart<'a>>),
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum OutPart<'a> {
    Text {
        #[serde(rename = "type")]
        kind: &'static str,
        text: Cow<'a, JsonString>,
        #[serde(skip_serializing_if = "Option::is_none")]
        prompt_cache_breakpoint: Option<&'a Json>,
    },
    Output {
        #[serde(rename = "type")]
        kind: &'static str,
        annotations: Annotations<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        logprobs: Option<&'a Json>,
        text: &'a JsonString,
    },
    Refusal {
        #[serde(rename = "type")]
        kind: &'static str,
        refusal: &'a JsonString,
    },
    Image {
        #[serde(rename = "type")]
        kind: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        image_url: Option<Address<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_id: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<ValueOut<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        prompt_cache_breakpoint: Option<&'a Json>,
    },
    File {
        #[serde(rename = "type")]
        kind: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        filename: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_data: Option<Address<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_url: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_id: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<&'a Json>,
        #[serde(skip_serializing_if = "Option::is_none")]
        prompt_cache_breakpoint: Option<&'a Json>,
    },
    Audio {
        #[serde(rename = "type")]
        kind: &'static str,
        input_audio: OutSound<'a>,
    },
    Opaque(&'a Json),
}

impl<'a> PartOut<'a> for OutPart<'a> {
    fn of_text(text: Cow<'a, JsonString>) -> Self {
        Self::Text { kind: "input_text", text, prompt_cache_breakpoint: None }
    }

    fn text(&mut self) -> Option<&mut Cow<'a, JsonString>> {
        match self {
            Self::Text { text, .. } => Some(text),
            _ => None,
        }
    }

    fn is_plain(&self) -> bool {
        matches!(self, Self::Text { prompt_cache_breakpoint: None, .. })
    }
}

#[derive(Debug, Serialize)]
pub(super) struct OutSound<'a> {
    pub(super) data: &'a JsonString,
    pub(super) format: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Annotations<'a> {
    Source(&'a Json),
    None([(); 0]),
}

#[derive(Debug, Serialize)]
pub(super) struct OutReasoning<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a Json>,
    pub(super) summary: OutThoughts<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<OutThoughts<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) encrypted_content: Option<&'a JsonString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<&'a Json>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum OutThoughts<'a> {
    Source(&'a Json),
    None([(); 0]),
    One([OutThought<'a>; 1]),
}

#[derive(Debug, Serialize)]
pub(super) struct OutThought<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) text: &'a JsonString,
}

#[derive(Debug, Serialize)]
pub(super) struct OutCall<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a Json>,
    pub(super) call_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<&'a Json>,
    pub(super) name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) arguments: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) input: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) caller: Option<&'a Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<&'a Json>,
}

#[derive(Debug, Serialize)]
pub(super) struct OutResult<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a Json>,
    pub(super) call_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<&'a str>,
    pub(super) output: OutContent<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) caller: Option<&'a Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<&'a Json>,
}
