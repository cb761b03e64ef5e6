//! The wire form. Types that are read borrow the values from the source; types that are written
//! borrow from the message.

use std::borrow::Cow;

use context_codec_kit::wire::{json_string, read_text, wrong_type_of};
use context_core::model::WireError;
use context_core::{Json, JsonString};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::shared::{Address, PartOut};

/// A message that is read. Null counts as absent; keys without a field are found by comparing.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageIn<'a> {
    #[serde(borrow)]
    pub(super) role: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) audio: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) annotations: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) function_call: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_call_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_call_ids: Option<&'a RawValue>,
}

/// A part of a content that is read.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct PartIn<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) text: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) image_url: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) input_audio: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) file: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) prompt_cache_breakpoint: Option<&'a RawValue>,
}

/// The object inside a part or a call of a known type, with the keys of all those types.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct InnerIn<'a> {
    #[serde(borrow)]
    pub(super) url: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) detail: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) data: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) format: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) file_data: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) file_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) filename: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) transcript: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
}

/// A call that is read.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct CallIn<'a> {
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) function: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) custom: Option<&'a RawValue>,
}

/// A message that is written.
#[derive(Default, Serialize)]
pub(super) struct MessageForm<'a> {
    pub(super) role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<&'a JsonString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<&'a JsonString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refusal: Option<&'a JsonString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) audio: Option<OutputAudioForm<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<CallForm<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) function_call: Option<FunctionForm<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) annotations: Option<&'a Json>,
}

/// The content of a message.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Null,
    Text(Cow<'a, JsonString>),
    Parts(Vec<PartForm<'a>>),
}

/// A part of a content that is written.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum PartForm<'a> {
    Known(KnownPart<'a>),
    /// A part of an unknown type, as it was read.
    Raw(&'a Json),
}

impl<'a> PartOut<'a> for PartForm<'a> {
    fn of_text(text: Cow<'a, JsonString>) -> Self {
        Self::Known(KnownPart { kind: "text", text: Some(text), ..KnownPart::default() })
    }

    fn text(&mut self) -> Option<&mut Cow<'a, JsonString>> {
        match self {
            Self::Known(part) => part.text.as_mut(),
            Self::Raw(_) => None,
        }
    }

    fn is_plain(&self) -> bool {
        matches!(self, Self::Known(KnownPart { text: Some(_), prompt_cache_breakpoint: None, .. }))
    }
}

#[derive(Default, Serialize)]
pub(super) struct KnownPart<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<Cow<'a, JsonString>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refusal: Option<&'a JsonString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) image_url: Option<ImageForm<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) input_audio: Option<AudioForm<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<Box<FileForm<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt_cache_breakpoint: Option<&'a Json>,
}

#[derive(Serialize)]
pub(super) struct ImageForm<'a> {
    pub(super) url: Address<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) detail: Option<&'a Json>,
}

#[derive(Serialize)]
pub(super) struct AudioForm<'a> {
    pub(super) data: Cow<'a, JsonString>,
    pub(super) format: &'a str,
}

#[derive(Serialize)]
pub(super) struct FileForm<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) filename: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file_data: Option<Address<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file_id: Option<&'a str>,
}

/// Sound that an assistant produced.
#[derive(Serialize)]
pub(super) struct OutputAudioForm<'a> {
    pub(super) id: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data: Option<&'a JsonString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) transcript: Option<&'a Json>,
}

/// A call.
#[derive(Serialize)]
pub(super) struct CallForm<'a> {
    pub(super) id: &'a str,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) function: Option<FunctionForm<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) custom: Option<CustomForm<'a>>,
}

#[derive(Serialize)]
pub(super) struct FunctionForm<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: &'a str,
}

#[derive(Serialize)]
pub(super) struct CustomForm<'a> {
    pub(super) name: &'a str,
    pub(super) input: &'a str,
}

/// Returns the text of a key, if it is present.
pub(super) fn text<'a>(
    raw: Option<&'a RawValue>,
    key: &str,
) -> Result<Option<Cow<'a, str>>, WireError> {
    raw.map(|raw| read_text(raw, key)).transpose()
}

/// Returns the text of a required key.
pub(super) fn need_text<'a>(
    raw: Option<&'a RawValue>,
    key: &str,
) -> Result<Cow<'a, str>, WireError> {
    text(raw, key)?.ok_or_else(|| WireError::Missing { path: key.to_owned() })
}

/// Takes over the text of a required key.
pub(super) fn need_json_string(raw: Option<&RawValue>, key: &str) -> Result<JsonString, WireError> {
    let raw = raw.ok_or_else(|| WireError::Missing { path: key.to_owned() })?;
    json_string(raw).ok_or_else(|| wrong_type_of(raw, key, "a string"))
}

pub(super) fn json(raw: &RawValue) -> Json {
    Json::from(raw.to_owned())
}
